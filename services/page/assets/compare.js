// Compare: any number of runs, or schemes of a run, side by side on one time axis and scale.

import { h, s, notice, put, toast } from "./dom.js";
import * as format from "./format.js";
import * as address from "./address.js";
import { scaled, within } from "./brush.js";
import { chart, key, topOf } from "./chart.js";
import { pictureButtons, saveCSV } from "./export.js";
import { rackMarks } from "./marks.js";
import { Rack } from "./rack.js";
import { runCommand, runs } from "./stored.js";
import { metrics } from "./sources.js";
import { explain } from "./explain.js";
import { schemeOf } from "./share.js";
import { burstWindow, contextOf, factsOf, keysOf, linesOf, named, opened, pictureOf, spread } from "./columns.js";

const overview = ["goodput", "queue", "pauses"]; // the metrics shown first
const suggested = ["pfc", "dcqcn", "pcn"]; // the schemes of a run shown first
const calm = 250; // ms without another zoom before the lines are read

const state = { sources: [], chosen: [], columns: [], rows: [], window: null, cursor: null, victim: "", racks: [] };
let box, app, drawing = 0, playing = 0, soon = 0;

export function start(view, a) {
  box = view;
  app = a;
  const time = (id, label) => h("input", { id, size: 8, placeholder: label, autocomplete: "off", onchange: () => { state.cursor = null; draw(); } });
  state.metric = h("select", { id: "compare-metric", onchange: draw }, h("option", { value: "", text: "Goodput, queue, PAUSE" }), metrics.map((m) => h("option", { value: m.id, text: m.name })));
  state.from = time("compare-from", "start");
  state.to = time("compare-to", "end");
  state.add = h("select", { id: "compare-add", "aria-label": "Add a run", onchange: () => add(state.add.value) });
  state.metric.value = address.read("show");
  [state.from.value, state.to.value] = [address.read("from"), address.read("to")];
  state.cursor = address.readInstant("cursor");
  state.selected = address.read("mark");
  state.note = h("div");
  state.body = h("div", { class: "compare" });
  const small = (label, ...inputs) => h("label", { class: "small" }, label, inputs);
  box.append(h("div", { class: "card" },
    h("div", { class: "view-head" }, h("h2", { text: "Side by side" }), state.add, small("Show ", state.metric), small("from ", state.from), small("to ", state.to),
      h("button", { id: "compare-burst", text: "Burst", title: "Show the burst", onclick: () => fit(false) }), h("button", { id: "compare-whole", text: "Whole run", onclick: () => fit(true) }),
      h("button", { class: "quiet", text: "Refresh", title: "Look for new runs", onclick: shown }),
      h("span", { class: "saves" }, h("button", { class: "quiet", text: "CSV", onclick: save }), pictureButtons(() => "rackfab-compare", picture))),
    state.note, state.body));
  app.arrived.then(() => { if (!state.columns.length) shown(); });
  let width = 0;
  new ResizeObserver(() => { if (box.clientWidth && box.clientWidth !== width) { width = box.clientWidth; draw(); } }).observe(box);
}

// shown lists the sources again and draws.
export async function shown() {
  if (!state.columns.length) state.note.replaceChildren(notice({ title: "Reading the runs" }));
  try {
    await app.ready;
    const live = app.run.length && app.model && !app.stored ? [{ id: "live", label: `live rack · ${schemeOf(app)}`, scheme: schemeOf(app), live: true }] : [];
    state.sources = live.concat(await runs(app.session));
    const wanted = (state.chosen.length ? state.chosen : address.read("runs").split(",").filter(Boolean).map((id) => id.replaceAll("%2C", ",")));
    const known = wanted.filter((id) => state.sources.some((v) => v.id === id));
    if (known.length < wanted.length) toast(`not here: ${wanted.filter((id) => !known.includes(id)).map((id) => (id === "live" ? "live rack" : id)).join(", ")}`, true);
    state.chosen = known.length ? known : suggestion().map((v) => v.id);
    await draw();
  } catch (e) {
    state.note.replaceChildren(notice({ title: "The runs cannot be read", text: e.message, actions: [h("button", { text: "Try again", onclick: shown })] }));
  }
}

// suggestion returns the sources shown first: pfc, dcqcn and pcn of the latest finished
// run, or any three schemes of it; else three different schemes of the collector; else
// the live rack.
function suggestion() {
  const first = (list) => {
    const known = suggested.flatMap((name) => list.find((v) => v.scheme === name) ?? []);
    return known.length > 1 ? known : list.slice(0, 3);
  };
  const folders = [...new Set(state.sources.map((v) => v.folder).filter(Boolean))].map((f) => state.sources.filter((v) => v.folder === f));
  const several = folders.find((own) => own.length > 1) ?? folders[0];
  if (several) return first(several);
  const stored = state.sources.filter((v, i, all) => v.run && all.findIndex((o) => o.run && o.scheme === v.scheme) === i);
  return stored.length > 1 ? first(stored) : state.sources.slice(0, 1);
}

