// The drawing of the rack: links with their rate and load, queues at ports, travelling
// PAUSE frames, congestion trees and victims. Only what is in view has elements, and an
// update changes only those whose state has changed.

import { h, s, mark, calm } from "./dom.js";
import { place } from "./layout.js";
import { leavesOf, openAtFirst, sceneOf, stateOf } from "./scene.js";
import { Line, Hit } from "./lines.js";
import { Box } from "./boxes.js";
import { View } from "./view.js";
import { Tip } from "./tip.js";

const maxPulses = 48;

export class Rack {
  // explain returns the words for a link, a node or a group under the pointer.
  constructor(box, choose, explain) {
    Object.assign(this, { box, choose, pulses: [], queueScale: 1, open: new Set(), drawings: 0 });
    this.svg = s("svg", { class: "rack", role: "group", "aria-label": "The rack: nodes and links. Arrow keys move between them, Enter selects, plus and minus zoom." });
    this.world = s("g", { class: "world" });
    this.svg.append(this.world);
    const button = (id, label, text, onclick) => h("button", { id, title: label, "aria-label": label, onclick, text });
    this.fold = h("button", { id: "fold", hidden: true, onclick: () => this.toggleAll() });
    this.buttons = h("div", { class: "zooms" }, this.fold, button("zoom-in", "Zoom in (+)", "+", () => this.view.zoom(1.5)), button("zoom-out", "Zoom out (-)", "−", () => this.view.zoom(1 / 1.5)),
      button("zoom-fit", "Show the whole rack (0)", "Fit", () => this.view.fit()));
    box.append(this.svg);
    this.tip = new Tip(box, explain);
    this.view = new View(this.svg, this.world, () => this.later());
    this.svg.addEventListener("keydown", (e) => this.key(e));
    new ResizeObserver(() => this.draw()).observe(box);
  }

  // show draws another rack. What was open and in view stays if its nodes are the same.
  show(model) {
    const same = this.model?.nodes.length === model.nodes.length && this.model.nodes.every((n, i) => n.name === model.nodes[i].name);
    this.model = model;
    this.snap = null;
    if (!same) {
      this.queueScale = 50e3;
      this.open = openAtFirst(model);
      this.foldable = this.open.size < leavesOf(model).size;
      this.view.moved = false;
    }
    this.draw();
  }

  // toggle opens or collapses a leaf.
  toggle(leaf) {
    const open = !this.open.delete(leaf);
    if (open) this.open.add(leaf);
    const key = `node:${this.model.nodes[leaf].name}`;
    this.draw(key);
    const box = this.find(key);
    if (this.view.moved) this.view.show(box.x, box.y);
  }

  toggleAll() {
    this.open = new Set(this.open.size ? [] : this.scene.leaves.keys());
    this.view.moved = false;
    this.draw();
  }

  draw(focus) {
    const width = Math.floor(this.box.clientWidth), height = Math.floor(this.box.clientHeight);
    if (!this.model || width < 50 || height < 50) return;
    const had = this.svg.contains(document.activeElement), focused = focus ?? this.stop?.key;
    this.scene = sceneOf(this.model, this.open);
    this.layout = place(this.scene, width, height);
    mark(this.svg, "viewBox", `0 0 ${width} ${height}`);
    this.svg.classList.toggle("dense", this.layout.dense);
    this.layers = Object.fromEntries(["halos", "lanes", "paths", "marks", "hits", "nodes", "tags", "pulses"].map((name) => [name, s("g", { class: name })]));
    this.world.replaceChildren(...Object.values(this.layers));
    this.lines = this.scene.lanes.map((l) => new Line(this, l));
    this.hits = this.scene.links.map((l) => new Hit(this, l));
    this.nodes = this.scene.nodes.map((n) => new Box(this, n));
    this.pulses = [];
    this.drawings++;
    this.fold.hidden = !this.foldable;
    this.fold.textContent = this.open.size ? "Collapse all" : "Open all";
    this.stop = this.find(focused) ?? this.nodes[0];
    this.view.resize(width, height, this.layout);
    this.cull();
    if (had) this.stop.g.focus();
  }

  find(key) { return this.nodes?.find((n) => n.key === key) ?? this.hits?.find((l) => l.key === key); }

  // later culls before the next frame of the screen.
  later() {
    if (!this.culling) this.culling = requestAnimationFrame(() => this.cull());
  }

  // cull makes the elements that have come into view and removes the others.
  cull() {
    cancelAnimationFrame(this.culling);
    this.culling = 0;
    if (!this.layout) return;
    const rect = this.view.rect();
    for (const one of [...this.lines, ...this.hits, ...this.nodes]) {
      const wanted = one.inView(rect) || one === this.stop, shown = Boolean(one.parts ?? one.g);
      if (wanted && !shown) one.attach();
      else if (!wanted && shown) one.detach();
    }
    mark(this.stop.g, "tabindex", 0);
    if (this.snap) this.refresh(false);
  }

  // pointed makes an element of a node or link react to pointer and focus.
  pointed(g, of, choose) {
    g.addEventListener("click", choose);
    g.addEventListener("pointerenter", (e) => this.tip.show(of, e));
    g.addEventListener("pointermove", (e) => this.tip.move(e));
    g.addEventListener("pointerleave", () => this.tip.hide(of));
    g.addEventListener("focus", () => g.matches(":focus-visible") && this.tip.show(of));
    g.addEventListener("blur", () => this.tip.hide(of));
  }

