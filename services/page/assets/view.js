// The part of a drawing that is visible: pan and zoom by pointer, wheel, pinch and keys.

const nearest = 12; // largest zoom
const legible = 0.75; // zoom at which names can be read
const still = 4; // pixels that a click may move

export class View {
  // changed is called after each change.
  constructor(svg, world, changed) {
    Object.assign(this, { svg, world, changed, k: 1, x: 0, y: 0, width: 1, height: 1, full: { width: 1, height: 1 }, moved: false });
    this.pointers = new Map();
    svg.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
    svg.addEventListener("pointerdown", (e) => this.down(e));
    svg.addEventListener("pointermove", (e) => this.move(e));
    for (const name of ["pointerup", "pointercancel"]) svg.addEventListener(name, (e) => this.up(e));
    svg.addEventListener("click", (e) => {
      if (this.dragged) e.stopPropagation();
      this.dragged = false;
    }, true);
  }

  // resize sets the size of the page's box and of the drawing.
  resize(width, height, full) {
    Object.assign(this, { width, height, full });
    if (this.moved) this.set(this.k, this.x, this.y);
    else this.fit();
  }

  get least() { return Math.min(this.width / this.full.width, this.height / this.full.height); }

  // fit shows the whole drawing.
  fit() {
    this.moved = false;
    const k = this.least;
    this.apply(k, (this.width - this.full.width * k) / 2, (this.height - this.full.height * k) / 2);
  }

  set(k, x, y) {
    this.moved = true;
    const within = (v, size, full) => Math.max(size * 0.4 - full * k, Math.min(v, size * 0.6)); // part of it stays in view
    this.apply(k, within(x, this.width, this.full.width), within(y, this.height, this.full.height));
  }

  apply(k, x, y) {
    Object.assign(this, { k, x, y });
    this.world.setAttribute("transform", `translate(${x.toFixed(2)} ${y.toFixed(2)}) scale(${k.toFixed(4)})`);
    this.world.style.setProperty("--up", Math.max(1, Math.min(1 / k, 2)).toFixed(2));
    this.svg.classList.toggle("far", k < 0.5);
    this.svg.classList.toggle("moved", this.moved);
    this.changed();
  }

  // zoom changes the scale around a point of the box, by default its centre.
  zoom(by, px = this.width / 2, py = this.height / 2) {
    const k = Math.max(this.least * 0.8, Math.min(this.k * by, nearest)), f = k / this.k;
    this.set(k, px - (px - this.x) * f, py - (py - this.y) * f);
  }

  pan(dx, dy) { this.set(this.k, this.x + dx, this.y + dy); }

  // show brings a point of the drawing into view, and centres it at a zoom of 1 if it is
  // too small to read.
  show(x, y) {
    if (this.k >= legible) {
      this.reveal(x, y);
      return;
    }
    const k = 1;
    this.set(k, this.width / 2 - x * k, this.height / 2 - y * k);
  }

  // reveal moves a point of the drawing into view.
  reveal(x, y) {
    const px = x * this.k + this.x, py = y * this.k + this.y, edge = 24;
    const by = (p, size) => (p < edge ? edge - p : p > size - edge ? size - edge - p : 0);
    const dx = by(px, this.width), dy = by(py, this.height);
    if (dx || dy) this.pan(dx, dy);
  }

  // rect returns the visible part of the drawing, with a margin: [left, top, right, bottom].
  rect() {
    const m = 40, { k, x, y } = this;
    return [(-m - x) / k, (-m - y) / k, (this.width + m - x) / k, (this.height + m - y) / k];
  }

  at(e) {
    const box = this.svg.getBoundingClientRect();
    return [e.clientX - box.left, e.clientY - box.top];
  }

  wheel(e) {
    e.preventDefault();
    if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) this.pan(-(e.deltaX || e.deltaY), 0);
    else this.zoom(Math.exp(-e.deltaY * (e.deltaMode ? 0.05 : e.ctrlKey ? 0.01 : 0.0022)), ...this.at(e));
  }

  down(e) {
    if (e.button > 0) return;
    this.dragged = false;
    this.pointers.set(e.pointerId, this.at(e));
    this.from = this.at(e);
  }

  move(e) {
    const before = this.pointers.get(e.pointerId);
    if (!before) return;
    const now = this.at(e);
    if (this.pointers.size === 2) this.pinch(e.pointerId, before, now);
    else if (this.dragged || Math.hypot(now[0] - this.from[0], now[1] - this.from[1]) > still) {
      if (!this.dragged) this.svg.setPointerCapture(e.pointerId);
      this.dragged = true;
      this.pan(now[0] - before[0], now[1] - before[1]);
    } else return;
    this.pointers.set(e.pointerId, now);
  }

  pinch(id, before, now) {
    const [, other] = [...this.pointers].find(([p]) => p !== id);
    const far = (p) => Math.max(Math.hypot(p[0] - other[0], p[1] - other[1]), 1);
    this.dragged = true;
    this.zoom(far(now) / far(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
  }

  up(e) {
    this.pointers.delete(e.pointerId);
    if (e.type === "pointercancel") this.dragged = false;
  }
}
