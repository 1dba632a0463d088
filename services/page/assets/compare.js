// Two runs, or two schemes, side by side on one scale.

import { h, s, put, toast } from "./dom.js";
import { call, get } from "./api.js";
import * as format from "./format.js";
import { chart, key, topOf } from "./chart.js";
import { saveCSV, saveSVG } from "./export.js";
import { binOf, means, sumOf } from "./bins.js";
import { pairOf, results, runs } from "./stored.js";
import { QUEUE, PAUSES_SENT, wholeOf } from "./model.js";

const gbit = (v) => format.rate(v);

// metrics lists the series that can be compared, and where the collector and a finished
// run store them.
const metrics = [
  { id: "goodput", name: "Goodput per flow", show: gbit, metric: "rackfab.flow.delivered", by: "flow", per: 8e12, file: (r) => r.delivered_bytes, perBin: 8e12 },
  { id: "rate", name: "CC rate limit per flow", show: gbit, metric: "rackfab.flow.rate", by: "flow", level: true, file: (r) => r.rate_bps?.map((v) => ({ name: v.name, bins: v.bins_bps })) },
  { id: "sent", name: "TX rate per flow", show: gbit, metric: "rackfab.flow.sent", by: "flow", per: 8e12, file: (r) => r.sent_bytes, perBin: 8e12 },
  { id: "queue", name: "Queue per port", show: format.bytes, metric: "rackfab.port.queue.max", by: "port", file: (r) => r.queue_bytes?.map((v) => ({ name: v.port, bins: v.peak })) },
  { id: "pauses", name: "PAUSE frames per ms, mean over 250 us", show: format.count, metric: "rackfab.port.pauses", by: "port", per: 1e9, file: (r) => r.pause_frames?.map((v) => ({ name: v.link, bins: v.bins })), perBin: 1e9, mean: 250e6 },
  { id: "credit", name: "Credit granted", show: gbit, metric: "rackfab.credit.granted", by: "pair", per: 8e12, file: (r) => r.credit_granted_bytes, perBin: 8e12 },
  { id: "wasted", name: "Credit wasted", show: gbit, metric: "rackfab.credit.wasted", by: "pair", per: 8e12, file: (r) => r.credit_wasted_bytes, perBin: 8e12 },
  { id: "tokens", name: "Tokens", show: format.bytes, metric: "rackfab.tokens", by: "pair", level: true, file: (r) => r.tokens_bytes?.map((v) => ({ name: `${v.node} ${v.direction}`, bins: v.bins })) },
];

const lines = 6; // of a panel: the largest

// overview lists the metrics shown first.
const overview = ["goodput", "queue", "pauses"];

const state = { sources: [], cache: new Map(), sides: [] };
let box, app;

export function start(view, a) {
  box = view;
  app = a;
  state.metric = h("select", { id: "compare-metric", onchange: draw }, h("option", { value: "", text: "Goodput, queue, PAUSE" }), metrics.map((m) => h("option", { value: m.id, text: m.name })));
  state.from = h("input", { id: "compare-from", size: 7, placeholder: "start", autocomplete: "off", onchange: draw });
  state.to = h("input", { id: "compare-to", size: 7, placeholder: "end", autocomplete: "off", onchange: draw });
  state.note = h("p", { class: "hint" });
  state.sides = ["A", "B"].map((name) => {
    const select = h("select", { id: `compare-${name.toLowerCase()}`, "aria-label": `Run ${name}`, onchange: draw });
    return { name, select, panels: h("div", { class: "panels" }) };
  });
  box.append(h("div", { class: "card" },
    h("div", { class: "view-head" }, h("h2", { text: "Two runs on one scale" }), h("label", { class: "small" }, "Show ", state.metric), h("label", { class: "small" }, "from ", state.from), h("label", { class: "small" }, "to ", state.to),
      h("span", { class: "gap" }), h("button", { class: "quiet", text: "CSV", onclick: save }), h("button", { class: "quiet", text: "SVG", onclick: saveAll })),
    state.note,
    h("div", { class: "pair" }, state.sides.map((v) => h("figure", {}, h("figcaption", {}, v.select), v.panels)))));
  new ResizeObserver(() => { if (box.clientWidth) draw(); }).observe(box);
}

export function shown() { list().then(draw).catch((e) => toast(e.message, true)); }

