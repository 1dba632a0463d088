// Traces of messages: a list, and the waterfall of one trace.

import { h, s, notice, put, toast } from "./dom.js";
import { call, get } from "./api.js";
import * as address from "./address.js";
import * as format from "./format.js";
import { pictureButtons, saveJSON } from "./export.js";
import { newFolder } from "./stored.js";
import { divide, eventWords, markOf, pathWords, rowsOf, spanWords } from "./words.js";

const state = { q: {}, traces: [], run: "" };
let box, app;

export function start(view, a) {
  box = view;
  app = a;
  const field = (label, input) => h("label", { class: "small" }, `${label} `, input);
  state.runs = h("select", { id: "trace-run", onchange: () => list() });
  state.flow = h("input", { id: "trace-flow", size: 12, placeholder: "any", autocomplete: "off" });
  state.node = h("input", { id: "trace-node", size: 6, placeholder: "any", autocomplete: "off" });
  state.order = h("select", { id: "trace-order" }, h("option", { value: "TRACE_ORDER_SLOWEST", text: "slowest first" }), h("option", { value: "TRACE_ORDER_LATEST", text: "latest first" }));
  state.window = h("button", { class: "quiet", hidden: true, onclick: () => { delete state.q.fromPs; delete state.q.toPs; list(); } });
  state.list = h("div", { class: "trace-list" });
  state.one = h("div", { class: "card trace", hidden: true });
  state.note = h("div");
  [state.flow.value, state.node.value] = [address.read("flow"), address.read("node")];
  if (address.read("order")) state.order.value = address.read("order");
  state.wanted = { run: address.read("run"), trace: address.read("trace"), span: address.read("span") };
  const go = (e) => { e.preventDefault(); list(); };
  box.append(h("div", { class: "traces" },
    h("div", { class: "card" },
      h("form", { class: "view-head", onsubmit: go }, h("h2", { text: "Messages" }), field("Run", state.runs), field("Flow", state.flow), field("Node", state.node), field("", state.order),
        h("button", { text: "Show" }), state.window, h("span", { class: "gap" }), h("button", { class: "quiet", type: "button", text: "JSON", onclick: () => saveJSON("rackfab-traces", state.traces) })),
      state.note, state.list),
    state.one));
  if (!app.session.collector) {
    const folder = newFolder(app.session.runs);
    say({ title: "This page has no collector", text: "Traces of messages are in a collector. rackfab up starts one with its page; for the messages of a finished run, store them and open the collector's page:",
      commands: [`rackfab run pcn-16to2 --telemetry --output ${folder}`, `rackfab collector --data ${folder}/telemetry`], more: "rackfab page --collector HOST:PORT connects to one that runs." });
  }
}

// say shows a notice instead of the list; null hides it.
function say(what) {
  state.note.replaceChildren(what ? notice(what) : "");
}

// open lists the traces that match {run, flow, node, fromPs, toPs}. With first it opens the
// first of them.
export function open(q) {
  state.q = { ...q };
  state.flow.value = q.flow ?? "";
  state.node.value = q.node ?? "";
  state.order.value = "TRACE_ORDER_SLOWEST";
  state.wanted = { run: q.run ?? "", first: q.first };
  list();
}

export function shown() {
  if (app.session.collector && (!state.asked || !state.traces.length)) list();
}

let again = 0; // timer of the next query while the list is empty

async function list() {
  clearTimeout(again);
  if (!app.session.collector) return;
  if (!state.asked) say({ title: "Reading the messages" });
  state.asked = true;
  const turn = state.turn = {}; // a later call replaces an earlier one
  try {
    const runs = (await call("ListRuns")).runs ?? [];
    if (turn !== state.turn) return;
    if (!runs.length) {
      state.list.replaceChildren();
      say({ title: "The collector holds no run yet", text: "It stores messages as soon as a rack with this collector runs:", commands: ["rackfab up pcn-16to2 --scheme pfc"] });
      again = setTimeout(() => { if (!box.hidden) list(); }, 2000);
      return;
    }
    const chosen = state.wanted?.run || state.runs.value || runs[0].run;
    state.runs.replaceChildren(...runs.map((r) => h("option", { value: r.run, text: `${r.run} · ${r.scheme ?? ""}` })));
    state.runs.value = runs.some((r) => r.run === chosen) ? chosen : runs[0].run;
    state.run = runs.find((r) => r.run === state.runs.value);
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
    if (turn !== state.turn) return;
    state.traces = (out.traces ?? []).filter((t) => !cut || (t.flow ?? "").startsWith(`${flow}/`));
    address.write({ run: state.runs.value, flow, node: state.node.value.trim(), order: state.order.value === "TRACE_ORDER_SLOWEST" ? null : state.order.value });
    draw(out.more);
    await openWanted();
    if (!state.traces.length) again = setTimeout(() => { if (!box.hidden) list(); }, 2000);
  } catch (e) {
    say({ title: "The messages cannot be read", text: e.message, actions: [h("button", { text: "Try again", onclick: list })] });
  }
}

