// The page: its state (live or stored rack, instant, selection) and its views.

import { h, byId, put, mark, notice, toast } from "./dom.js";
import * as api from "./api.js";
import * as format from "./format.js";
import { build, snapshot } from "./model.js";
import { heldFrames, trees, victims } from "./analysis.js";
import { explain } from "./explain.js";
import { since } from "./frames.js";
import { Find } from "./find.js";
import { Help } from "./help.js";
import { header } from "./header.js";
import { History } from "./history.js";
import { Rack } from "./rack.js";
import { Span } from "./span.js";
import { Time } from "./time.js";
import { Act } from "./act.js";
import { Panel, flows, legend, tiles } from "./panel.js";
import { pictureButtons } from "./export.js";
import { runs, load, pacing } from "./stored.js";
import { absence, Banner, blocked, faultOf, obstacleOf } from "./banner.js";
import { rackPicture, share } from "./share.js";
import { known, tabs, view } from "./views.js";
import * as address from "./address.js";

const slowly = 120; // ms between two drawings of charts

// run has the frames of the whole run, history those of the displayed part of it.
const app = {
  session: {}, model: null, run: new History(), index: 0, live: true, status: null, snap: null,
  trees: [], victims: new Map(), victim: "", selected: null, stored: false, missed: 0, extra: [],
  ready: null, // resolved when the page has the live rack, or knows that there is none
  arrived: null, // resolved when the page has the live rack
  lost: { closed: 0, absent: null, arrived: 0, failed: 0, stalled: 0 }, // wall clock, in ms since 1970

  // obstacle returns why no live rack can be controlled, or "".
  obstacle: () => obstacleOf({ controller: app.session.controller, stored: app.stored, status: app.status, absent: app.lost.absent }),

  able: () => !app.obstacle(),

  choose(what) {
    app.selected = what;
    address.write({ sel: address.nameOf(app.model, what) });
    app.extra = [];
    paced();
    panel.show(what);
    app.refresh();
  },

  // go shows the frame with the given index and leaves live mode.
  go(index) {
    app.index = Math.max(0, Math.min(index, app.history.length - 1));
    app.live = false;
    address.write({ at: address.instant(app.history.frames[app.index]?.at ?? 0) });
    app.refresh();
  },

  // follow returns to live mode.
  follow() {
    app.span.clear();
    app.live = true;
    app.index = Math.max(0, app.history.length - 1);
    address.write({ at: null });
    app.refresh();
  },

  refresh() {
    if (!waiting) waiting = requestAnimationFrame(paint);
  },

  // far returns the series of the selection that only the collector has.
  far: () => app.extra.map((c) => ({ name: c.name, show: c.rate ? format.rate : format.bytes, lines: c.lines })),

  // messages reports whether the messages of the shown run can be listed.
  messages: () => Boolean(app.session.collector && (!app.stored || app.source.run)),

  traces(q) {
    view("traces", app).then((v) => v?.open({ run: app.stored ? app.source.run?.run : "", ...q }));
  },

  // slowest opens the slowest message of a flow.
  slowest: (flow) => app.traces({ flow, first: true }),

  // pick shows an instant of a chart, and with Shift the slowest messages around it.
  pick(t, what, e) {
    if (!app.messages() || !e.shiftKey) {
      app.go(app.history.indexAt(t));
      return;
    }
    const span = 100e6, q = { fromPs: Math.max(0, Math.round(t - span)), toPs: Math.round(t + span) };
    if (what.kind === "flow") q.flow = what.name;
    else q.node = app.model.nodes[what.kind === "node" ? what.node : app.model.lanes[what.lane].from].name;
    app.traces(q);
  },
};

let waiting = 0, rack, time, act, panel, banner, drawn = 0, ready, arrived;

Object.assign(app, { history: app.run, span: new Span(app), ready: new Promise((done) => { ready = done; }), arrived: new Promise((done) => { arrived = done; }) });