// list collects the sources: the live rack, runs of the collector, and the schemes of
// finished runs.
async function list() {
  const all = app.history.length ? [{ id: "live", label: `${app.stored ? "shown" : "live"} rack · ${app.model?.scheme ?? ""}` }] : [];
  const known = await runs(app.session);
  const folders = await Promise.all(known.map(async (r) => {
    if (!r.folder) return [{ id: r.id, label: r.label, run: r.run.run }];
    try {
      return (await results(r.folder)).runs.map((one) => ({ id: `${r.id}:${one.scheme}`, label: `${one.scheme} · ${r.folder}`, folder: r.folder, scheme: one.scheme }));
    } catch {
      return []; // a folder that is being written
    }
  }));
  state.sources = all.concat(folders.flat());
  const guess = pair();
  state.sides.forEach((side, i) => {
    const before = side.select.value;
    side.select.replaceChildren(...state.sources.map((v) => h("option", { value: v.id, text: v.label })));
    side.select.value = state.sources.some((v) => v.id === before) ? before : (guess[i]?.id ?? "");
  });
}

// pair suggests two sources: pfc and pcn of one finished run, else any two schemes of one
// run, else the first two sources.
function pair() {
  const folders = [...new Set(state.sources.map((v) => v.folder).filter(Boolean))].map((f) => state.sources.filter((v) => v.folder === f));
  const scheme = (own, name) => own.find((v) => v.scheme === name);
  const both = folders.find((own) => scheme(own, "pfc") && scheme(own, "pcn"));
  if (both) return [scheme(both, "pfc"), scheme(both, "pcn")];
  return folders.find((own) => own.length > 1) ?? [state.sources[0], state.sources[1] ?? state.sources[0]];
}

// read returns the series of a source: [{name, points}].
async function read(source, m) {
  if (source.id === "live") return live(m);
  const id = `${source.id}|${m.id}`;
  if (!state.cache.has(id)) state.cache.set(id, source.run ? await stored(source, m) : await finished(source, m));
  while (state.cache.size > 12) state.cache.delete(state.cache.keys().next().value);
  return state.cache.get(id);
}

async function finished(source, m) {
  const key = `file|${source.folder}`;
  if (!state.cache.has(key)) state.cache.set(key, await get(`/api/runs/${encodeURIComponent(source.folder)}/series.json`));
  const run = state.cache.get(key)[source.scheme], bin = run.bin_ps;
  return (m.file(run) ?? []).map((v) => ({ name: v.name, bin, points: v.bins.map((n, i) => [(i + 1) * bin, m.perBin ? (n * m.perBin) / bin : n]) }));
}

async function stored(source, m) {
  const out = await call("QuerySeries", { select: { run: source.run, metric: m.metric }, limit: 1000000 });
  const series = out.series ?? [], bin = binOf(series) || 50e6, of = new Map();
  for (const v of series) {
    const name = m.by === "flow" ? wholeOf(v.flow ?? "") || `${v.node}` : m.by === "port" ? `${v.node}->${v.peer}` : pairOf(m.metric, v);
    of.set(name, (of.get(name) ?? []).concat(v));
  }
  return [...of].map(([name, own]) => ({ name, bin, points: sumOf(own, bin, m.level).map(([t, v]) => [t, m.per ? (v * m.per) / bin : v]) }));
}

// Sums adds up series of the same name: the flows of a burst are one line, as in the files
// of a finished run.
class Sums {
  constructor() { this.all = new Map(); }

  add(name, t, v) {
    if (!this.all.has(name)) this.all.set(name, new Map());
    const one = this.all.get(name);
    one.set(t, (one.get(t) ?? 0) + v);
  }

  lines() { return [...this.all].map(([name, sum]) => ({ name, points: [...sum].sort((a, b) => a[0] - b[0]) })); }
}

