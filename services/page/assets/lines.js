// The drawing of a link: two lanes with their rate and load, arrows on a paused lane, the
// outline of a congestion tree, and a cross where the link is cut.

import { s, mark } from "./dom.js";

const shades = 10; // of load

const at = (...points) => points.map((v) => v.toFixed(1)).join(" ");

// Line is one lane. Its elements exist while it is in view.
export class Line {
  constructor(rack, lane) {
    const { layout } = rack, l = lane, a = layout.ends[l.index], b = layout.ends[l.back];
    Object.assign(this, { rack, lane, width: thickness(l, layout.dense), parts: null });
    const dx = b.x - a.x, dy = b.y - a.y, length = Math.hypot(dx, dy) || 1;
    const aside = (this.width / 2 + (layout.dense ? 0.3 : 0.8)) * (1 + 2 * l.nth); // away from the opposite lane, and from parallel links
    const ox = (-dy / length) * aside, oy = (dx / length) * aside;
    this.p = { x1: a.x + ox, y1: a.y + oy, x2: b.x + ox, y2: b.y + oy, length, ux: dx / length, uy: dy / length };
    this.d = `M${at(this.p.x1, this.p.y1)}L${at(this.p.x2, this.p.y2)}`;
  }

  inView([x0, y0, x1, y1]) {
    const { p } = this;
    return Math.max(p.x1, p.x2) >= x0 && Math.min(p.x1, p.x2) <= x1 && Math.max(p.y1, p.y2) >= y0 && Math.min(p.y1, p.y2) <= y1;
  }

  attach() {
    const path = s("path", { class: "lane", d: this.d, "stroke-width": this.width.toFixed(2), "data-q": 0, "data-lane": this.lane.id });
    this.rack.layers.lanes.append(path);
    this.parts = { path };
    this.last = {};
  }

  detach() {
    for (const element of Object.values(this.parts)) element.remove();
    this.parts = null;
  }

  // update changes what differs from the state that is drawn.
  update(l, inTree, chosen) {
    const { last, parts } = this, state = l.down ? "down" : l.paused ? "paused" : null;
    const q = l.load < 0.005 ? 0 : Math.min(shades, 1 + Math.floor(l.load * (shades - 0.01)));
    if (q !== last.q) mark(parts.path, "data-q", q);
    if (state !== last.state) {
      mark(parts.path, "data-state", state);
      this.optional("arrows", state === "paused", "lanes", () => this.arrows());
      this.optional("cut", state === "down" && this.lane.index < this.lane.back, "marks", () => this.cross());
    }
    if (chosen !== last.chosen) parts.path.classList.toggle("chosen", chosen);
    if (inTree !== last.inTree) this.optional("halo", inTree, "halos", () => s("path", { class: "halo", d: this.d, "stroke-width": this.width + (this.rack.layout.dense ? 4 : 12) }));
    this.last = { q, state, chosen, inTree };
  }

  // optional adds or removes an element.
  optional(name, wanted, layer, make) {
    if (wanted === Boolean(this.parts[name])) return;
    if (wanted) this.rack.layers[layer].append((this.parts[name] = make()));
    else {
      this.parts[name].remove();
      delete this.parts[name];
    }
  }

  // arrows point in the direction of PAUSE, against the traffic.
  arrows() {
    const { p } = this, { dense } = this.rack.layout, size = dense ? 2.6 : 4.2, gap = dense ? 26 : 24;
    const n = Math.max(2, Math.min(10, Math.floor((p.length - 20) / gap)));
    const g = s("g", { class: "arrows" });
    for (let k = 1; k <= n; k++) {
      const t = p.length * (1 - k / (n + 1));
      const x = p.x1 + p.ux * t, y = p.y1 + p.uy * t;
      const d = `M${at(x + (p.ux - p.uy) * size, y + (p.uy + p.ux) * size)}L${at(x, y)}L${at(x + (p.ux + p.uy) * size, y + (p.uy - p.ux) * size)}`;
      g.append(s("path", { d, "data-k": k % 4 }));
    }
    return g;
  }

  // cross marks the middle of a cut link.
  cross() {
    const { p } = this, r = this.rack.layout.dense ? 4 : 6, x = (p.x1 + p.x2) / 2, y = (p.y1 + p.y2) / 2;
    const d = `M${at(x - r, y - r)}L${at(x + r, y + r)}M${at(x - r, y + r)}L${at(x + r, y - r)}`;
    return s("g", { class: "cut" }, s("path", { class: "case", d }), s("path", { d }));
  }
}

function thickness(lane, dense) {
  const thick = 1.2 + 1.15 * Math.log2(1 + lane.rate / 10e9);
  return Math.max(1.5, Math.min(thick, lane.of.length > 1 ? 7 : dense ? 2.5 : 7));
}

// Hit is the area of a link that reacts to the pointer, keys and focus.
export class Hit {
  constructor(rack, link) {
    Object.assign(this, { rack, link, key: link.key, g: null });
    const p = rack.lines[link.lane].p;
    this.x = (p.x1 + p.x2) / 2;
    this.y = (p.y1 + p.y2) / 2;
  }

  inView(rect) { return this.rack.lines[this.link.lane].inView(rect); }

  attach() {
    const { rack, link } = this, wide = rack.layout.dense ? 5 : 16;
    this.g = s("path", { class: "hit", d: rack.lines[link.lane].d, "stroke-width": wide, tabindex: -1, role: "button", "data-key": link.key, "aria-label": `link ${link.name}` });
    rack.pointed(this.g, this, () => this.choose());
    rack.layers.hits.append(this.g);
  }

  detach() {
    this.g.remove();
    this.g = null;
  }

  // choose selects the direction that carries more, and the other one on the next click.
  // The link of a group opens it.
  choose() {
    const { rack, link } = this, { scene, snap, selected } = rack;
    const [a, b] = [scene.lanes[link.lane], scene.lanes[link.lane + 1]];
    const group = scene.nodes[a.from].group ?? scene.nodes[a.to].group;
    if (group !== undefined) {
      rack.toggle(group);
      return;
    }
    let lane = a.of[0];
    if (snap && snap.lanes[b.of[0]].bps > snap.lanes[lane].bps) lane = b.of[0];
    if (selected?.lane === lane) lane = lane === a.of[0] ? b.of[0] : a.of[0];
    rack.choose({ kind: "lane", lane });
  }

  // subject returns what the words under the pointer explain.
  subject() {
    const [a, b] = [this.rack.scene.lanes[this.link.lane], this.rack.scene.lanes[this.link.lane + 1]];
    return { kind: "link", lanes: [a.of, b.of] };
  }
}