// paint draws the current frame; charts are drawn less often.
function paint(now) {
  waiting = 0;
  const frames = app.history.frames;
  if (!app.model || !frames.length) return;
  if (app.live && !app.stored) app.index = frames.length - 1;
  app.index = Math.min(app.index, frames.length - 1);
  const frame = frames[app.index];
  if (frame.nodes.length !== app.model.nodes.length) return; // of another rack
  app.since = frames[since(frames, app.index)];
  app.snap = snapshot(app.model, frame, frames[app.index - 1], app.since, heldFrames(app.history, app.index, app.live || time.playing !== null));
  app.trees = trees(app.model, app.snap);
  app.victims = victims(app.model, app.snap, app.trees);
  if (!byId("view-rack").hidden) {
    rack.update(app.snap, app.trees, app.victims, app.selected);
    tiles(byId("tiles"), app);
    time.update();
    header(app);
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

// paced queries the collector for credit and tokens of the selected NICs, every two
// seconds while the rack is live.
let asking = 0;
async function paced() {
  clearTimeout(asking);
  const what = app.selected;
  if (!what || what.kind === "lane" || !app.messages()) return;
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
  Object.assign(app, { model: build(out.topology), topology: out.topology });
  rack.show(app.model);
  controls(true);
  restore();
  app.refresh();
}

// controls shows the controls of the rack and of the selection, or why there are none, if that
// has changed or the rack has.
let obstacle = null;
function controls(changed = false) {
  const why = app.obstacle();
  if (why === obstacle && !changed || !why && !app.model) return;
  obstacle = why;
  act.show(app.model, why);
  if (app.model) panel.show(app.selected);
  app.refresh();
}

// restore applies the selection and the instant of the address, once there is a rack.
let restored = false;
function restore() {
  if (restored || !app.model || !app.history.length) return;
  restored = true;
  const what = address.selectionOf(app.model, address.read("sel")), at = address.readInstant("at"), [from, to] = address.readInstants("part");
  if (what) app.choose(what);
  if (to > from) app.span.set(from, to, at ?? from);
  if (at !== null) app.go(app.history.indexAt(at));
}

let tools = []; // of the drawing and of its time

// empty shows a notice instead of the rack and its tools, or the rack again.
function empty(what) {
  const box = byId("empty");
  box.hidden = !what;
  box.replaceChildren(what ? notice(what) : "");
  byId("rack").classList.toggle("hidden", Boolean(what));
  for (const one of tools) one.hidden = Boolean(what);
}

let run = "", changes = -1, past = null; // past: the promise of the frames before the first one

// onRack handles the start of a run, or the reason why there is none.
function onRack(event) {
  if (app.lost.closed) api.open().then((v) => { app.session = v; }, (e) => toast(e.message, true)); // another process has another token
  app.lost.closed = 0;
  app.lost.absent = event.absent ? { reason: event.absent, since: event.since || Date.now(), up: event.up } : null;
  banner.update();
  if (app.stored || event.absent) ready();
  if (app.stored) {
    run = "";
    return;
  }
  if (event.absent) {
    app.status = null;
    if (!app.history.length) empty(absence(app.session, event));
    header(app);
    controls();
    return;
  }
  if (event.run === run) return;
  if (run) address.write({ at: null, part: null, sel: null }); // of the run before
  run = event.run;
  empty(null);
  app.run.clear();
  app.span.reset();
  Object.assign(app, { selected: null, victim: "" });
  app.live = true;
  changes = -1;
  past = earlier(run).catch((e) => toast(e.message, true));
}

// earlier adds the frames of a run that the process of the page has recorded.
async function earlier(of) {
  const frames = await api.get("/api/history");
  if (of !== run) return; // another run has begun
  app.run.before(frames);
  restore();
  app.refresh();
}

// onFrame handles a frame of the live rack.
function onFrame(frame) {
  if (app.stored) return;
  const { lost } = app, before = app.status?.state;
  app.status = frame;
  lost.arrived = Date.now();
  if (frame.state !== "failed") lost.failed = 0;
  else lost.failed ||= lost.arrived;
  if (!blocked(frame)) lost.stalled = 0;
  else if (!lost.stalled || before !== frame.state) lost.stalled = lost.arrived;
  banner.update();
  if (frame.changes !== changes) {
    changes = frame.changes;
    Promise.all([describe(), past]).then(arrived, (e) => toast(e.message, true)).finally(ready);
  } else controls();
  frame.seen = performance.now();
  app.run.add(frame);
  app.refresh();
}

// fault returns the fault that the banner shows.
function fault(now) {
  const { closed, absent, arrived, failed, stalled } = app.lost, status = app.status && { ...app.status, stalledSince: stalled };
  return faultOf({ closed, absent, status, arrived, failed, stored: app.stored, host: location.host, frames: app.history.length > 0 }, now);
}

// source switches between the live rack and a stored run.
async function source(value) {
  if (time.playing) time.play();
  if (value === "live") {
    address.write({ source: null, at: null, part: null, sel: null });
    address.settle();
    location.reload();
    return;
  }
  empty({ title: "Reading the run", text: value });
  try {
    const got = await load(value, app);
    Object.assign(app, { stored: true, live: false, source: got.source, model: build(got.topology), topology: got.topology, run: got.history, index: 0, status: null, selected: null, victim: "" });
    app.span.reset();
    address.write({ source: value });
    empty(null);
    rack.show(app.model);
    controls(true);
    restore();
    header(app);
    banner.update();
    app.refresh();
    if (got.note) toast(got.note);
  } catch (e) {
    empty(app.model ? null : { title: "The run cannot be shown", text: e.message });
    toast(e.message, true);
    byId("source").value = "live";
  }
}

// sources fills in the list of sources, and opens the one of the address.
async function sources() {
  const select = byId("source"), wanted = address.read("source");
  select.replaceChildren(h("option", { value: "live", text: "live rack" }));
  select.addEventListener("change", () => {
    address.write({ at: null, part: null, sel: null });
    restored = false;
    source(select.value);
  });
  for (const one of await runs(app.session)) select.append(h("option", { value: one.id, text: one.label }));
  if (!wanted || wanted === "live") return;
  select.value = wanted;
  await source(wanted);
}

async function main() {
  tabs(app);
  legend();
  rack = new Rack(byId("rack"), app.choose, (what) => explain(app, what));
  const find = new Find(() => app.model, (what) => {
    app.choose(what);
    rack.reveal(what);
  });
  byId("legend").before(find.box, rack.buttons);
  time = new Time(byId("time"), app);
  act = new Act(byId("act"));
  panel = new Panel(byId("selected"), app);
  panel.show(null);
  banner = new Banner(byId("banner"), fault);
  byId("save-rack").replaceWith(h("span", { id: "save-rack" }, pictureButtons(() => "rackfab-rack", () => rackPicture(app, rack.svg))));
  tools = [find.box, rack.buttons, byId("save-rack"), byId("time")];
  byId("share").addEventListener("click", share);
  new Help({ app, rack, time, find });
  new ResizeObserver(() => app.refresh()).observe(byId("rack"));
  empty({ title: "Connecting to the rack", text: "The first state arrives within a second." });
  app.session = await api.open();
  if (known(address.read("tab"))) view(address.read("tab"), app);
  if (address.read("source")) await sources();
  else sources().catch((e) => toast(e.message, true));
  api.listen({
    rack: onRack, frame: onFrame, missed: (n) => { app.missed += n; },
    lost: () => {
      app.lost.closed ||= Date.now();
      app.status = null;
      ready();
      header(app);
      banner.update();
    },
  });
}

// rackfab is for tests and for the console of the browser.
window.rackfab = app;
main().catch((e) => {
  toast(e.message, true);
  empty({ title: "This page cannot reach its server", text: `${e.message}. Check that rackfab up or rackfab page still runs, and reload.` });
});
