// The drawing of the rack: links with their rate and load, queues at ports, travelling
// PAUSE frames, congestion trees and victims.

import { s, mark, put, calm } from "./dom.js";
import { place } from "./layout.js";
import * as format from "./format.js";

const shades = 10; // of load
const maxPulses = 48;

export class Rack {
  constructor(box, choose) {
    this.box = box;
    this.choose = choose;
    this.svg = s("svg", { class: "rack", role: "group", "aria-label": "The rack: nodes and links. Arrow keys move between them, Enter selects." });
    box.append(this.svg);
    this.pulses = [];
    this.queueScale = 1;
    this.svg.addEventListener("keydown", (e) => this.key(e));
    new ResizeObserver(() => this.draw()).observe(box);
  }

  // show draws another rack.
  show(model) {
    this.model = model;
    this.snap = null;
    this.queueScale = 50e3;
    this.draw();
  }

  draw() {
    const width = Math.floor(this.box.clientWidth), height = Math.floor(this.box.clientHeight);
    if (!this.model || width < 50 || height < 50) return;
    const focused = this.svg.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    this.layout = place(this.model, width, height);
    mark(this.svg, "viewBox", `0 0 ${width} ${height}`);
    this.svg.classList.toggle("dense", this.layout.dense);
    const layer = (name) => s("g", { class: name });
    const [halos, lanes, paths, hits, nodes, pulses] = ["halos", "lanes", "paths", "hits", "nodes", "pulses"].map(layer);
    this.layers = { halos, lanes, paths, hits, nodes, pulses };
    this.drawLanes();
    this.drawNodes();
    this.svg.replaceChildren(halos, lanes, paths, hits, nodes, pulses);
    this.pulses = [];
    this.stops = [...this.svg.querySelectorAll("[data-key]")];
    mark(this.stops.find((e) => e.dataset.key === focused) ?? this.nodes[0]?.g ?? this.svg, "tabindex", 0);
    if (this.snap) this.update(this.snap, this.trees, this.victims, this.selected);
  }

  thickness(rate) {
    const thick = 1.2 + 1.15 * Math.log2(1 + rate / 10e9);
    return Math.max(1.5, Math.min(thick, this.layout.dense ? 2.5 : 7));
  }

  // line returns the ends of a lane, shifted away from the opposite lane, and those of parallel
  // links further.
  line(lane) {
    const l = this.model.lanes[lane], a = this.layout.ends[lane], b = this.layout.ends[l.back];
    const dx = b.x - a.x, dy = b.y - a.y, length = Math.hypot(dx, dy) || 1;
    const aside = (this.thickness(l.rate) / 2 + (this.layout.dense ? 0.3 : 0.8)) * (1 + 2 * l.nth);
    const ox = (-dy / length) * aside, oy = (dx / length) * aside;
    return { x1: a.x + ox, y1: a.y + oy, x2: b.x + ox, y2: b.y + oy, length, ux: dx / length, uy: dy / length };
  }

  drawLanes() {
    this.lines = this.model.lanes.map((l) => {
      const p = this.line(l.index), d = `M${p.x1.toFixed(1)} ${p.y1.toFixed(1)}L${p.x2.toFixed(1)} ${p.y2.toFixed(1)}`;
      const width = this.thickness(l.rate);
      const path = s("path", { class: "lane", d, "stroke-width": width, "data-q": 0, "data-lane": l.id });
      const halo = s("path", { class: "halo", d, "stroke-width": width + (this.layout.dense ? 4 : 12) });
      const arrows = s("g", { class: "arrows" });
      const one = { path, halo, arrows, p, d };
      this.layers.lanes.append(path, arrows);
      this.layers.halos.append(halo);
      return one;
    });
    for (const link of this.model.links) {
      const p = this.line(link.lane);
      const name = link.name;
      const hit = s("path", {
        class: "hit", d: `M${p.x1} ${p.y1}L${p.x2} ${p.y2}`, "stroke-width": this.layout.dense ? 5 : 16, tabindex: -1, role: "button",
        "data-key": `link:${name}`, "aria-label": `link ${name}`, onclick: () => this.chooseLane(link),
        onpointerenter: () => this.describe(link), onfocus: () => this.describe(link),
      }, s("title", { text: "" }));
      this.layers.hits.append(hit);
      this.lines[link.lane].hit = hit;
    }
  }

  // chooseLane selects the direction of a link that carries more, and the other one on
  // the next click.
  chooseLane(link) {
    const a = link.lane, b = a + 1;
    let lane = a;
    if (this.snap && this.snap.lanes[b].bps > this.snap.lanes[a].bps) lane = b;
    if (this.selected?.lane === lane) lane = lane === a ? b : a;
    this.choose({ kind: "lane", lane });
  }