function add(id) {
  state.add.value = "";
  if (!id || state.chosen.includes(id)) return;
  state.chosen = [...state.chosen, id];
  draw();
}

function fit(whole) {
  [state.from.value, state.to.value, state.cursor] = whole ? ["0us", "", null] : ["", "", null];
  draw();
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

// remember writes the view to the address.
function remember() {
  address.write({
    runs: state.chosen.map((id) => id.replaceAll(",", "%2C")).join(","), show: state.metric.value, from: state.from.value.trim(), to: state.to.value.trim(),
    cursor: state.cursor === null ? null : address.instant(state.cursor), mark: state.selected,
  });
}

// draw reads the columns and draws everything. A later call replaces an earlier one.
async function draw() {
  const turn = ++drawing;
  clearTimeout(soon);
  const free = state.sources.filter((v) => !state.chosen.includes(v.id));
  state.add.replaceChildren(h("option", { value: "", text: "Add a run…" }), ...free.map((v) => h("option", { value: v.id, text: v.label })));
  state.add.disabled = !free.length;
  if (!state.sources.length) {
    state.body.replaceChildren();
    state.note.replaceChildren(nothing());
    return;
  }
  if (!state.columns.length) state.note.replaceChildren(notice({ title: "Reading the series" }));
  const columns = await opened(state.chosen.map((id) => state.sources.find((v) => v.id === id)).filter(Boolean), app);
  const { window, whole } = await windowOf(columns);
  const rows = await Promise.all((state.metric.value ? [state.metric.value] : overview).map((id) => linesOf(id, columns, window.from, window.to)));
  const goodput = rows.find((r) => r.m.id === "goodput") ?? await linesOf("goodput", columns, window.from, window.to);
  await Promise.all(columns.map(async (c) => {
    if (c.error) return;
    c.rec = await c.recording(window.from, window.to);
    c.spread = spread(c.rec, window.from, window.to);
  }));
  if (turn !== drawing) return;
  Object.assign(state, { columns, rows, window, whole, goodput, victim: columns.flatMap((c) => c.spread?.victims ?? [])[0] ?? "" });
  const worst = columns.filter((c) => c.spread).sort((a, b) => b.spread.weight - a.spread.weight)[0];
  if (state.cursor === null || state.cursor < window.from || state.cursor > window.to) state.cursor = worst?.spread.busiest ?? window.from;
  state.note.replaceChildren();
  build();
  remember();
}

// windowOf returns the chosen window, by default the bursts, else all points; and the whole
// range from 0 to the last point.
async function windowOf(columns) {
  const burst = state.from.value.trim() || state.to.value.trim() ? null : burstWindow(columns);
  const all = (await linesOf("queue", columns, 0, Infinity)).columns.flat().concat((await linesOf("goodput", columns, 0, Infinity)).columns.flat()).filter((l) => l.points.length);
  const first = Math.min(...all.map((l) => l.points[0][0]), Infinity), last = Math.max(...all.map((l) => l.points.at(-1)[0]), 1);
  const from = span(state.from) ?? (first < 1e9 || !Number.isFinite(first) ? 0 : first);
  return { window: burst ?? { from, to: Math.max(span(state.to) ?? last, from + 1e6) }, whole: { from: 0, to: last } };
}

function nothing() {
  const folder = app.session.runs;
  return notice({ title: folder ? `No finished run in ${folder}/, no live rack, no run in a collector` : "Nothing to compare", text: "Run a scenario under several schemes, and press Refresh:", commands: [runCommand(folder)],
    actions: [h("button", { text: "Refresh", onclick: shown })] });
}

// build lays the columns out: heads, rack pictures, the time, the victim, the metrics.
function build() {
  const { columns, rows } = state, names = named(columns);
  state.body.style.setProperty("--columns", columns.length);
  state.slider = h("input", { id: "compare-at", type: "range", min: state.window.from, max: state.window.to, step: 1, "aria-label": "Instant of the rack pictures", oninput: () => seek(Number(state.slider.value)) });
  state.instant = h("output", { class: "instant" });
  state.play = h("button", { class: "quiet", id: "compare-play", text: playing ? "Stop" : "Play", onclick: play });
  state.racks = columns.map(() => ({ box: h("div", { class: "compare-rack" }), facts: h("p", { class: "facts" }) }));
  const row = (title, keys, cells) => [h("div", { class: "row-title across" }, h("h3", { text: title }), h("span", { class: "keys" }, keys.map(([mark, name]) => h("span", {}, mark, name)))), ...cells];
  state.charts = [];
  const wide = Math.max(state.body.clientWidth - 20, 300), least = 226, width = Math.max((wide - 18 * (columns.length - 1)) / columns.length, Math.min(least, wide));
  const plots = rows.map((r) => row(r.m.name, r.columns[0]?.length ? keysOf(r) : [[h("span", { class: "hint", text: "none in any run" }), ""]], columns.map((c, i) => {
    const svg = s("svg", { class: "chart" });
    state.charts.push({ svg, lines: r.columns[i], o: { width, height: state.metric.value ? 320 : 150, top: r.top, show: r.m.show, label: `${r.m.name}, ${names[i]}` } });
    return h("figure", {}, h("figcaption", { text: names[i] }), svg);
  })));
  state.body.replaceChildren(
    ...columns.map((c, i) => h("div", { class: "column-head" }, h("h3", { text: names[i], title: c.source.label }), h("span", { class: "soft", text: names[i].includes(" · ") ? "" : c.source.label.replace(`${c.source.scheme} · `, "") }),
      columns.length > 1 && h("button", { class: "quiet", "aria-label": `Remove ${names[i]}`, title: "Remove", text: "×", onclick: () => remove(c.source.id) }))),
    ...columns.map((c, i) => h("div", {}, c.error ? notice({ title: "This run cannot be read", text: c.error }) : state.racks[i].box, state.racks[i].facts)),
    h("div", { class: "across axis-row" }, state.play, state.instant, state.slider),
    h("ul", { class: "legend across", "aria-label": "Legend" }, rackMarks().map(([mark, name]) => h("li", {}, mark, name)), columns.some((c) => c.source.folder) && h("li", { text: "· files of finished runs have no load of links" })),
    ...victimRow(wide, names), ...plots.flat());
  columns.forEach((c, i) => c.rec && show(state.racks[i], c));
  seek(state.cursor);
}

function remove(id) {
  state.chosen = state.chosen.filter((v) => v !== id);
  draw();
}

// show draws the rack of a column. The racks have one scale of queues.
function show(one, c) {
  one.rack = new Rack(one.box, (what) => {
    const text = address.nameOf(c.rec.model, what);
    state.selected = text === state.selected ? "" : text;
    seek(state.cursor);
  }, (what) => explain(contextOf(c.rec, state.cursor), what));
  one.rack.show(c.rec.model);
}

// victimRow draws the goodput of the victim under all schemes in one chart, and the
// figures of each column.
function victimRow(wide, names) {
  const { columns, victim, window } = state, rows = columns.map((c, i) => factsOf(c, victim, state.goodput.columns[i], c.spread?.pauses, window));
  const table = h("div", { class: "scroll" }, h("table", { id: "compare-figures" }, h("thead", {}, h("tr", {}, h("th", { class: "text", text: "scheme" }), Object.keys(rows[0] ?? {}).map((name) => h("th", { text: name })))),
    h("tbody", {}, rows.map((facts, i) => h("tr", {}, h("td", { class: "text strong", text: names[i] }), Object.values(facts).map((v) => h("td", { text: v })))))));
  if (!victim) return [h("div", { class: "across victim-row" }, h("div", {}, h("h3", { text: "No victim in this window" }), h("p", { class: "hint", text: "No flow outside the bursts crosses a paused link but not the congested port." })), table)];
  const lines = columns.map((c, i) => ({ name: names[i], style: i, points: state.goodput.columns[i]?.find((l) => l.name === victim)?.points ?? [] })), svg = s("svg", { class: "chart" });
  const half = wide > 900 ? Math.floor(wide * 0.5) : wide;
  state.charts.push({ svg, lines, victim: true, o: { width: half, height: 170, top: topOf(lines), show: format.rate, label: `Goodput of ${victim}` } });
  const collected = columns.filter((c) => c.source.run && app.session.collector);
  return [h("div", { class: "across victim-row" },
    h("figure", {}, h("div", { class: "row-title" }, h("h3", { text: `Goodput of ${victim}, the victim` }), h("span", { class: "keys" }, key(lines).map(([mark, name]) => h("span", {}, mark, name)))), svg),
    h("div", {}, table, collected.map((c) => h("button", { class: "quiet", text: `Slowest message of ${victim} under ${c.source.scheme}`, onclick: () => app.traces({ flow: victim, run: c.source.run.run, first: true }) }))))];
}

// zoom changes the window by drags and the wheel in a chart, as the fields from and to do. The
// charts follow at once, their lines and everything else when the gesture is over.
const zoom = {
  set(from, to) {
    const part = within(state.whole, from, to);
    if (!part) {
      zoom.clear();
      return;
    }
    const [start, end] = [part.from, part.to].map((ps) => Math.round(ps / 1e4) * 1e4);
    [state.from.value, state.to.value] = [address.instant(start), address.instant(end)];
    state.window = { from: start, to: end };
    Object.assign(state.slider, { min: start, max: end });
    seek(Math.max(start, Math.min(state.cursor, end)));
    clearTimeout(soon);
    soon = setTimeout(draw, calm);
  },
  zoom: (by, around) => zoom.set(...scaled(state.window, by, around)),
  move: (ps) => zoom.set(state.window.from + ps, state.window.to + ps),
  clear() {
    if (state.window.from > state.whole.from || state.window.to < state.whole.to) fit(true);
  },
};

// seek shows an instant in all columns.
function seek(at) {
  state.cursor = Math.round(at);
  put(state.instant, format.instant(state.cursor));
  state.slider.value = state.cursor;
  const shown = state.columns.map((c) => c.rec && pictureOf(c.rec, state.cursor));
  const scale = Math.max(50e3, ...state.columns.map((c) => c.spread?.longest ?? 0));
  shown.forEach((p, i) => {
    if (!p) return;
    const { rack, facts } = state.racks[i], { model } = state.columns[i].rec;
    rack.queueScale = scale;
    rack.update(p.snap, p.trees, p.victims, address.selectionOf(model, state.selected ?? ""));
    const paused = p.snap.lanes.filter((l) => l.recentlyPaused).length, queue = Math.max(0, ...p.snap.lanes.map((l) => l.queue)), names = [...p.victims.keys()];
    put(facts, `${paused ? `${paused} ${paused === 1 ? "link" : "links"} paused` : "no link paused"} · longest queue ${format.bytes(queue)}${names.length ? ` · victim ${names.slice(0, 3).join(", ")}` : ""}`);
  });
  for (const c of state.charts) chart(c.svg, c.lines, { ...c.o, from: state.window.from, to: state.window.to, cursor: state.cursor, onpick: seek, span: zoom });
  remember();
}

// play moves through the window in ten seconds.
function play() {
  clearInterval(playing);
  playing = playing ? 0 : setInterval(() => {
    const { from, to } = state.window, next = state.cursor + (to - from) / 200;
    if (box.hidden || next > to) play();
    else seek(next);
  }, 50);
  if (playing && state.cursor + (state.window.to - state.window.from) / 200 > state.window.to) seek(state.window.from);
  put(state.play, playing ? "Stop" : "Play");
}

// picture returns everything drawn, with legends, scenario, schemes and times.
function picture() {
  const { columns, rows, window, victim, charts } = state, names = named(columns), cells = (list) => list.map((svg, i) => ({ title: names[i], svg }));
  if (!columns.length) throw new Error("there is nothing to save: add a run");
  const plots = charts.filter((c) => !c.victim), overlay = charts.find((c) => c.victim);
  const facts = columns.map((c, i) => `${names[i]}: ${Object.entries(factsOf(c, victim, state.goodput.columns[i], c.spread?.pauses, window)).map(([k, v]) => `${k} ${v}`).join(" · ")}`);
  return {
    title: `${[...new Set(columns.map((c) => c.scenario).filter(Boolean))].join(", ")}: ${names.join(", ")}`,
    facts: [`${format.instant(window.from)} to ${format.instant(window.to)}; racks at ${format.instant(state.cursor)}`, ...facts],
    rows: [{ cells: state.racks.flatMap((r, i) => (r.rack ? [{ title: names[i], svg: r.rack.svg }] : [])), keys: rackMarks() },
      ...(overlay ? [{ title: `Goodput of ${victim}, the victim`, cells: [{ svg: overlay.svg }], keys: key(overlay.lines) }] : []),
      ...rows.map((r, k) => ({ title: r.m.name, cells: cells(plots.slice(k * columns.length, (k + 1) * columns.length).map((c) => c.svg)), keys: keysOf(r) }))],
  };
}

function save() {
  const rows = [["run", "series", "line", "at_ps", "value"]];
  state.columns.forEach((c, i) => {
    for (const r of state.rows) for (const l of r.columns[i]) for (const [t, v] of l.points) rows.push([c.source.label, r.m.name, l.name, t, v]);
  });
  saveCSV("rackfab-compare", rows);
}