// openWanted opens the trace of the address, or the first one if that is wanted.
async function openWanted() {
  const { wanted } = state;
  if (!wanted?.trace && !(wanted?.first && state.traces.length)) return;
  state.wanted = { span: wanted.span };
  const t = wanted.trace ? state.traces.find((v) => v.traceId === wanted.trace) ?? { run: state.runs.value, traceId: wanted.trace } : state.traces[0];
  show(t).catch((e) => toast(e.message, true));
}

function draw(more) {
  say(state.traces.length ? null : { title: "No matching message", text: `A message is listed when it has completed, if it is sampled${state.run?.sampled ? ` (${state.run.sampled})` : ""}. To sample all messages, start the rack with:`, commands: ["rackfab up pcn-16to2 --scheme pfc --sample-ratio 1"] });
  const most = Math.max(1, ...state.traces.map((t) => Number(t.durationPs ?? 0)));
  state.list.replaceChildren(...state.traces.map((t) => {
    const took = Number(t.durationPs ?? 0);
    const bar = h("span", { class: "cell-bar" });
    bar.style.width = `${(100 * took) / most}%`;
    return h("button", { class: "trace-row", "data-trace": t.traceId, onclick: () => { state.wanted = {}; show(t).catch((e) => toast(e.message, true)); } },
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
  address.write({ trace: t.traceId, span: state.wanted?.span ?? null });
  for (const b of state.list.querySelectorAll(".trace-row")) b.classList.toggle("chosen", b.dataset.trace === t.traceId);
  for (let drawn = -1; state.opened === opened; await new Promise((done) => setTimeout(done, reloadEvery))) {
    if (box.hidden && drawn >= 0) continue;
    const out = await call("GetTrace", { run: t.run, traceId: t.traceId }).catch((e) => { if (drawn < 0) throw e; });
    if (!out || state.opened !== opened || (out.spans ?? []).length === drawn) continue;
    const path = await get(`/api/paths/${encodeURIComponent(t.run)}/${t.traceId}`).catch((e) => ({ legs: [], reason: e.message }));
    if (state.opened !== opened) return;
    waterfall(t, out, path);
    if (drawn < 0) state.one.scrollIntoView({ block: "nearest" });
    drawn = (out.spans ?? []).length;
  }
}

const tookOf = (v) => Number(v.endPs ?? 0) - Number(v.startPs ?? 0);

// waterfall draws a trace. It keeps the span that the user has chosen.
function waterfall(t, out, path) {
  const chosen = state.one.querySelector(".span.chosen")?.dataset.span ?? state.wanted?.span;
  const spans = ordered(out.spans ?? []), root = spans[0] ?? {};
  const from = Math.min(...spans.map((v) => Number(v.startPs ?? 0))), to = Math.max(...spans.map((v) => Number(v.endPs ?? 0)), from + 1);
  const width = Math.max(box.clientWidth - 76, 300), label = Math.min(250, width * 0.38), shownSpans = spans.slice(0, most);
  const x = (ps) => label + ((ps - from) / (to - from)) * (width - label - 12), height = shownSpans.length * row + 26;
  x.end = width;
  const svg = s("svg", { class: "waterfall", id: "waterfall", viewBox: `0 0 ${width} ${height}`, width, height });
  const ticks = width - label > 420 ? 4 : width - label > 240 ? 2 : 1;
  for (let i = 0; i <= ticks; i++) {
    const at = from + ((to - from) * i) / ticks;
    svg.append(s("line", { class: "grid", x1: x(at), x2: x(at), y1: 20, y2: height }), s("text", { class: "tick", x: x(at), y: 12, "text-anchor": i === ticks ? "end" : i ? "middle" : "start", text: i ? `+${format.time(at - from)}` : format.instant(from) }));
  }
  const detail = h("div", { class: "span-detail", "aria-live": "polite" });
  shownSpans.forEach((v, i) => svg.append(line(v, i, x, label, (g) => explain(v, g, svg, detail, from))));
  const legend = legendOf(shownSpans), words = pathWords(path.legs), name = `${root.name ?? t.name ?? "message"} of ${root.flow || t.flow || "?"}`, bar = shareBar(path.legs, width);
  const title = `${name}: ${format.time(tookOf(root))}`, sentence = words ? `${words[0].toUpperCase()}${words.slice(1)}.` : `Where its time went is unknown: ${path.reason || "spans are missing"}.`;
  const facts = `${spans.length} spans, trace ${t.traceId}${out.detailsDropped ? " · details dropped by --keep-slowest" : ""}${spans.length > most ? ` · the first ${most} are shown` : ""}`;
  state.one.hidden = false;
  state.one.replaceChildren(
    h("div", { class: "row-title" }, h("h3", { text: title }), h("button", { class: "quiet", text: "JSON", onclick: () => saveJSON(`rackfab-trace-${t.traceId}`, out) }),
      pictureButtons(() => `rackfab-trace-${t.traceId}`, () => ({ title: `${state.run?.scenario ?? ""} · ${state.run?.scheme ?? ""} · ${title}`, facts: [`from ${format.instant(from)} to ${format.instant(to)} · ${facts}`, sentence], rows: [{ cells: [{ svg }], keys: legend }] }))),
    h("p", { class: "path-words", text: sentence }), bar ?? "",
    h("p", { class: "facts", text: facts }),
    h("ul", { class: "legend span-legend", "aria-label": "Legend" }, legend.map(([mark, text]) => h("li", {}, mark, text))),
    h("div", { class: "scroll tall" }, svg), detail);
  [...svg.querySelectorAll(".span")].find((g) => g.dataset.span === chosen)?.dispatchEvent(new Event("click"));
}

// shareBar draws where the time of the message went, as one bar.
function shareBar(legs, width) {
  const parts = divide(legs), all = parts.reduce((n, v) => n + v.took, 0);
  if (!all) return null;
  let at = 0;
  const svg = s("svg", { class: "share-bar", preserveAspectRatio: "xMinYMid", viewBox: `0 0 ${width} 18`, width, height: 18, role: "img", "aria-label": pathWords(legs) });
  for (const v of parts) {
    const wide = (v.took / all) * width;
    svg.append(s("rect", { class: `share-${v.id}`, x: at, y: 0, width: Math.max(wide - 1, 0.5), height: 18 }, s("title", { text: `${v.word} ${format.time(v.took)}` })));
    const text = `${v.word} ${Math.round((100 * v.took) / all)} %`;
    if (wide > text.length * 6.6 + 10) svg.append(s("text", { class: `share-name name-${v.id}`, x: at + 6, y: 9, text }));
    at += wide;
  }
  return svg;
}

// shapes draws the mark of an event around a point; kinds differ by shape and colour.
const shapes = {
  mark: (x, y) => `M${x} ${y - 7}l5 7l-5 7l-5 -7z`, pause: (x, y) => `M${x - 3.5} ${y - 6}h2.500v12h-2.500zM${x + 1} ${y - 6}h2.500v12h-2.500z`,
  loss: (x, y) => `M${x - 5} ${y - 3.5}l1.500 -1.500l3.500 3.500l3.500 -3.500l1.500 1.500l-3.500 3.500l3.500 3.500l-1.500 1.500l-3.500 -3.500l-3.500 3.500l-1.500 -1.500l3.500 -3.500z`,
  resume: (x, y) => `M${x - 3} ${y - 5}l7 5l-7 5z`, rate: (x, y) => `M${x} ${y - 5}l5 9h-10z`, other: (x, y) => `M${x - 3} ${y - 3}h6v6h-6z`,
};

const shape = (kind, x, y, ...more) => s("path", { class: `event e-${kind}`, d: shapes[kind](Number(x.toFixed(1)), y) }, more);

const barNames = { root: "message", nic: "at the sender", switch: "switch", wire: "on the wire", far: "at the target", other: "other" };
const eventNames = { mark: "frame marked", pause: "paused", resume: "resumed", loss: "dropped or sent again", rate: "rate changed", other: "other event" };

// legendOf returns the legend of the bars and marks that a waterfall has.
function legendOf(spans) {
  const mark = (...parts) => s("svg", { class: "key", width: 20, height: 14, viewBox: "0 0 20 14", "aria-hidden": "true" }, parts);
  const bars = new Set(spans.map((v) => kinds[v.name] ?? "other")), events = new Set(spans.flatMap((v) => (v.events ?? []).map((e) => markOf(e.name))));
  return [...Object.entries(barNames).filter(([kind]) => bars.has(kind)).map(([kind, name]) => [mark(s("rect", { class: `bar k-${kind}`, x: 0, y: 2, width: 20, height: 10, rx: 2 })), name]),
    ...Object.entries(eventNames).filter(([kind]) => events.has(kind)).map(([kind, name]) => [mark(shape(kind, 10, 7)), name]),
    ...(spans.some(back) ? [[mark(s("text", { class: "tick", x: 10, y: 11, "text-anchor": "middle", text: "↩" })), "on the way back"]] : [])];
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
  const g = s("g", { class: "span", "data-span": v.spanId, tabindex: 0, role: "button", "aria-label": spanWords(v) },
    s("rect", { class: "back", x: 0, y, width: "100%", height: row }),
    s("text", { class: "span-name", x: 6 + Math.min(v.depth, 6) * 12, y: y + row / 2 }, s("tspan", { class: "strong", text: v.name ?? "" }), s("tspan", { class: "soft", dx: 6, text: `${v.node ?? ""}${back(v) ? " ↩" : ""}` })),
    s("rect", { class: `bar k-${kinds[v.name] ?? "other"}`, x: a, y: y + 5, width: Math.max(b - a, 1.5), height: row - 10, rx: 2 }),
    (v.events ?? []).map((e) => shape(markOf(e.name), x(Number(e.atPs ?? 0)), y + row / 2, s("title", { text: `${eventWords(e)} at ${format.instant(Number(e.atPs ?? 0))}` }))));
  const took = format.time(tookOf(v)), wide = took.length * 6.6 + 12;
  // The label goes behind the bar, inside it, or before it, where it fits.
  const [at, anchor, inside] = b + wide < x.end ? [b + 6, "start", ""] : b - a > wide ? [b - 6, "end", " inside"] : [a - 6, "end", ""];
  g.append(s("text", { class: `span-took${inside}`, x: at, y: y + row / 2, "text-anchor": anchor, text: took }));
  g.addEventListener("click", () => choose(g));
  g.addEventListener("keydown", (e) => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); choose(g); } });
  return g;
}

const back = (v) => (v.attributes ?? []).some((a) => a.key === "rackfab.direction" && a.text === "back");

// explain says what a span did, in words, and lists its figures and events.
function explain(v, g, svg, detail, from) {
  for (const other of svg.querySelectorAll(".span.chosen")) other.classList.remove("chosen");
  g.classList.add("chosen");
  address.write({ span: v.spanId });
  const rows = [["starts", `${format.instant(Number(v.startPs ?? 0))} (+${format.time(Number(v.startPs ?? 0) - from)})`], ["lasts", `${format.time(tookOf(v))} (${tookOf(v)} ps)`], ...rowsOf(v)];
  const events = (v.events ?? []).slice(0, 20).map((e) => [format.instant(Number(e.atPs ?? 0)), eventWords(e)]), more = (v.events ?? []).length - events.length;
  const list = (all) => h("dl", { class: "detail" }, all.flatMap(([k, value]) => [h("dt", { text: k }), h("dd", { text: value ?? "" })]));
  detail.replaceChildren(h("p", { class: "span-words", text: spanWords(v) }), h("div", { class: "detail-lists" }, list(rows), events.length ? list(more > 0 ? [...events, ["…", `${more} more events`]] : events) : ""));
}
