// The comparison of schemes: a sortable table with a row per finished run and scheme.

import { h, mark, notice } from "./dom.js";
import { get } from "./api.js";
import * as address from "./address.js";
import { victimsOver } from "./analysis.js";
import { saveCSV, saveJSON } from "./export.js";
import { build } from "./model.js";
import { results, runCommand } from "./stored.js";

const ms = (ps) => (ps === undefined || ps === null || ps < 0 ? null : ps / 1e9);

const sum = (list, read) => (list ?? []).reduce((n, v) => n + (read(v) ?? 0), 0);

const steady = 1e9; // ps: how long the long flows have their throughput before they count as recovered

// long returns the single flows that had throughput to lose when the bursts began.
const long = (run) => {
  const { start_ps: start, flows } = run.burst ?? {}, bin = run.bin_ps || 1;
  return flows ? (run.flows ?? []).filter((f) => (f.start_ps === 0 || f.start_ps < start) && f.end_ps >= (Math.floor(start / bin) + 1) * bin) : [];
};

// cutDip and cutRecovery report whether the run ended before the throughput dip, or before
// the recovery was certain: the figure is then a lower bound.
const burstAt = (run) => run.burst?.start_ps ?? 0;
const cutDip = (run) => run.loss_ps > 0 && burstAt(run) + run.loss_ps > run.fabric_time_ps - (run.bin_ps ?? 0);
const cutRecovery = (run) => run.recovery_ps > 0 && burstAt(run) + run.recovery_ps + Math.max(steady, run.bin_ps ?? 0) > run.fabric_time_ps;

// textOf formats a cell. ">" marks a lower bound.
export function textOf(c, r) {
  const v = c.of(r);
  if (v === null || v === undefined) return "–";
  return c.text ? v : `${c.open?.(r) ? ">" : ""}${v.toFixed(c.digits)}`;
}

// columns: name, tooltip, decimals, value of a row, and whether it is a lower bound.
export const columns = [
  { name: "run", text: true, of: (r) => r.folder },
  { name: "scenario", text: true, of: (r) => r.scenario },
  { name: "scheme", text: true, of: (r) => r.run.scheme },
  { name: "tree ms", unit: "from the first to the last instant at which a sender outside the burst is paused, between burst and recovery", digits: 2, of: (r) => ms(r.run.tree_ps) },
  { name: "paused ms", unit: "time during which at least one sender outside the burst is paused, between burst and recovery", digits: 2, of: (r) => ms(r.run.paused_outside_ps) },
  { name: "dip ms", unit: "throughput dip: from the burst to the end of the last bin in which the long flows together have less than 95 % of the bottleneck's payload rate, or of what they had before if that was less already", digits: 2, of: (r) => (long(r.run).length ? ms(r.run.loss_ps) : null), open: (r) => cutDip(r.run) },
  { name: "recovery ms", unit: "from the burst until the long flows first have 95 % for 1 ms", digits: 2, of: (r) => (long(r.run).length ? ms(r.run.recovery_ps) : null), open: (r) => cutRecovery(r.run) },
  { name: "PAUSE", unit: "PAUSE frames on all links", digits: 0, of: (r) => sum(r.run.pauses, (p) => p.xoff) },
  { name: "victim, Gbit/s", unit: "goodput of the victim during the burst: of the flow outside the burst that, under any scheme of this run, crosses a paused link but not the congested port", digits: 2,
    of: (r) => (r.victim && r.run.burst?.flows ? (r.run.flows?.find((f) => f.name === r.victim)?.burst_goodput_bps ?? null) / 1e9 : null), note: (r) => r.victim },
  { name: "in the burst, Gbit/s", unit: "total goodput of the long flows during the burst", digits: 2, of: (r) => (r.run.flows?.length && r.run.burst?.flows ? sum(r.run.flows, (f) => f.burst_goodput_bps) / 1e9 : null) },
  { name: "overall, Gbit/s", unit: "total goodput of the long flows", digits: 2, of: (r) => (r.run.flows?.length ? sum(r.run.flows, (f) => f.goodput_bps) / 1e9 : null) },
  { name: "p50 ms", unit: "median completion time of the burst's flows", digits: 2, of: (r) => (r.run.burst?.flows ? ms(r.run.burst.fct_p50_ps) : null) },
  { name: "p99 ms", unit: "99th percentile of the completion time of the burst's flows", digits: 2, of: (r) => (r.run.burst?.flows ? ms(r.run.burst.fct_p99_ps) : null) },
  { name: "drops", digits: 0, of: (r) => r.run.drops },
  { name: "digest", text: true, code: true, of: (r) => r.run.digest },
];

const state = { rows: [], broken: [], sort: 0, down: true, scenario: "" };
let box, app;

export function start(view, a) {
  box = view;
  app = a;
  state.only = h("select", { id: "table-scenario", "aria-label": "Scenario", onchange: (e) => { state.scenario = e.target.value; address.write({ scenario: state.scenario }); draw(); } });
  state.head = h("tr");
  state.body = h("tbody");
  state.note = h("div");
  state.scroll = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Comparison of schemes" }, h("table", { id: "schemes" }, h("thead", {}, state.head), state.body));
  box.append(h("div", { class: "card" },
    h("div", { class: "view-head" }, h("h2", { text: "Comparison of schemes" }), h("label", { class: "small" }, "Scenario ", state.only), h("button", { class: "quiet", text: "Refresh", title: "Look for new runs", onclick: read }), h("span", { class: "gap" }),
      h("button", { class: "quiet", text: "CSV", onclick: () => saveCSV("rackfab-schemes", [columns.map((c) => c.name), ...visible().map((r) => columns.map((c) => c.of(r)))]) }),
      h("button", { class: "quiet", text: "JSON", onclick: () => saveJSON("rackfab-schemes", visible().map((r) => Object.fromEntries(columns.map((c) => [c.name, c.of(r)])))) })),
    state.note, state.scroll));
  state.head.append(...columns.map((c, i) => h("th", { scope: "col", class: c.text ? "text" : null }, h("button", { title: c.unit ?? null, text: c.name, onclick: () => sort(i) }))));
}

