// Traces of messages: a list, and the waterfall of one trace.

import { h, s, put, toast } from "./dom.js";
import { call } from "./api.js";
import * as format from "./format.js";
import { saveJSON, saveSVG } from "./export.js";

const state = { q: {}, traces: [], run: "" };
let box;

export function start(view, app) {
  box = view;
  const field = (label, input) => h("label", { class: "small" }, `${label} `, input);
  state.runs = h("select", { id: "trace-run", onchange: () => list() });
  state.flow = h("input", { id: "trace-flow", size: 12, placeholder: "any", autocomplete: "off" });
  state.node = h("input", { id: "trace-node", size: 6, placeholder: "any", autocomplete: "off" });
  state.order = h("select", { id: "trace-order" }, h("option", { value: "TRACE_ORDER_SLOWEST", text: "slowest first" }), h("option", { value: "TRACE_ORDER_LATEST", text: "latest first" }));
  state.window = h("button", { class: "quiet", hidden: true, onclick: () => { delete state.q.fromPs; delete state.q.toPs; list(); } });
  state.list = h("div", { class: "trace-list" });
  state.one = h("div", { class: "card trace", hidden: true });
  state.note = h("p", { class: "hint" });
  const go = (e) => { e.preventDefault(); list(); };
  box.append(h("div", { class: "traces" },
    h("div", { class: "card" },
      h("form", { class: "view-head", onsubmit: go }, h("h2", { text: "Messages" }), field("Run", state.runs), field("Flow", state.flow), field("Node", state.node), field("", state.order),
        h("button", { text: "Show" }), state.window, h("span", { class: "gap" }), h("button", { class: "quiet", type: "button", text: "JSON", onclick: () => saveJSON("rackfab-traces", state.traces) })),
      state.note, state.list),
    state.one));
  if (!app.session.collector) put(state.note, "Traces need a collector, which this page does not have. rackfab up starts one; rackfab page --collector connects to one.");
}

// open lists the traces that match {flow, node, fromPs, toPs}.
export function open(app, q) {
  state.q = { ...q };
  state.flow.value = q.flow ?? "";
  state.node.value = q.node ?? "";
  list();
}

export function shown(app) {
  if (app.session.collector && (!state.asked || !state.traces.length)) list();
}

let again = 0; // timer of the next query while the list is empty

async function list() {
  clearTimeout(again);
  state.asked = true;
  try {
    const runs = (await call("ListRuns")).runs ?? [];
    if (!runs.length) {
      put(state.note, "The collector holds no run yet.");
      state.list.replaceChildren();
      return;
    }
    const chosen = state.runs.value || runs[0].run;
    state.runs.replaceChildren(...runs.map((r) => h("option", { value: r.run, text: `${r.run} · ${r.scheme ?? ""}` })));
    state.runs.value = runs.some((r) => r.run === chosen) ? chosen : runs[0].run;
    const flow = state.flow.value.trim(), cut = flow.split("/").length === 2;
    const q = { run: state.runs.value, order: state.order.value, limit: cut ? 400 : 60 };
    // A sender's part of a burst is no flow by itself: its flows are burst/h2/0, ...
    if (flow && !cut) q.flow = flow;
    else if (cut) q.node = flow.split("/")[1];
    if (state.node.value.trim()) q.node = state.node.value.trim();
    if (state.q.fromPs !== undefined) Object.assign(q, { fromPs: String(state.q.fromPs), toPs: String(state.q.toPs) });
    state.window.hidden = state.q.fromPs === undefined;
    put(state.window, state.q.fromPs === undefined ? "" : `${format.instant(state.q.fromPs)} to ${format.instant(state.q.toPs)} ×`);
    const out = await call("ListTraces", q);
    state.traces = (out.traces ?? []).filter((t) => !cut || (t.flow ?? "").startsWith(`${flow}/`));
    draw(out.more);
    if (!state.traces.length) again = setTimeout(() => { if (!box.hidden) list(); }, 2000);
  } catch (e) {
    toast(e.message, true);
  }
}

