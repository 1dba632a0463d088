// The page: its state (live or stored rack, instant, selection) and its views.

import { h, byId, put, mark, toast } from "./dom.js";
import * as api from "./api.js";
import * as format from "./format.js";
import { build, snapshot } from "./model.js";
import { trees, victims } from "./analysis.js";
import { History } from "./history.js";
import { Rack } from "./rack.js";
import { Time } from "./time.js";
import { Act } from "./act.js";
import { Panel, flows, legend, tiles } from "./panel.js";
import { saveSVG } from "./export.js";
import { runs, load, pacing } from "./stored.js";

const slowly = 120; // ms between two drawings of charts
const calmly = 250e6; // ps over which rates of PAUSE and of flows are averaged

const app = {
  session: {}, model: null, history: new History(), index: 0, live: true, status: null, snap: null,
  trees: [], victims: new Map(), selected: null, stored: false, missed: 0, extra: [],

  // able reports whether a live rack can be controlled.
  able: () => app.session.controller && app.status !== null && !app.stored,

  choose(what) {
    app.selected = what;
    app.extra = [];
    paced();
    panel.show(what);
    app.refresh();
  },

  // go shows the frame with the given index and leaves live mode.
  go(index) {
    app.index = Math.max(0, Math.min(index, app.history.length - 1));
    app.live = false;
    app.refresh();
  },

  // follow returns to live mode.
  follow() {
    app.live = true;
    app.index = Math.max(0, app.history.length - 1);
    app.refresh();
  },

  refresh() {
    if (!waiting) waiting = requestAnimationFrame(paint);
  },

  // far returns the series of the selection that only the collector has.
  far: () => app.extra.map((c) => ({ name: c.name, show: c.rate ? format.rate : format.bytes, lines: c.lines })),

  traces(q) {
    view("traces");
    views.traces.then((v) => v.open(app, q));
  },

  // slow shows the slowest messages around an instant of a chart.
  slow(t, what) {
    if (!app.session.collector) {
      app.go(app.history.indexAt(t));
      return;
    }
    const span = 100e6, q = { fromPs: Math.max(0, Math.round(t - span)), toPs: Math.round(t + span) };
    if (what.kind === "flow") q.flow = what.name;
    else q.node = app.model.nodes[what.kind === "node" ? what.node : app.model.lanes[what.lane].from].name;
    app.traces(q);
  },
};

let waiting = 0, rack, time, act, panel, drawn = 0;

const views = {};
const modules = { compare: "./compare.js", traces: "./traces.js", table: "./table.js" };

// view shows one of the four views. It loads the module of a view on first use.
function view(name) {
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const on = tab.id === `tab-${name}`;
    mark(tab, "aria-selected", on);
    mark(tab, "tabindex", on ? null : -1);
    byId(tab.getAttribute("aria-controls")).hidden = !on;
  }
  if (modules[name]) {
    views[name] ??= import(modules[name]).then((m) => {
      m.start(byId(`view-${name}`), app);
      return m;
    });
    views[name].then((m) => m.shown?.(app));
  } else app.refresh();
}

// paint draws the current frame; charts are drawn less often.
function paint(now) {
  waiting = 0;
  const frames = app.history.frames;
  if (!app.model || !frames.length) return;
  if (app.live && !app.stored) app.index = frames.length - 1;
  app.index = Math.min(app.index, frames.length - 1);
  const frame = frames[app.index];
  if (frame.nodes.length !== app.model.nodes.length) return; // of another rack
  app.since = frames[Math.max(0, Math.min(app.history.indexAt(frame.at - calmly), app.index - 1))];
  if (app.since === frame) app.since = undefined;
  app.snap = snapshot(app.model, frame, frames[app.index - 1], app.since);
  app.trees = trees(app.model, app.snap);
  app.victims = victims(app.model, app.snap, app.trees);
  if (!byId("view-rack").hidden) {
    rack.update(app.snap, app.trees, app.victims, app.selected);
    tiles(byId("tiles"), app);
    time.update();
    header();
    if (now - drawn > slowly || !app.live) {
      drawn = now;
      flows(byId("flows"), app);
      panel.draw();
      time.draw();
    } else later();
  }
}

// later draws the charts of the last frame if no other frame follows.
let last = 0;
function later() {
  clearTimeout(last);
  last = setTimeout(() => app.refresh(), slowly + 20);
}

const words = { paused: "paused", running: "running", ended: "ended", failed: "failed" };

function header() {
  const st = app.stored ? null : app.status;
  const box = byId("run");
  if (!box.children.length) box.replaceChildren(h("span", { class: "scenario" }), h("span", { class: "scheme" }), h("span", { class: "state" }), h("span", { class: "extra" }));
  const [scenario, scheme, state, extra] = box.children;
  put(scenario, app.model?.scenario ?? "");
  put(scheme, (app.stored ? app.source?.scheme : st?.scheme) || app.model?.scheme || "");
  put(state, app.stored ? "stored" : words[st?.state] ?? "no rack");
  mark(state, "data-state", app.stored ? "stored" : st?.state ?? "none");
  put(extra, st?.failed ? `${st.failed}: ${st.failure}` : st?.changes ? `${st.changes} ${st.changes === 1 ? "change" : "changes"} in the journal` : "");
}

