// The strip: PAUSE frames and the longest queue over the displayed part of the run, with
// the slider of the displayed instant; below it the whole run, in which the part can be
// moved.

import { h, s, mark } from "./dom.js";
import * as format from "./format.js";
import { brush } from "./brush.js";
import { asBins, thin, topOf } from "./chart.js";
import { outlineOf } from "./outline.js";

const high = 76, below = 14, small = 14; // pixels: strip, its ticks, and the whole run
const left = 60, right = 60; // of the scales of queue and PAUSE
const near = 9; // pixels from the slider that a drag may begin at

export class Strip {
  constructor(app) {
    this.app = app;
    this.svg = s("svg", { class: "strip", "aria-hidden": "true" });
    this.band = h("div", { class: "band", hidden: true });
    this.range = h("input", { id: "at", type: "range", min: 0, max: 0, value: 0, "aria-label": "Displayed instant of the run" });
    this.range.addEventListener("input", () => this.go(Number(this.range.value)));
    this.range.addEventListener("keydown", (e) => {
      const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: 30, PageDown: -30 }[e.key];
      if (!by) return;
      e.preventDefault();
      app.go(Math.max(0, Math.min(app.index + by, app.history.length - 1)));
    });
    this.area = h("div", { class: "area" });
    this.map = s("svg", { class: "map", "aria-hidden": "true" });
    this.box = h("div", { class: "strips" }, h("div", { class: "strip-box" }, this.svg, this.range, this.band, this.area), this.map);
    brush(this.area, { span: app.span, scale: () => ({ from: app.span.from, to: app.span.to, left: 0, w: Math.max(this.area.clientWidth, 1) }), band: (x0, x1) => this.select(x0, x1), pick: (t) => this.go(t), grab: (x) => Math.abs(x - this.x) <= near });
    this.slide();
    new ResizeObserver(() => app.refresh()).observe(this.box);
  }

  go(t) { this.app.go(this.app.history.indexAt(t)); }

  select(x0, x1) {
    this.band.hidden = x0 === undefined;
    if (x0 === undefined) return;
    this.band.style.left = `${left + x0}px`;
    this.band.style.width = `${x1 - x0}px`;
  }

  // slide moves the part with a drag in the whole run; a drag outside it selects another.
  slide() {
    const { app } = this, ends = () => ({ from: app.run.frames[0]?.at ?? 0, to: app.run.last?.at ?? 1, left, w: Math.max(this.map.clientWidth - left - right, 1) });
    let last = null;
    const instant = (e) => {
      const { from, to, w } = ends();
      return from + ((e.clientX - this.map.getBoundingClientRect().left - left) / w) * (to - from);
    };
    this.map.addEventListener("pointerdown", (e) => {
      const t = instant(e), { span } = app;
      if (!span.part) return;
      this.map.setPointerCapture(e.pointerId);
      if (t < span.from || t > span.to) span.move(t - (span.from + span.to) / 2);
      last = t;
    });
    this.map.addEventListener("pointermove", (e) => {
      if (last === null) return;
      const t = instant(e);
      app.span.move(t - last);
      last = t;
    });
    for (const name of ["pointerup", "pointercancel"]) this.map.addEventListener(name, () => { last = null; });
    this.map.addEventListener("dblclick", () => app.span.clear());
  }

  // update shows the current instant.
  update(at) {
    const { from, to } = this.app.span;
    mark(this.range, "min", from);
    mark(this.range, "max", Math.max(to, from + 1));
    mark(this.range, "step", 1);
    if (Number(this.range.value) !== at) this.range.value = at;
    mark(this.range, "aria-valuetext", format.instant(at));
    this.x = ((at - from) / (to - from || 1)) * this.area.clientWidth;
  }

  draw() {
    const { app } = this, width = Math.max(this.svg.clientWidth, 180), w = width - left - right;
    mark(this.svg, "viewBox", `0 0 ${width} ${high}`);
    mark(this.map, "viewBox", `0 0 ${width} ${small}`);
    const whole = app.run.outline.points, points = app.history === app.run ? whole : (this.fine === app.history ? this.outline : ((this.fine = app.history), (this.outline = outlineOf(app.history.frames).points)));
    this.map.classList.toggle("on", Boolean(app.span.part));
    if (points.length < 2) {
      this.svg.replaceChildren();
      this.map.replaceChildren();
      return;
    }
    this.drawPart(points, w);
    this.drawMap(whole, w);
  }

  drawPart(points, w) {
    const { from, to } = this.app.span, { pauses, queues } = lines(points, from, to);
    const bottom = high - below, x = (t) => left + Math.max(0, Math.min((t - from) / (to - from || 1), 1)) * w;
    const parts = [], shape = (list, top) => list.map(([t, v]) => `${x(t).toFixed(1)} ${(bottom - (v / top) * (bottom - 6)).toFixed(1)}`).join("L");
    const tops = [topOf([{ points: queues }]), topOf([{ points: pauses }])];
    for (const share of [0, 0.5, 1]) {
      const y = bottom - share * (bottom - 6), base = share === 1 ? "hanging" : share ? "central" : "auto";
      parts.push(s("line", { class: share ? "grid" : "axis", x1: left, x2: left + w, y1: y, y2: y }),
        s("text", { class: "tick", x: left - 6, y, "text-anchor": "end", "dominant-baseline": base, text: format.bytes(tops[0] * share) }),
        s("text", { class: "tick t-pause", x: left + w + 6, y, "dominant-baseline": base, text: `${format.count(tops[1] * share)}/ms` }));
    }
    for (const [t, text] of format.ticks(from, to, w)) parts.push(s("text", { class: "tick", x: x(t), y: high - 2, "text-anchor": "middle", text }));
    if (pauses.length) parts.push(s("path", { class: "s-pause", d: `M${x(pauses[0][0]).toFixed(1)} ${bottom}L${shape(asBins(thin(pauses, 500)), tops[1])}L${x(pauses.at(-1)[0]).toFixed(1)} ${bottom}Z` }));
    if (queues.length) parts.push(s("path", { class: "s-queue", d: `M${shape(thin(queues, 500), tops[0])}` }));
    this.svg.replaceChildren(...parts);
  }

  // drawMap draws the whole run, with the part in it.
  drawMap(points, w) {
    const { span } = this.app, from = points[0].at, to = points.at(-1).at, x = (t) => left + ((t - from) / (to - from || 1)) * w;
    const { queues } = lines(points, from, to), top = topOf([{ points: queues }]);
    const d = thin(queues, 300).map(([t, v]) => `${x(t).toFixed(1)} ${(small - (v / top) * (small - 2)).toFixed(1)}`).join("L");
    const parts = [s("path", { class: "s-all", d: `M${left} ${small}L${d}L${left + w} ${small}Z` })];
    if (span.part) parts.push(s("rect", { class: "window", x: x(span.from).toFixed(1), y: 0.5, width: Math.max(3, x(span.to) - x(span.from)).toFixed(1), height: small - 1, rx: 2 }));
    this.map.replaceChildren(...parts);
  }
}

// lines returns PAUSE frames per ms and the longest queue over a part of an outline.
function lines(points, from, to) {
  const pauses = [], queues = [];
  points.forEach((p, i) => {
    if ((points[i + 1] ?? p).at < from || (points[i - 1] ?? p).at > to) return;
    pauses.push([p.at, p.rate]);
    queues.push([p.at, p.queue]);
  });
  return { pauses, queues };
}