function draw(more) {
  put(state.note, state.traces.length ? "" : "No matching trace. A sampled message is exported when it completes (rackfab up --sample-ratio 1 samples all).");
  state.note.hidden = state.traces.length > 0;
  const most = Math.max(1, ...state.traces.map((t) => Number(t.durationPs ?? 0)));
  state.list.replaceChildren(...state.traces.map((t) => {
    const took = Number(t.durationPs ?? 0);
    const bar = h("span", { class: "cell-bar" });
    bar.style.width = `${(100 * took) / most}%`;
    return h("button", { class: "trace-row", "data-trace": t.traceId, onclick: () => show(t).catch((e) => toast(e.message, true)) },
      h("span", { class: "strong", text: t.name ?? "" }), h("span", { text: t.flow ?? "" }), h("span", { text: t.node ?? "" }), h("span", { text: `at ${format.instant(Number(t.startPs ?? 0))}` }),
      h("span", { class: "took" }, bar, h("span", { text: format.time(took) })), h("span", { class: "soft", text: `${t.spans ?? 0} spans` }));
  }), more ? h("p", { class: "hint", text: "More traces match: narrow the flow or the node." }) : "");
}

const kinds = { WRITE: "root", SEND: "root", GET: "root", READ: "root", switch: "switch", wire: "wire", request: "nic", data: "nic", receive: "far", respond: "far" };
const row = 22, most = 400;

const reloadEvery = 2000; // ms

// show opens a trace. Nodes export their spans at different times, so show queries the
// trace again while it is open, and draws it again when further spans have arrived.
async function show(t) {
  const opened = state.opened = {};
  for (const b of state.list.querySelectorAll(".trace-row")) b.classList.toggle("chosen", b.dataset.trace === t.traceId);
  for (let drawn = -1; state.opened === opened; await new Promise((done) => setTimeout(done, reloadEvery))) {
    if (box.hidden && drawn >= 0) continue;
    const out = await call("GetTrace", { run: t.run, traceId: t.traceId }).catch((e) => { if (drawn < 0) throw e; });
    if (!out || state.opened !== opened || (out.spans ?? []).length === drawn) continue;
    waterfall(t, out);
    if (drawn < 0) state.one.scrollIntoView({ block: "nearest" });
    drawn = (out.spans ?? []).length;
  }
}

// waterfall draws a trace. It keeps the span that the user has chosen.
function waterfall(t, out) {
  const chosen = state.one.querySelector(".span.chosen")?.dataset.span;
  const spans = ordered(out.spans ?? []);
  const from = Math.min(...spans.map((v) => Number(v.startPs ?? 0))), to = Math.max(...spans.map((v) => Number(v.endPs ?? 0)), from + 1);
  const width = Math.max(box.clientWidth - 76, 300), label = Math.min(250, width * 0.38), shownSpans = spans.slice(0, most);
  const x = (ps) => label + ((ps - from) / (to - from)) * (width - label - 12), height = shownSpans.length * row + 26;
  x.end = width;
  const svg = s("svg", { class: "waterfall", id: "waterfall", viewBox: `0 0 ${width} ${height}`, width, height });
  for (let i = 0; i <= 4; i++) {
    const at = from + ((to - from) * i) / 4;
    svg.append(s("line", { class: "grid", x1: x(at), x2: x(at), y1: 20, y2: height }), s("text", { class: "tick", x: x(at), y: 12, "text-anchor": i === 4 ? "end" : i ? "middle" : "start", text: i ? `+${format.time(at - from)}` : format.instant(from) }));
  }
  const detail = h("dl", { class: "detail", "aria-live": "polite" });
  shownSpans.forEach((v, i) => svg.append(line(v, i, x, label, (g) => explain(v, g, svg, detail, from))));
  state.one.hidden = false;
  state.one.replaceChildren(
    h("div", { class: "row-title" }, h("h3", { text: `${t.name} of ${t.flow || "?"}: ${format.time(Number(t.durationPs ?? 0))}` }),
      h("button", { class: "quiet", text: "JSON", onclick: () => saveJSON(`rackfab-trace-${t.traceId}`, out) }), h("button", { class: "quiet", text: "SVG", onclick: () => saveSVG(`rackfab-trace-${t.traceId}`, svg) })),
    h("p", { class: "facts", text: `${spans.length} spans, trace ${t.traceId}${out.detailsDropped ? " · details dropped by --keep-slowest" : ""}${spans.length > most ? ` · the first ${most} are shown` : ""}` }),
    h("div", { class: "scroll tall" }, svg), detail);
  [...svg.querySelectorAll(".span")].find((g) => g.dataset.span === chosen)?.dispatchEvent(new Event("click"));
}