// paced queries the collector for credit and tokens of the selected NICs, every two
// seconds while the rack is live.
let asking = 0;
async function paced() {
  clearTimeout(asking);
  const what = app.selected;
  if (!what || what.kind === "lane" || !app.session.collector) return;
  const flow = what.kind === "flow" ? app.model.flows.get(what.name) : null;
  const nics = (flow ? [flow.from] : [what.node]).filter((n) => app.model.nodes[n]?.nic).map((n) => app.model.nodes[n].name);
  if (!nics.length) return;
  const got = await pacing(app.stored ? app.source.run.run : "", nics);
  if (app.selected !== what) return;
  app.extra = got;
  app.refresh();
  if (!app.stored) asking = setTimeout(paced, 2000);
}

// describe fetches the topology and draws it at the current instant.
async function describe() {
  const out = await api.call("GetTopology");
  if (app.stored) return;
  app.model = build(out.topology);
  rack.show(app.model);
  act.show(app.model, app.able());
  panel.show(app.selected);
  app.refresh();
}

function empty(text) {
  const box = byId("empty");
  box.hidden = !text;
  put(box, text ?? "");
  byId("rack").classList.toggle("hidden", Boolean(text));
}

let run = 0, changes = -1;

// onRack handles the start of a run, or the reason why there is none.
async function onRack(event) {
  if (app.stored) {
    run = 0;
    return;
  }
  if (event.absent) {
    app.status = null;
    if (!app.history.length) empty(app.session.controller ? `No live rack: ${event.absent}. Start one with rackfab up.` : "This page has no controller. Choose a stored run, or open Compare or Table.");
    header();
    if (app.model) act.show(app.model, false);
    return;
  }
  if (event.run === run) return;
  run = event.run;
  empty(null);
  app.history.clear();
  app.selected = null;
  app.live = true;
  changes = -1;
  try {
    app.history.before(await api.get("/api/history"));
    app.refresh();
  } catch (e) {
    toast(e.message, true);
  }
}

// onFrame handles a frame of the live rack.
function onFrame(frame) {
  if (app.stored) return;
  const able = app.able();
  app.status = frame;
  if (frame.changes !== changes) {
    changes = frame.changes;
    describe().catch((e) => toast(e.message, true));
  } else if (!able && app.model) act.show(app.model, app.able());
  app.history.add(frame);
  app.refresh();
}

// source switches between the live rack and a stored run.
async function source(value) {
  if (time.playing) time.play();
  app.selected = null;
  panel.show(null);
  if (value === "live") {
    location.reload();
    return;
  }
  try {
    const got = await load(value, app);
    Object.assign(app, { stored: true, live: false, source: got.source, model: build(got.topology), history: got.history, index: 0, status: null });
    empty(null);
    rack.show(app.model);
    act.show(app.model, false);
    app.refresh();
    if (got.note) toast(got.note);
  } catch (e) {
    toast(e.message, true);
    byId("source").value = "live";
  }
}

async function sources() {
  const select = byId("source");
  select.replaceChildren(h("option", { value: "live", text: "live rack" }));
  for (const one of await runs(app.session)) if (one.frames) select.append(h("option", { value: one.id, text: one.label }));
  select.addEventListener("change", () => source(select.value));
}

function tabs() {
  const list = [...document.querySelectorAll("[role=tab]")];
  for (const [i, tab] of list.entries()) {
    tab.addEventListener("click", () => view(tab.id.slice(4)));
    tab.addEventListener("keydown", (e) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
      if (!by) return;
      const next = list[(i + by + list.length) % list.length];
      next.focus();
      next.click();
    });
  }
}

// keys: space pauses and resumes, as in `rackfab watch`.
function keys() {
  document.addEventListener("keydown", (e) => {
    if (e.key !== " " || e.target.closest("button, input, select, textarea, summary, [data-key]")) return;
    e.preventDefault();
    time.turn();
  });
}

async function main() {
  tabs();
  keys();
  legend();
  rack = new Rack(byId("rack"), app.choose);
  time = new Time(byId("time"), app);
  act = new Act(byId("act"));
  panel = new Panel(byId("selected"), app);
  panel.show(null);
  byId("save-rack").addEventListener("click", () => saveSVG("rackfab-rack", rack.svg));
  new ResizeObserver(() => app.refresh()).observe(byId("rack"));
  app.session = await api.open();
  sources().catch((e) => toast(e.message, true));
  api.listen({
    rack: onRack, frame: onFrame, missed: (n) => { app.missed += n; },
    lost: () => { app.status = null; header(); },
  });
}

// rackfab is for tests and for the console of the browser.
window.rackfab = app;
main().catch((e) => toast(e.message, true));
