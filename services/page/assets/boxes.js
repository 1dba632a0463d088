// The drawing of a node: a NIC, a switch with the queues at its ports, or the NICs of a
// collapsed leaf, one square each.

import { s, mark, put } from "./dom.js";
import { dotAt } from "./layout.js";

const kinds = ["idle", "busy", "paused", "cut"]; // of a NIC in a group

// Box is one node. Its elements exist while it is in view.
export class Box {
  constructor(rack, node) {
    Object.assign(this, { rack, node, key: node.key, box: rack.layout.boxes[node.index], g: null });
    this.x = this.box.x;
    this.y = this.box.y;
  }

  inView([x0, y0, x1, y1]) {
    const b = this.box;
    return b.x + b.w / 2 >= x0 && b.x - b.w / 2 <= x1 && b.y + b.h / 2 >= y0 && b.y - b.h / 2 <= y1;
  }

  attach() {
    const { node: n, box: b, rack } = this, grouped = n.group !== undefined;
    this.g = s("g", { class: grouped ? "node group" : n.nic ? "node nic" : "node switch", tabindex: -1, role: "button", "data-key": n.key,
      "aria-label": grouped ? `${n.name} of ${rack.model.nodes[n.group].name}, open` : `${n.nic ? "NIC" : "switch"} ${n.name}` });
    this.g.append(s("rect", { class: "body", x: b.x - b.w / 2, y: b.y - b.h / 2, width: b.w, height: b.h, rx: n.nic && !grouped ? Math.min(b.h, b.w) / 2.6 : Math.min(8, b.h / 4) }));
    rack.pointed(this.g, this, () => (grouped ? rack.toggle(n.group) : rack.choose({ kind: "node", node: n.of[0] })));
    this.last = {};
    this.bars = [];
    if (grouped) this.drawGroup();
    else {
      if (!n.nic) this.drawPorts();
      const name = s("text", { class: "name", x: b.x, y: b.y, text: n.name });
      name.style.setProperty("--most", `${Math.min(b.h * 0.66, (b.w * 1.55) / n.name.length).toFixed(1)}px`);
      this.g.append(name);
      if (!n.nic && rack.foldable && rack.scene.leaves.has(n.of[0])) this.drawHandle();
    }
    rack.layers.nodes.append(this.g);
  }

  detach() {
    this.g.remove();
    this.g = null;
  }

  drawGroup() {
    const b = this.box;
    this.dots = Object.fromEntries(kinds.map((kind) => [kind, s("path", { class: `dots ${kind}` })]));
    this.g.append(s("text", { class: "name", x: b.x, y: b.y - b.h / 2 + 10, text: `+ ${this.node.name}` }), ...Object.values(this.dots));
  }

  // drawHandle draws the button that opens or collapses a leaf.
  drawHandle() {
    const { box: b, rack } = this, leaf = this.node.of[0], open = rack.open.has(leaf);
    const x = rack.layout.flat ? b.x : b.x + b.w / 2 - 11, y = !rack.layout.flat ? b.y : b.h > 60 ? b.y + b.h / 2 - 11 : b.y - b.h / 2;
    const handle = s("g", { class: "handle", "aria-hidden": "true" }, s("circle", { cx: x, cy: y, r: 7 }), s("path", { d: `M${x - 3.5} ${y}h7${open ? "" : `M${x} ${y - 3.5}v7`}` }));
    handle.addEventListener("click", (e) => {
      e.stopPropagation();
      rack.toggle(leaf);
    });
    this.g.append(handle);
  }

  // drawPorts draws the empty queues of all ports as one path.
  drawPorts() {
    this.bars = this.node.lanes.map((lane) => new Bar(this.rack.scene.lanes[lane], this.rack.layout.ends[lane]));
    this.g.append(s("path", { class: "slot", d: this.bars.map((b) => b.d(b.length)).join("") }));
  }

  update(root, ports) {
    const { rack, node: n, last } = this, { snap } = rack;
    const frozen = n.of.length === 1 && snap.frozen[n.of[0]], chosen = rack.selected?.kind === "node" && n.of.includes(rack.selected.node);
    for (const [name, on] of [["frozen", frozen], ["chosen", chosen], ["root", root], ["victim-from", Boolean(this.victim)]]) {
      if (last[name] !== on) this.g.classList.toggle(name, on);
      last[name] = on;
    }
    for (const b of this.bars) b.update(this.g, rack.states[b.lane.index].queue / rack.queueScale, b.lane.of.some((l) => ports.has(l)));
    if (n.group !== undefined) this.updateDots();
  }

  updateDots() {
    const { rack, node: n, box } = this, { snap, model } = rack;
    const kind = n.of.map((nic) => {
      const l = snap.lanes[model.nodes[nic].lanes[0]];
      return l.down || snap.frozen[nic] ? 3 : l.paused ? 2 : l.load > 0.02 ? 1 : 0;
    });
    const key = kind.join("");
    if (key === this.last.dots) return;
    this.last.dots = key;
    const d = kinds.map(() => "");
    kind.forEach((k, i) => {
      const [x, y] = dotAt(box, n.of.length, i);
      d[k] += `M${(x + 0.75).toFixed(2)} ${(y + 0.75).toFixed(2)}h5.5v5.5h-5.5z`;
    });
    kinds.forEach((name, k) => mark(this.dots[name], "d", d[k]));
  }

  label(text) { put(this.g.querySelector(".name"), text); }

  // subject returns what the words under the pointer explain.
  subject() {
    const { node: n } = this;
    return n.group === undefined ? { kind: "node", node: n.of[0] } : { kind: "group", leaf: n.group, nics: n.of };
  }
}

// Bar is the queue of a port: a bar that grows inward from the edge of its switch.
class Bar {
  constructor(lane, end) {
    const upright = end.side === "left" || end.side === "right";
    Object.assign(this, { lane, end, upright, thick: Math.max(1.2, Math.min(end.pitch - Math.min(2.5, end.pitch / 3), 9)), length: upright ? 24 : 20, long: 0, congested: false });
  }

  corner(long) {
    const { end: e, thick } = this, inset = 4;
    return {
      left: [e.x + inset, e.y - thick / 2], right: [e.x - inset - long, e.y - thick / 2],
      top: [e.x - thick / 2, e.y + inset], bottom: [e.x - thick / 2, e.y - inset - long],
    }[e.side];
  }

  d(long) {
    const [x, y] = this.corner(long), [w, h] = this.upright ? [long, this.thick] : [this.thick, long];
    return `M${x.toFixed(1)} ${y.toFixed(1)}h${w.toFixed(1)}v${h.toFixed(1)}h${(-w).toFixed(1)}z`;
  }

  // update shows a share of 0 to 1, and whether the port is that of a congestion tree.
  update(g, share, congested) {
    const long = Math.round(Math.min(share, 1) * this.length * 2) / 2;
    if (long !== this.long) {
      if (!this.bar) g.append((this.bar = s("path", { class: "queue" })));
      mark(this.bar, "d", long ? this.d(long) : "");
      this.long = long;
    }
    if (congested !== this.congested) {
      if (congested) g.append((this.edge = s("path", { class: "congested", d: this.d(this.length) })));
      else this.edge.remove();
      this.congested = congested;
    }
  }
}
