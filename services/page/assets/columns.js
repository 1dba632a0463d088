// The columns of Compare: an opened source each, with the lines, victims and figures that
// they share.

import { means } from "./bins.js";
import { key, topOf } from "./chart.js";
import { s } from "./dom.js";
import { calmly } from "./frames.js";
import { History } from "./history.js";
import { snapshot } from "./model.js";
import { trees, victims, victimsOver } from "./analysis.js";
import { metricOf, open } from "./sources.js";
import { columns as figures, textOf } from "./table.js";

const largest = 6; // lines of a panel

// opened opens the sources, each once. A source that cannot be opened has an error.
const cache = new Map();
export const opened = (sources, app) => Promise.all(sources.map(async (source) => {
  try {
    if (source.live) return { source, ...(await open(source, app)) };
    if (!cache.has(source.id)) cache.set(source.id, open(source, app));
    while (cache.size > 12) cache.delete(cache.keys().next().value);
    return { source, ...(await cache.get(source.id)) };
  } catch (e) {
    cache.delete(source.id);
    return { source, error: e.message, series: () => [], burst: null };
  }
}));

// named returns the name of each column: its scheme, with its folder or run where schemes
// repeat.
export const named = (list) => list.map(({ source }) => {
  const { scheme, run, folder } = source;
  if (!scheme || source.live) return source.label;
  if (list.filter((v) => v.source.scheme === scheme).length < 2) return scheme;
  return `${scheme} · ${folder ?? run.run.replace(`${run.scenario}-${scheme}-`, "")}`;
});

// burstWindow returns the window that shows the bursts of all columns, with what precedes
// and follows them, or null if no column has a burst.
export function burstWindow(list) {
  const bursts = list.map((c) => c.burst).filter(Boolean);
  if (!bursts.length) return null;
  const from = Math.min(...bursts.map((b) => b.from)), to = Math.max(...bursts.map((b) => b.to));
  const margin = Math.max((to - from) * 0.12, 50e6);
  return { from: Math.max(0, Math.floor((from - margin) / 50e6) * 50e6), to: Math.ceil((to + 2 * margin) / 50e6) * 50e6 };
}

// linesOf returns the largest lines of a metric, the same in each column: {m, columns, top,
// more}, where more counts the lines left out.
export async function linesOf(id, list, from, to) {
  const m = metricOf(id);
  const all = await Promise.all(list.map(async (c) => {
    const series = await c.series(m);
    return m.mean ? series.map((l) => (l.bin ? { ...l, points: means(l.points, l.bin, m.mean) } : l)) : series;
  }));
  const size = new Map();
  for (const l of all.flat()) {
    const peak = l.points.reduce((most, p) => (p[0] >= from && p[0] <= to && p[1] > most ? p[1] : most), 0);
    size.set(l.name, Math.max(size.get(l.name) ?? 0, peak));
  }
  const { names, more } = largestOf(size);
  const columns = all.map((series) => names.map((name, style) => ({ name, style, points: (series.find((l) => l.name === name)?.points ?? []).filter((p) => p[0] >= from && p[0] <= to) })));
  return { m, columns, top: topOf(columns.flat()), more };
}

// largestOf returns the names of the lines with the largest peaks, given the peaks by name, and
// the number of the other lines that are not 0 throughout.
export function largestOf(peaks) {
  const some = [...peaks].filter((e) => e[1] > 0), least = 0.01 * Math.max(0, ...peaks.values());
  const names = some.filter((e) => e[1] > least).sort((a, b) => b[1] - a[1]).slice(0, largest).map((e) => e[0]).sort();
  return { names, more: some.length - names.length };
}

// keysOf returns the legend of the lines of a metric, with the number of those left out.
export function keysOf({ columns, more }) {
  const lines = key(columns[0] ?? []);
  if (!lines.length || !more) return lines;
  return [...lines, [s("svg", { class: "key", width: 1, height: 8, "aria-hidden": "true" }), `and ${more} more, with ${more === 1 ? "a lower peak" : "lower peaks"}`]];
}

// spread returns what PAUSE did in a window: {victims, pauses (frames), busiest (the instant
// with the most paused links, else with the longest queues; weight), longest (queue)}.
export function spread(rec, from, to) {
  const { model } = rec, whole = snapshot(model, rec.frame(to), rec.frame(from));
  const lanes = whole.lanes.map((l, i) => ({ recentlyPaused: l.pauses > 0, queue: rec.peak(i, from, to) }));
  let busiest = from, most = -1;
  for (let i = 0; i <= 40; i++) {
    const at = from + ((to - from) * i) / 40, snap = stateAt(rec, at);
    const weight = snap.lanes.reduce((n, l) => n + (l.recentlyPaused ? 1 : 0) + Math.min(l.queue / 1e9, 0.001), 0);
    if (weight > most) [busiest, most] = [at, weight];
  }
  return { victims: victimsOver(model, lanes), pauses: whole.lanes.reduce((n, l) => n + l.pauses, 0), busiest, weight: most, longest: Math.max(0, ...lanes.map((l) => l.queue)) };
}

// stateAt returns the snapshot of a recording at an instant.
function stateAt(rec, at) {
  const t = rec.bin ? Math.ceil(at / rec.bin) * rec.bin : at;
  const frame = rec.frame(t), was = rec.before ? rec.before(t) : rec.frame(t - rec.bin);
  return snapshot(rec.model, frame, was.at < frame.at ? was : undefined, rec.frame(Math.max(t - calmly, 0)));
}

// pictureOf returns a snapshot with its trees and victims. A link counts as paused for 250
// us: the files of finished runs have the instants of PAUSE, not those of RESUME.
export function pictureOf(rec, at) {
  const snap = stateAt(rec, at);
  for (const l of snap.lanes) l.paused = l.recentlyPaused;
  const list = trees(rec.model, snap);
  return { snap, trees: list, victims: victims(rec.model, snap, list) };
}

// contextOf returns what words about a link or node need: a picture with the frames of the
// millisecond before it.
export function contextOf(rec, at) {
  const history = new History(), step = rec.bin || 50e6, end = rec.bin ? Math.ceil(at / rec.bin) * rec.bin : at;
  for (let t = Math.max(0, end - 1e9); t < end + step / 2; t += step) history.add(rec.frame(t));
  return { model: rec.model, history, index: history.length - 1, since: rec.frame(Math.max(end - calmly, 0)), ...pictureOf(rec, at) };
}

const mean = (points, from, to) => {
  const part = points.filter((p) => p[0] > from && p[0] <= to);
  return part.length ? part.reduce((n, p) => n + p[1], 0) / part.length : null;
};

// factsOf returns the figures of a column as text by name. A finished run has all of them;
// for others, goodput and PAUSE frames are those of the burst, or of the window.
export function factsOf(c, victim, goodput, pauses, window) {
  const facts = {}, long = c.run?.flows?.find((f) => f.name === victim), line = goodput?.find((l) => l.name === victim);
  const { from, to } = c.burst ?? window, value = long && c.burst ? long.burst_goodput_bps : line ? mean(line.points, from, to) : null;
  if (victim) facts[`${victim} in the burst, Gbit/s`] = value === null ? "–" : (value / 1e9).toFixed(2);
  for (const name of ["PAUSE", "tree ms", "recovery ms", "p99 ms"]) {
    const column = figures.find((f) => f.name === name);
    facts[name] = c.run ? textOf(column, { run: c.run }) : name === "PAUSE" && pauses !== undefined ? String(pauses) : "–";
  }
  return facts;
}