  // update shows a snapshot.
  update(snap, trees, victims, selected) {
    const later = this.snap && snap.at > this.snap.at && snap.at - this.snap.at < 5e9;
    Object.assign(this, { snap, trees, victims, selected });
    if (!this.layout) return;
    for (const l of snap.lanes) if (l.queue > this.queueScale) this.queueScale = l.queue;
    this.refresh(later);
    this.tip.update();
  }

  refresh(later) {
    const { snap, trees, scene } = this;
    this.states = scene.lanes.map((l) => stateOf(snap, l));
    const inTree = new Set(trees.flatMap((t) => t.lanes.map((l) => scene.laneOf[l.lane])));
    const ports = new Set(trees.map((t) => t.port)), roots = new Set(trees.map((t) => scene.nodeOf[t.root]));
    const chosen = this.selected?.kind === "lane" ? scene.laneOf[this.selected.lane] : -1;
    this.lines.forEach((line, i) => {
      if (!line.parts) return;
      line.update(this.states[i], inTree.has(i), chosen === i);
      if (this.states[i].pauses > 0 && later) this.pulse(line);
    });
    this.drawPaths();
    this.nodes.forEach((n, i) => n.g && n.update(roots.has(i), ports));
    this.chase(snap.lanes.some((l) => l.paused));
  }

  // chase highlights the arrows one after the other, upstream, four times a second. A CSS
  // animation would run with every frame of the screen.
  chase(on) {
    const wanted = on && !calm() && this.scene.lanes.length <= 200;
    if (wanted === Boolean(this.chasing)) return;
    clearInterval(this.chasing);
    this.chasing = 0;
    mark(this.svg, "data-phase", null);
    if (!wanted) return;
    let phase = 0;
    this.chasing = setInterval(() => mark(this.svg, "data-phase", (phase = (phase + 1) % 4)), 250);
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
    const { model, scene } = this;
    const wanted = [...this.victims.keys()].filter((name) => !model.flows.get(name)?.burst).slice(0, 12);
    const chosen = this.selected?.kind === "flow" ? this.selected.name : null;
    const key = `${this.drawings} ${wanted.join()}|${chosen}`;
    if (key === this.pathKey) return;
    this.pathKey = key;
    const parts = [], tags = new Map();
    for (const name of new Set([...wanted, ...(chosen ? [chosen] : [])])) {
      const flow = model.flows.get(name);
      if (!flow?.paths.length) continue;
      const d = flow.paths[0].map((l) => this.lines[scene.laneOf[l]].d).join("");
      const victim = wanted.includes(name);
      if (victim) parts.push(s("path", { class: "victim-case", d }));
      parts.push(s("path", { class: victim ? "victim" : "way", d }));
      const at = scene.nodeOf[flow.from];
      if (victim) tags.set(at, [...(tags.get(at) ?? []), name]);
    }
    this.layers.tags.replaceChildren(...[...tags].map(([at, names]) => this.tag(at, names)));
    this.nodes.forEach((n) => { n.victim = tags.has(n.node.index); });
    this.layers.paths.replaceChildren(...parts);
  }

  // tag labels victims at their sender: beside it, or over it where NICs are close together.
  tag(at, names) {
    const box = this.layout.boxes[at], over = this.layout.dense && this.scene.nodes[at].group === undefined;
    const text = `${over ? `${this.scene.nodes[at].name}: ` : ""}${names[0]}${names.length > 1 ? ` +${names.length - 1}` : ""} ${names.length > 1 ? "victims" : "victim"}`;
    const w = text.length * 6.3 + 12, x = Math.max(w / 2 + 2, Math.min(box.x, this.layout.width - w / 2 - 2));
    const y = over ? box.y : this.layout.flat ? box.y + box.h / 2 + 11 : box.y - box.h / 2 - 11;
    return s("g", { class: over ? "over" : null }, s("rect", { class: "tag", x: x - w / 2, y: y - 8, width: w, height: 16, rx: 8 }), s("text", { class: "tag-name", x, y, text }));
  }

  // reveal brings what is selected into view, and opens its leaf.
  reveal(what) {
    const node = what.kind === "node" ? what.node : what.kind === "flow" ? this.model.flows.get(what.name)?.from : this.model.lanes[what.lane].from;
    for (const n of what.kind === "lane" ? [node, this.model.lanes[what.lane].to] : [node]) {
      const { group } = this.scene.nodes[this.scene.nodeOf[n]];
      if (group !== undefined) this.toggle(group);
    }
    const box = what.kind === "lane" ? this.hits.find((l) => l.link.lane >> 1 === this.scene.laneOf[what.lane] >> 1) : this.nodes[this.scene.nodeOf[node]];
    this.view.show(box.x, box.y);
  }

  key(e) {
    const here = e.target.closest("[data-key]");
    if (!here) return;
    if (e.key === "Enter" || e.key === " ") {
      e.preventDefault();
      here.dispatchEvent(new MouseEvent("click", { bubbles: true }));
      return;
    }
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[e.key];
    if (!way) return;
    e.preventDefault();
    this.step(way);
  }

  // step moves the focus to the nearest element in a direction.
  step(way) {
    const { x, y } = this.stop;
    let best = null, least = Infinity;
    for (const other of [...this.nodes, ...this.hits]) {
      const along = (other.x - x) * way[0] + (other.y - y) * way[1], across = Math.abs((other.x - x) * way[1]) + Math.abs((other.y - y) * way[0]);
      const cost = along + 2.5 * across;
      if (other !== this.stop && along > 2 && cost < least) [best, least] = [other, cost];
    }
    if (!best) return;
    if (this.stop.g) mark(this.stop.g, "tabindex", -1);
    this.stop = best;
    this.view.reveal(best.x, best.y);
    this.cull();
    best.g.focus();
  }
}