// live returns the series of the frames on the page.
function live(m) {
  const frames = app.history.frames, { model } = app, sums = new Sums();
  for (let i = 1; i < frames.length; i++) {
    const f = frames[i], was = frames[i - 1], span = f.at - was.at;
    f.nodes.forEach((n, node) => {
      if (m.by === "port") {
        for (const lane of model.nodes[node].lanes) {
          const p = n.p[model.lanes[lane].port], b = was.nodes[node].p[model.lanes[lane].port];
          sums.add(model.lanes[lane].id, f.at, m.id === "queue" ? p[QUEUE] : ((p[PAUSES_SENT] - b[PAUSES_SENT]) * 1e9) / span);
        }
      } else if (m.by === "flow") {
        for (const e of n.f ?? []) {
          const b = was.nodes[node].f?.find((v) => v[0] === e[0]);
          const grown = (at) => (b && b[1] === e[1] ? (Math.max(e[at] - b[at], 0) * 8e12) / span : 0);
          if (m.id === "rate") sums.add(wholeOf(e[0]), f.at, e[2]);
          else if (m.id === "goodput" || m.id === "sent") sums.add(wholeOf(e[0]), f.at, grown(m.id === "goodput" ? 4 : 3));
        }
      }
    });
  }
  return sums.lines();
}

const span = (input) => {
  if (!input.value.trim()) return null;
  try {
    return format.readTime(input.value);
  } catch (e) {
    toast(e.message, true);
    return null;
  }
};

const chosen = () => (state.metric.value ? [state.metric.value] : overview).map((id) => metrics.find((v) => v.id === id));

async function draw() {
  put(state.note, state.sources.length ? "" : "Nothing to compare: no live rack, no run in the collector, no finished run.");
  state.drawn = [];
  for (const m of chosen()) state.drawn.push(await both(m));
  const ends = state.drawn.flatMap((d) => d.sides.flat()).filter((l) => l.points.length);
  const first = Math.min(...ends.map((l) => l.points[0][0]), Infinity);
  const from = span(state.from) ?? (first < 1e9 ? 0 : first);
  const to = span(state.to) ?? Math.max(...ends.map((l) => l.points.at(-1)[0]), 1);
  state.sides.forEach((side, i) => {
    side.panels.replaceChildren(...state.drawn.map((d) => panel(d, i, Number.isFinite(from) ? from : 0, to, side.panels.clientWidth)));
  });
}

// both returns the largest lines of a metric in two runs, the same lines in each.
async function both(m) {
  const sides = await Promise.all(state.sides.map(async (side) => {
    const source = state.sources.find((v) => v.id === side.select.value);
    try {
      const list = source ? await read(source, m) : [];
      return m.mean ? list.map((l) => ({ ...l, points: means(l.points, l.bin ?? m.mean, m.mean) })) : list;
    } catch (e) {
      toast(e.message, true);
      return [];
    }
  }));
  const from = span(state.from) ?? 0, to = span(state.to) ?? Infinity;
  const size = new Map();
  for (const l of sides.flat()) {
    const peak = l.points.reduce((most, p) => (p[0] >= from && p[0] <= to && p[1] > most ? p[1] : most), 0);
    size.set(l.name, Math.max(size.get(l.name) ?? 0, peak));
  }
  const least = 0.01 * Math.max(0, ...size.values());
  const names = [...size].filter((e) => e[1] > least).sort((a, b) => b[1] - a[1]).slice(0, lines).map((e) => e[0]).sort();
  const drawn = sides.map((list) => names.map((name, i) => ({ name, style: i, points: (list.find((l) => l.name === name)?.points ?? []).filter((p) => p[0] >= from && p[0] <= to) })));
  return { m, sides: drawn, top: topOf(drawn.flat()) };
}

function panel(d, i, from, to, width) {
  const svg = s("svg", { class: "chart" }), drawn = d.sides[i];
  chart(svg, drawn, { width: Math.max(width, 240), height: state.metric.value ? 340 : 168, from, to, top: d.top, show: d.m.show, label: d.m.name });
  const none = drawn.length ? "" : h("span", { class: "hint", text: "none in either run" });
  return h("div", { class: "panel" }, h("h3", { text: d.m.name }), svg, h("div", { class: "keys" }, none, key(drawn).map(([mark, name]) => h("span", {}, mark, name))));
}

function saveAll() {
  state.sides.forEach((side) => side.panels.querySelectorAll("svg.chart").forEach((svg, i) => saveSVG(`rackfab-compare-${side.name}-${i + 1}`, svg)));
}

function save() {
  const rows = [["run", "series", "line", "at_ps", "value"]];
  state.sides.forEach((side, i) => {
    const label = side.select.selectedOptions[0]?.textContent ?? side.name;
    for (const d of state.drawn ?? []) for (const l of d.sides[i]) for (const [t, v] of l.points) rows.push([label, d.m.name, l.name, t, v]);
  });
  saveCSV("rackfab-compare", rows);
}