// ordered returns the spans in tree order, each with its depth.
function ordered(spans) {
  const known = new Set(spans.map((v) => v.spanId)), under = new Map();
  for (const v of spans) {
    const parent = known.has(v.parentSpanId) ? v.parentSpanId : "";
    under.set(parent, [...(under.get(parent) ?? []), v]);
  }
  const list = [];
  const walk = (parent, depth) => {
    for (const v of (under.get(parent) ?? []).sort((a, b) => Number(a.startPs ?? 0) - Number(b.startPs ?? 0))) {
      list.push({ ...v, depth });
      walk(v.spanId, depth + 1);
    }
  };
  walk("", 0);
  return list;
}

function line(v, i, x, label, choose) {
  const y = 20 + i * row, a = x(Number(v.startPs ?? 0)), b = x(Number(v.endPs ?? 0));
  const g = s("g", { class: "span", "data-span": v.spanId, tabindex: 0, role: "button", "aria-label": `${v.name} at ${v.node}, ${format.time(Number(v.endPs ?? 0) - Number(v.startPs ?? 0))}` },
    s("rect", { class: "back", x: 0, y, width: "100%", height: row }),
    s("text", { class: "span-name", x: 6 + Math.min(v.depth, 6) * 12, y: y + row / 2 }, s("tspan", { class: "strong", text: v.name ?? "" }), s("tspan", { class: "soft", dx: 6, text: `${v.node ?? ""}${back(v) ? " ↩" : ""}` })),
    s("rect", { class: `bar k-${kinds[v.name] ?? "other"}`, x: a, y: y + 5, width: Math.max(b - a, 1.5), height: row - 10, rx: 2 }),
    (v.events ?? []).map((e) => s("path", { class: `event e-${e.name}`, d: `M${x(Number(e.atPs ?? 0)).toFixed(1)} ${y + 3}l4 ${row / 2 - 3}l-4 ${row / 2 - 3}l-4 ${-(row / 2 - 3)}z` }, s("title", { text: `${e.name} at ${format.instant(Number(e.atPs ?? 0))}` }))));
  const took = format.time(Number(v.endPs ?? 0) - Number(v.startPs ?? 0)), wide = took.length * 6.6 + 12;
  // The label goes behind the bar, inside it, or before it, where it fits.
  const [at, anchor, inside] = b + wide < x.end ? [b + 6, "start", ""] : b - a > wide ? [b - 6, "end", " inside"] : [a - 6, "end", ""];
  g.append(s("text", { class: `span-took${inside}`, x: at, y: y + row / 2, "text-anchor": anchor, text: took }));
  g.addEventListener("click", () => choose(g));
  g.addEventListener("keydown", (e) => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); choose(g); } });
  return g;
}

const back = (v) => (v.attributes ?? []).some((a) => a.key === "rackfab.direction" && a.text === "back");

const valueOf = (a) => a.text ?? a.number ?? a.real ?? (a.flag === undefined ? "" : String(a.flag));

// explain lists the details of a span.
function explain(v, g, svg, detail, from) {
  for (const other of svg.querySelectorAll(".span.chosen")) other.classList.remove("chosen");
  g.classList.add("chosen");
  const rows = [["span", v.name], ["node", v.node], ["start", `${format.instant(Number(v.startPs ?? 0))} (+${format.time(Number(v.startPs ?? 0) - from)})`], ["duration", `${format.time(Number(v.endPs ?? 0) - Number(v.startPs ?? 0))} (${Number(v.endPs ?? 0) - Number(v.startPs ?? 0)} ps)`],
    ...(v.attributes ?? []).map((a) => [a.key.replace(/^rackfab\./, ""), valueOf(a)]),
    ...(v.events ?? []).slice(0, 20).map((e) => [e.name, `${format.instant(Number(e.atPs ?? 0))} ${(e.attributes ?? []).map((a) => `${a.key.replace(/^rackfab\./, "")} ${valueOf(a)}`).join(", ")}`])];
  if (v.error) rows.push(["error", v.error]);
  detail.replaceChildren(...rows.flatMap(([k, value]) => [h("dt", { text: k }), h("dd", { text: value ?? "" })]));
}