export function shown() { read(); }

async function read() {
  if (!state.rows.length) {
    state.scroll.hidden = true;
    state.note.replaceChildren(notice({ title: "Reading the finished runs" }));
  }
  try {
    const folders = await get("/api/runs");
    const all = await Promise.all(folders.map(({ name }) => rowsOf(name).catch((e) => ({ name, why: e.message }))));
    state.broken = all.filter((v) => v.why);
    state.rows = all.filter(Array.isArray).flat();
  } catch (e) {
    state.scroll.hidden = true;
    state.note.replaceChildren(notice({ title: "The finished runs cannot be read", text: e.message, actions: [h("button", { text: "Try again", onclick: read })] }));
    return;
  }
  const scenarios = [...new Set(state.rows.map((r) => r.scenario))], wanted = address.read("scenario");
  state.only.replaceChildren(h("option", { value: "", text: "all" }), ...scenarios.map((v) => h("option", { text: v })));
  if (!scenarios.includes(state.scenario)) state.scenario = scenarios.includes(wanted) ? wanted : scenarios.length > 1 ? scenarios[0] : "";
  state.only.value = state.scenario;
  draw();
}

// rowsOf returns a row per scheme of a folder.
async function rowsOf(folder) {
  const { scenario, runs } = await results(folder), victim = await victimOf(folder, runs ?? []);
  return (runs ?? []).map((run) => ({ folder, scenario, run, victim }));
}

// victimOf returns the victim of PAUSE under any of the schemes, "" for none.
async function victimOf(folder, runs) {
  if (!runs.some((r) => r.pauses?.some((p) => p.xoff > 0) && r.flows?.length)) return "";
  const topology = await get(`/api/runs/${encodeURIComponent(folder)}/topology`).catch(() => null);
  if (!topology) return ""; // the folder has no scenario
  const model = build(topology);
  for (const run of runs) {
    const paused = new Set((run.pauses ?? []).filter((p) => p.xoff > 0).map((p) => p.link)), queues = new Map();
    for (const n of run.nodes ?? []) for (const p of n.ports ?? []) queues.set(`${n.name} ${p.port}`, Math.max(0, ...(p.classes ?? []).map((c) => c.counters?.SAI_QUEUE_STAT_WATERMARK_BYTES ?? 0)));
    // XOFF on x->y pauses the lane y->x.
    const lanes = model.lanes.map((l) => ({ recentlyPaused: paused.has(model.lanes[l.back].id), queue: queues.get(`${model.nodes[l.from].name} ${l.port}`) ?? 0 }));
    const [victim] = victimsOver(model, lanes);
    if (victim) return victim;
  }
  return "";
}

const visible = () => {
  const column = columns[state.sort], way = state.down ? -1 : 1;
  const rows = state.rows.filter((r) => !state.scenario || r.scenario === state.scenario);
  return rows.sort((a, b) => {
    const x = column.of(a), y = column.of(b);
    if (x === null || y === null) return (x === null) - (y === null);
    return way * (column.text ? String(x).localeCompare(String(y)) : x - y);
  });
};

function sort(i) {
  state.down = state.sort === i ? !state.down : Boolean(columns[i].text && i === 0);
  state.sort = i;
  draw();
}

function draw() {
  const rows = visible();
  const folder = app.session.runs, { broken } = state;
  state.scroll.hidden = !rows.length;
  state.note.replaceChildren(rows.length ? "" : folder ? notice({ title: `No finished runs in ${folder}/`, text: "Type in a terminal:", commands: [runCommand(folder)], more: "and press Refresh. Another folder: rackfab page --runs DIR." }) : notice({ title: "This page has no folder of finished runs", text: "Serve one with:", commands: ["rackfab page --runs runs"] }),
    broken.length ? h("p", { class: "hint", text: `${broken.length === 1 ? "1 folder" : `${broken.length} folders`} cannot be read: ${broken.slice(0, 3).map((v) => `${v.name} (${v.why})`).join(", ")}` }) : "");
  [...state.head.children].forEach((th, i) => mark(th, "aria-sort", i === state.sort ? (state.down ? "descending" : "ascending") : null));
  const most = columns.map((c) => (c.text ? 0 : Math.max(0, ...rows.map((r) => c.of(r) ?? 0))));
  state.body.replaceChildren(...rows.map((r) => h("tr", {}, columns.map((c, i) => {
    const v = c.of(r);
    if (c.text) return h("td", { class: c.code ? "text code" : "text", text: v });
    const cell = h("td", {}, h("span", { class: "number", text: textOf(c, r), title: v === null ? null : c.note?.(r) }), c.note && v !== null && h("span", { class: "soft", text: ` ${c.note(r)}` }));
    if (v > 0 && most[i] > 0) {
      const bar = h("span", { class: "cell-bar" });
      bar.style.width = `${(100 * v) / most[i]}%`;
      cell.append(bar);
    }
    return cell;
  }))));
}