  drawNodes() {
    this.nodes = this.model.nodes.map((n) => {
      const b = this.layout.boxes[n.index];
      const g = s("g", {
        class: n.nic ? "node nic" : "node switch", tabindex: -1, role: "button", "data-key": `node:${n.name}`,
        "aria-label": `${n.nic ? "NIC" : "switch"} ${n.name}`, onclick: () => this.choose({ kind: "node", node: n.index }),
      });
      g.append(s("rect", { class: "body", x: b.x - b.w / 2, y: b.y - b.h / 2, width: b.w, height: b.h, rx: n.nic ? Math.min(b.h, b.w) / 2.6 : 8 }));
      const name = s("text", { class: "name", x: b.x, y: b.y, text: n.name });
      g.append(name);
      this.layers.nodes.append(g);
      const bars = n.nic ? [] : n.lanes.map((lane) => this.drawBar(g, lane));
      return { g, bars, name };
    });
  }

  // drawBar draws the queue of a port as a bar that grows inward from the edge.
  drawBar(g, lane) {
    const e = this.layout.ends[lane];
    const thick = Math.max(2.5, Math.min(e.pitch - 2.5, 9));
    const upright = e.side === "left" || e.side === "right";
    const bar = s("rect", { class: "queue" });
    const slot = s("rect", { class: "slot" });
    const length = upright ? 24 : 20, inset = 4;
    const frame = (element, long) => {
      const at = {
        left: [e.x + inset, e.y - thick / 2], right: [e.x - inset - long, e.y - thick / 2],
        top: [e.x - thick / 2, e.y + inset], bottom: [e.x - thick / 2, e.y - inset - long],
      }[e.side];
      mark(element, "x", at[0].toFixed(1));
      mark(element, "y", at[1].toFixed(1));
      mark(element, "width", (upright ? long : thick).toFixed(1));
      mark(element, "height", (upright ? thick : long).toFixed(1));
    };
    frame(slot, length);
    frame(bar, 0);
    g.append(slot, bar);
    return { lane, bar, slot, set: (share) => frame(bar, share * length) };
  }

  // update shows a snapshot.
  update(snap, trees, victims, selected) {
    const later = this.snap && snap.at > this.snap.at && snap.at - this.snap.at < 5e9;
    Object.assign(this, { snap, trees, victims, selected });
    if (!this.layout) return;
    for (const l of snap.lanes) this.queueScale = Math.max(this.queueScale, l.queue);
    const inTree = new Set(trees.flatMap((t) => t.lanes.map((l) => l.lane)));
    const ports = new Set(trees.map((t) => t.port));
    snap.lanes.forEach((l, i) => this.updateLane(i, l, inTree.has(i), later));
    this.nodes.forEach((n, i) => {
      n.g.classList.toggle("frozen", snap.frozen[i]);
      n.g.classList.toggle("chosen", selected?.kind === "node" && selected.node === i);
      n.g.classList.toggle("root", trees.some((t) => t.root === i));
      for (const b of n.bars) {
        b.set(Math.min(snap.lanes[b.lane].queue / this.queueScale, 1));
        b.slot.classList.toggle("congested", ports.has(b.lane));
      }
    });
    this.drawPaths();
    this.chase(snap.lanes.some((l) => l.paused));
  }

  // chase highlights the arrows one after the other, upstream, four times a second. A CSS
  // animation would run with every frame of the screen.
  chase(on) {
    const wanted = on && !calm();
    if (wanted === Boolean(this.chasing)) return;
    clearInterval(this.chasing);
    this.chasing = 0;
    mark(this.svg, "data-phase", null);
    if (!wanted) return;
    let phase = 0;
    this.chasing = setInterval(() => mark(this.svg, "data-phase", (phase = (phase + 1) % 4)), 250);
  }

  updateLane(i, l, inTree, later) {
    const line = this.lines[i], state = l.down ? "down" : l.paused ? "paused" : null;
    mark(line.path, "data-q", l.load < 0.005 ? 0 : Math.min(shades, 1 + Math.floor(l.load * (shades - 0.01))));
    mark(line.path, "data-state", state);
    line.path.classList.toggle("chosen", this.selected?.lane === i);
    line.halo.classList.toggle("shown", inTree);
    if (state === "paused" && !line.arrows.firstChild) this.drawArrows(line);
    line.arrows.classList.toggle("shown", state === "paused");
    if (l.pauses > 0 && later) this.pulse(line);
  }

  // describe sets the tooltip and label of a link to its present state.
  describe(link) {
    if (!this.snap) return;
    const { lane } = link, { hit } = this.lines[lane];
    const one = (i) => {
      const l = this.snap.lanes[i];
      const state = l.down ? ", down" : l.paused ? ", paused" : "";
      return `${this.model.lanes[i].id}: ${format.rate(l.bps)}, queue ${format.bytes(l.queue)}${state}`;
    };
    const text = `${one(lane)}\n${one(lane + 1)}`;
    put(hit.firstChild, text);
    mark(hit, "aria-label", `link ${text}`);
  }

