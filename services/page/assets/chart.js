// Line charts in SVG: several lines on one scale, a cursor in time, a value under the
// pointer.

import { s, mark } from "./dom.js";
import * as format from "./format.js";
import { brush } from "./brush.js";

// The palette is that of Okabe and Ito. Lines also differ by dashes.
const palette = ["c-blue", "c-orange", "c-green", "c-purple", "c-red", "c-sky", "c-yellow", "c-ink"];
const dashes = ["", "6 3", "2 2.5", "8 3 2 3"];

const most = 360; // points of a line

// thin reduces the number of points. It keeps the largest and the smallest of each
// stretch, so that peaks stay.
export function thin(points, limit = most) {
  if (points.length <= limit) return points;
  const out = [], per = (points.length / limit) * 2;
  for (let i = 0; i < points.length; i += per) {
    const part = points.slice(Math.floor(i), Math.max(Math.floor(i + per), Math.floor(i) + 1));
    let low = part[0], high = part[0];
    for (const p of part) {
      if (p[1] < low[1]) low = p;
      if (p[1] > high[1]) high = p;
    }
    out.push(...(low[0] <= high[0] ? [low, high] : [high, low]));
  }
  return out;
}

// asBins adds the corners of bins: each value is that of the time since the previous point.
export const asBins = (points) => points.flatMap(([t, v], i) => (i ? [[points[i - 1][0], v], [t, v]] : [[t, v]]));

// nice returns a round number of at least v.
function nice(v) {
  if (!(v > 0)) return 1;
  const base = 10 ** Math.floor(Math.log10(v));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((m) => m * base >= v * 0.999) * base;
}

export const topOf = (lines) => nice(Math.max(...lines.flatMap((l) => l.points.map((p) => p[1])), 0));

// chart draws lines [{name, points: [[ps, value]]}] with options {width, height, from,
// to, top, show (of values), bins (each value is that of the time since the previous one),
// cursor, label, onpick, span}. onpick gets the instant of a click; a span has set, zoom, move
// and clear, for drags and the wheel along the time axis.
export function chart(svg, lines, o) {
  const { width, height } = o, left = 52, right = 8, above = 6, below = 18;
  const w = Math.max(width - left - right, 10), hgt = height - above - below;
  const from = o.from, to = Math.max(o.to, from + 1), top = o.top ?? topOf(lines);
  const x = (t) => left + ((t - from) / (to - from)) * w, y = (v) => above + hgt - (Math.min(Math.max(v, 0), top) / top) * hgt;
  mark(svg, "viewBox", `0 0 ${width} ${height}`);
  mark(svg, "width", width);
  mark(svg, "height", height);
  mark(svg, "role", "img");
  mark(svg, "aria-label", `${o.label ?? ""}: ${lines.map((l) => `${l.name} ${o.show(l.points.at(-1)?.[1] ?? 0)}`).join(", ")}`);
  const parts = [];
  for (const v of [0, top / 2, top]) {
    parts.push(s("line", { class: v ? "grid" : "axis", x1: left, x2: left + w, y1: y(v), y2: y(v) }));
    parts.push(s("text", { class: "tick", x: left - 6, y: y(v), "text-anchor": "end", "dominant-baseline": v === top ? "hanging" : v ? "central" : "auto", text: o.show(v) }));
  }
  for (const [t, text] of format.ticks(from, to, w)) parts.push(s("text", { class: "tick", x: x(t), y: height - 4, "text-anchor": x(t) > left + w - 14 ? "end" : "middle", text }));
  lines.forEach((l, i) => {
    const part = thin(l.points.filter((p) => p[0] >= from && p[0] <= to)), points = o.bins ? asBins(part) : part;
    let d = "";
    points.forEach(([t, v], k) => {
      const at = `${x(t).toFixed(1)} ${y(v).toFixed(1)}`;
      d += k ? `L${at}` : `M${at}`;
    });
    const kind = l.style ?? i;
    if (d) parts.push(s("path", { class: `line ${palette[kind % palette.length]}`, d, "stroke-dasharray": dashes[Math.floor(kind / 2) % dashes.length] || null }));
  });
  if (o.cursor !== undefined && o.cursor >= from && o.cursor <= to) {
    parts.push(s("line", { class: "cursor", x1: x(o.cursor), x2: x(o.cursor), y1: above, y2: above + hgt }));
  }
  svg.replaceChildren(...parts, ...(svg.band ? [svg.band] : []));
  svg.scale = { from, to, left, w, x, y, above, hgt, lines, show: o.show, bins: o.bins };
  if (!svg.dataset.live) trackPointer(svg, o);
  if (svg.pointer !== undefined) readout(svg);
}

