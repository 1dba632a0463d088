// The comparison of schemes: a sortable table with a row per finished run and scheme.

import { h, put, mark, toast } from "./dom.js";
import { get } from "./api.js";
import { saveCSV, saveJSON } from "./export.js";
import { results } from "./stored.js";

const ms = (ps) => (ps === undefined || ps === null || ps < 0 ? null : ps / 1e9);

const sum = (list, read) => (list ?? []).reduce((n, v) => n + (read(v) ?? 0), 0);

// cutDip and cutRecovery report whether the run ended before the throughput dip, or before
// the recovery: the figure is then a lower bound.
const burstAt = (run) => run.burst?.start_ps ?? 0;
const cutDip = (run) => run.loss_ps > 0 && burstAt(run) + run.loss_ps > run.fabric_time_ps - (run.bin_ps ?? 0);
const cutRecovery = (run) => run.recovery_ps > 0 && burstAt(run) + run.recovery_ps >= run.fabric_time_ps;

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
  { name: "dip ms", unit: "throughput dip: from the burst to the end of the last bin in which the long flows together have less than 95 % of the bottleneck's payload rate", digits: 2, of: (r) => ms(r.run.loss_ps), open: (r) => cutDip(r.run) },
  { name: "recovery ms", unit: "from the burst until the long flows first have 95 % for 1 ms", digits: 2, of: (r) => ms(r.run.recovery_ps), open: (r) => cutRecovery(r.run) },
  { name: "PAUSE", unit: "PAUSE frames on all links", digits: 0, of: (r) => sum(r.run.pauses, (p) => p.xoff) },
  { name: "in the burst, Gbit/s", unit: "total goodput of the long flows during the burst", digits: 2, of: (r) => (r.run.flows?.length && r.run.burst?.flows ? sum(r.run.flows, (f) => f.burst_goodput_bps) / 1e9 : null) },
  { name: "overall, Gbit/s", unit: "total goodput of the long flows", digits: 2, of: (r) => (r.run.flows?.length ? sum(r.run.flows, (f) => f.goodput_bps) / 1e9 : null) },
  { name: "p50 ms", unit: "median completion time of the burst's flows", digits: 2, of: (r) => (r.run.burst?.flows ? ms(r.run.burst.fct_p50_ps) : null) },
  { name: "p99 ms", unit: "99th percentile of the completion time of the burst's flows", digits: 2, of: (r) => (r.run.burst?.flows ? ms(r.run.burst.fct_p99_ps) : null) },
  { name: "drops", digits: 0, of: (r) => r.run.drops },
  { name: "digest", text: true, code: true, of: (r) => r.run.digest },
];

const state = { rows: [], sort: 0, down: true, scenario: "" };
let box;

export function start(view) {
  box = view;
  state.only = h("select", { id: "table-scenario", "aria-label": "Scenario", onchange: (e) => { state.scenario = e.target.value; draw(); } });
  state.head = h("tr");
  state.body = h("tbody");
  state.note = h("p", { class: "hint" });
  box.append(h("div", { class: "card" },
    h("div", { class: "view-head" }, h("h2", { text: "Comparison of schemes" }), h("label", { class: "small" }, "Scenario ", state.only), h("span", { class: "gap" }),
      h("button", { class: "quiet", text: "CSV", onclick: () => saveCSV("rackfab-schemes", [columns.map((c) => c.name), ...visible().map((r) => columns.map((c) => c.of(r)))]) }),
      h("button", { class: "quiet", text: "JSON", onclick: () => saveJSON("rackfab-schemes", visible().map((r) => Object.fromEntries(columns.map((c) => [c.name, c.of(r)])))) })),
    state.note,
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Comparison of schemes" }, h("table", { id: "schemes" }, h("thead", {}, state.head), state.body))));
  state.head.append(...columns.map((c, i) => h("th", { scope: "col", class: c.text ? "text" : null }, h("button", { title: c.unit ?? null, text: c.name, onclick: () => sort(i) }))));
  read().catch((e) => toast(e.message, true));
}

async function read() {
  const folders = await get("/api/runs");
  const rows = await Promise.all(folders.map(async ({ name }) => {
    try {
      const { scenario, runs } = await results(name);
      return (runs ?? []).map((run) => ({ folder: name, scenario, run }));
    } catch {
      return []; // the folder is incomplete
    }
  }));
  state.rows = rows.flat();
  const scenarios = [...new Set(state.rows.map((r) => r.scenario))];
  state.only.replaceChildren(h("option", { value: "", text: "all" }), ...scenarios.map((v) => h("option", { text: v })));
  state.scenario = scenarios.length > 1 ? scenarios[0] : "";
  state.only.value = state.scenario;
  draw();
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
  put(state.note, rows.length ? "" : "No finished run. Run one with rackfab run.");
  state.note.hidden = rows.length > 0;
  [...state.head.children].forEach((th, i) => mark(th, "aria-sort", i === state.sort ? (state.down ? "descending" : "ascending") : null));
  const most = columns.map((c) => (c.text ? 0 : Math.max(0, ...rows.map((r) => c.of(r) ?? 0))));
  state.body.replaceChildren(...rows.map((r) => h("tr", {}, columns.map((c, i) => {
    const v = c.of(r);
    if (c.text) return h("td", { class: c.code ? "text code" : "text", text: v });
    const cell = h("td", {}, h("span", { class: "number", text: textOf(c, r) }));
    if (v > 0 && most[i] > 0) {
      const bar = h("span", { class: "cell-bar" });
      bar.style.width = `${(100 * v) / most[i]}%`;
      cell.append(bar);
    }
    return cell;
  }))));
}