  // drawArrows draws arrows in the direction of PAUSE, against the traffic.
  drawArrows(line) {
    const { p } = line, size = this.layout.dense ? 2.6 : 4.2, gap = this.layout.dense ? 26 : 24;
    const n = Math.max(2, Math.min(10, Math.floor((p.length - 20) / gap)));
    for (let k = 1; k <= n; k++) {
      const t = p.length * (1 - k / (n + 1));
      const x = p.x1 + p.ux * t, y = p.y1 + p.uy * t;
      const back = [x + (p.ux - p.uy) * size, y + (p.uy + p.ux) * size, x + (p.ux + p.uy) * size, y + (p.uy - p.ux) * size];
      const [ax, ay, bx, by] = back.map((v) => v.toFixed(1));
      line.arrows.append(s("path", { d: `M${ax} ${ay}L${x.toFixed(1)} ${y.toFixed(1)}L${bx} ${by}`, "data-k": k % 4 }));
    }
  }

  // pulse animates a PAUSE frame up the lane.
  pulse(line) {
    if (calm() || this.pulses.length >= (this.layout.dense ? maxPulses / 2 : maxPulses) || line.pulse) return;
    const dot = s("circle", { class: "pause", cx: line.p.x2, cy: line.p.y2, r: this.layout.dense ? 2.6 : 4.5 });
    this.layers.pulses.append(dot);
    line.pulse = true;
    this.pulses.push({ line, dot, from: performance.now() });
    if (this.pulses.length === 1) requestAnimationFrame((t) => this.move(t));
  }

  move(now) {
    this.pulses = this.pulses.filter(({ line, dot, from }) => {
      const t = Math.max(0, (now - from) / 420);
      if (t >= 1) {
        dot.remove();
        line.pulse = false;
        return false;
      }
      const along = line.p.length * (1 - t);
      mark(dot, "cx", (line.p.x1 + line.p.ux * along).toFixed(1));
      mark(dot, "cy", (line.p.y1 + line.p.uy * along).toFixed(1));
      return true;
    });
    if (this.pulses.length) requestAnimationFrame((t) => this.move(t));
  }

  // drawPaths draws the paths of victims and of the selected flow.
  drawPaths() {
    const wanted = [...this.victims.keys()].filter((name) => !this.model.flows.get(name)?.burst).slice(0, 12);
    const chosen = this.selected?.kind === "flow" ? this.selected.name : null;
    const key = `${wanted.join()}|${chosen}`;
    if (key === this.pathKey && this.layers.paths.dataset.key === key) return;
    this.pathKey = key;
    this.layers.paths.dataset.key = key;
    const parts = [];
    for (const name of new Set([...wanted, ...(chosen ? [chosen] : [])])) {
      const flow = this.model.flows.get(name);
      if (!flow?.paths.length) continue;
      const d = flow.paths[0].map((l) => this.lines[l].d).join("");
      const victim = wanted.includes(name);
      if (victim) parts.push(s("path", { class: "victim-case", d }));
      parts.push(s("path", { class: victim ? "victim" : "way", d }));
      if (victim) parts.push(...this.tag(flow));
    }
    this.layers.paths.replaceChildren(...parts);
  }

  // tag labels a victim at its sender.
  tag(flow) {
    const box = this.layout.boxes[flow.from], text = `${flow.name} victim`;
    const w = text.length * 6.3 + 12;
    const below = this.layout.flat ? { x: Math.max(w / 2 + 2, box.x), y: box.y + box.h / 2 + 11 } : { x: Math.max(w / 2 + 2, box.x), y: box.y - box.h / 2 - 11 };
    return [
      s("rect", { class: "tag", x: below.x - w / 2, y: below.y - 8, width: w, height: 16, rx: 8 }),
      s("text", { class: "tag-name", x: below.x, y: below.y, text }),
    ];
  }

  // key moves the focus to the nearest element in the direction of an arrow key.
  key(e) {
    const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const here = e.target.closest("[data-key]");
    if (!here) return;
    if (e.key === "Enter" || e.key === " ") {
      e.preventDefault();
      here.dispatchEvent(new MouseEvent("click", { bubbles: true }));
      return;
    }
    const way = ways[e.key];
    if (!way) return;
    e.preventDefault();
    const centre = (element) => {
      const r = element.getBoundingClientRect();
      return [r.x + r.width / 2, r.y + r.height / 2];
    };
    const [x, y] = centre(here);
    let best = null, least = Infinity;
    for (const other of this.stops) {
      if (other === here) continue;
      const [ox, oy] = centre(other);
      const along = (ox - x) * way[0] + (oy - y) * way[1], across = Math.abs((ox - x) * way[1]) + Math.abs((oy - y) * way[0]);
      const cost = along + 2.5 * across;
      if (along > 2 && cost < least) [best, least] = [other, cost];
    }
    if (!best) return;
    mark(here, "tabindex", -1);
    mark(best, "tabindex", 0);
    best.focus();
  }
}