// instantAt returns the instant at a horizontal position on the page, or null outside of the
// time axis.
function instantAt(svg, clientX) {
  const { from, to, left, w } = svg.scale, box = svg.getBoundingClientRect();
  const share = ((clientX - box.left) * (svg.viewBox.baseVal.width / box.width) - left) / w;
  return share >= 0 && share <= 1 ? from + share * (to - from) : null;
}

// readout draws the values under the pointer.
function readout(svg) {
  svg.querySelector(".under")?.remove();
  const t = svg.pointer === undefined ? null : instantAt(svg, svg.pointer);
  if (t === null) return;
  const { x, above, hgt, lines, show, left, w, bins } = svg.scale;
  const values = lines.map((l) => `${lines.length > 1 ? `${l.name} ` : ""}${show(valueAt(l.points, t, bins))}`);
  const text = [format.instant(t), ...values.slice(0, 8)];
  const wide = Math.max(...text.map((v) => v.length)) * 6.1 + 12, tall = text.length * 13 + 6;
  const bx = Math.min(Math.max(x(t) + 8, left), left + w - wide);
  svg.append(s("g", { class: "under" },
    s("line", { x1: x(t), x2: x(t), y1: above, y2: above + hgt }),
    s("rect", { x: bx, y: 2, width: wide, height: tall, rx: 4 }),
    text.map((v, i) => s("text", { x: bx + 6, y: 14 + i * 13, text: v }))));
}

// trackPointer shows the values under the pointer, also when the chart is drawn again, and
// calls onpick with the instant of a click.
function trackPointer(svg, { onpick, span }) {
  svg.dataset.live = "1";
  svg.addEventListener("pointermove", (e) => {
    svg.pointer = e.clientX;
    readout(svg);
  });
  svg.addEventListener("pointerleave", () => {
    delete svg.pointer;
    readout(svg);
  });
  if (span) {
    svg.classList.add("picks");
    const band = (x0, x1) => {
      svg.band?.remove();
      svg.band = x0 === undefined ? null : s("rect", { class: "band", x: x0, y: svg.scale.above, width: x1 - x0, height: svg.scale.hgt });
      if (svg.band) svg.append(svg.band);
    };
    brush(svg, { span, pick: onpick, scale: () => svg.scale, band });
  } else if (onpick) {
    svg.classList.add("picks");
    svg.addEventListener("click", (e) => {
      const t = instantAt(svg, e.clientX);
      if (t !== null) onpick(t);
    });
  }
}

// valueAt returns the value at an instant: that of the last point before it, or of its bin.
function valueAt(points, t, bins) {
  const p = bins ? points.find((v) => v[0] >= t) : points.findLast((v) => v[0] <= t);
  return p?.[1] ?? 0;
}

// key lists the lines of a chart.
export function key(lines) {
  return lines.map((l, i) => {
    const kind = l.style ?? i;
    return [s("svg", { class: "key", width: 22, height: 8, "aria-hidden": "true" },
      s("line", { class: `line ${palette[kind % palette.length]}`, x1: 1, x2: 21, y1: 4, y2: 4, "stroke-dasharray": dashes[Math.floor(kind / 2) % dashes.length] || null })), l.name];
  });
}
