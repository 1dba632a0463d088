// The words about the link or node under the pointer, or the one with the focus. They
// follow the rack while it runs.

import { h, mark } from "./dom.js";

const away = 14; // pixels from the pointer

export class Tip {
  // explain returns the lines for a subject.
  constructor(box, explain) {
    this.box = box;
    this.explain = explain;
    this.tip = h("div", { class: "tip", role: "tooltip", hidden: true });
    box.append(this.tip);
  }

  // show explains a node or link at the pointer, or beside it without a pointer.
  show(of, e) {
    if (e?.pointerType === "touch") return; // a tap selects, and the panel has the words
    this.of = of;
    this.tip.hidden = false;
    this.update();
    const r = of.g.getBoundingClientRect();
    this.place(e?.clientX ?? r.x + r.width / 2, e?.clientY ?? r.y + r.height);
  }

  move(e) {
    if (this.of) this.place(e.clientX, e.clientY);
  }

  hide(of) {
    if (this.of !== of) return;
    this.of = null;
    this.tip.hidden = true;
  }

  update() {
    if (!this.of) return;
    if (!this.of.g?.isConnected) {
      this.hide(this.of);
      return;
    }
    const lines = this.explain(this.of.subject()), text = lines.join("\n");
    if (text === this.text) return;
    this.text = text;
    this.tip.replaceChildren(...lines.map((line) => h("p", { text: line })));
    mark(this.of.g, "aria-label", text);
  }

  place(x, y) {
    const box = this.box.getBoundingClientRect(), w = this.tip.offsetWidth, t = this.tip.offsetHeight;
    const left = x - box.x + away + w > box.width ? x - box.x - away - w : x - box.x + away;
    const top = y - box.y + away + t > box.height ? y - box.y - away - t : y - box.y + away;
    this.tip.style.left = `${Math.max(2, left)}px`;
    this.tip.style.top = `${Math.max(2, top)}px`;
  }
}
