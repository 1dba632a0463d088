// The time controls: pause, step, and a slider over the run.

import { h, s, put, mark, byId, toast } from "./dom.js";
import * as format from "./format.js";
import { call } from "./api.js";
import { PAUSES_SENT, QUEUE } from "./model.js";
import { thin } from "./chart.js";

const paces = [["20us/s", 20e6], ["100us/s", 100e6], ["250us/s", 250e6], ["1ms/s", 1e9], ["5ms/s", 5e9], ["free", 0]];
const steps = ["5us", "10us", "50us", "100us", "500us", "1ms", "5ms"];

const icon = (d) => s("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" }, s("path", { d }));

export class Time {
  // app has history, index, live, status, stored, go(index), follow().
  constructor(box, app) {
    this.app = app;
    const button = (id, label, d, onclick) => h("button", { id, class: "icon", title: label, "aria-label": label, onclick }, icon(d));
    this.toggle = button("toggle", "Pause the rack", "", () => this.turn());
    this.step = h("select", { id: "span", "aria-label": "Length of a step" }, steps.map((v) => h("option", { text: v, selected: v === "50us" })));
    this.pace = h("select", { id: "pace", "aria-label": "Pace: fabric time per second" }, paces.map(([v, ps]) => h("option", { text: v, value: ps })));
    this.pace.addEventListener("change", () => this.report(call("SetPace", { psPerSecond: this.pace.value })));
    this.range = h("input", { id: "at", type: "range", min: 0, max: 0, value: 0, "aria-label": "Displayed instant of the run" });
    this.range.addEventListener("input", () => this.app.go(this.app.history.indexAt(Number(this.range.value))));
    this.range.addEventListener("keydown", (e) => {
      const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: 30, PageDown: -30 }[e.key];
      if (!by) return;
      e.preventDefault();
      this.app.go(Math.max(0, Math.min(this.app.index + by, this.app.history.length - 1)));
    });
    this.strip = s("svg", { class: "strip", preserveAspectRatio: "none", "aria-hidden": "true" });
    this.shown = h("output", { id: "instant", class: "instant" });
    this.back = h("button", { id: "live", class: "live", onclick: () => this.app.follow() }, h("span", { class: "dot" }), "Live");
    box.append(
      h("div", { class: "time-row" },
        button("first", "Go to the start of the run", "M3 3v10M13 3L6 8l7 5z", () => this.app.go(0)),
        button("prev", "Previous frame", "M11 3L4 8l7 5z", () => this.app.go(Math.max(0, this.app.index - 1))),
        this.toggle,
        button("next", "Next frame; at the end of a paused run, one step", "M5 3l7 5-7 5z", () => this.forward()),
        this.shown, this.back,
        h("span", { class: "gap" }),
        h("label", { class: "small" }, "Step ", this.step),
        h("label", { class: "small" }, "Pace ", this.pace)),
      h("div", { class: "strip-box" }, this.strip, this.range),
      h("div", { class: "strip-key" }, h("span", { class: "k-pause", text: "PAUSE frames" }), h("span", { class: "k-queue", text: "longest queue" }), h("span", { id: "reach" })));
    this.playing = null;
  }

  report(promise) { promise.catch((e) => toast(e.message, true)); }

  // turn pauses or resumes the live rack, or the playback of a stored run.
  turn() {
    if (this.app.stored) this.play();
    else if (this.app.status?.state === "running") this.report(call("Pause"));
    else {
      this.app.follow();
      this.report(call("Resume"));
    }
  }

  play() {
    if (this.playing) {
      clearInterval(this.playing);
      this.playing = null;
    } else {
      if (this.app.index >= this.app.history.length - 1) this.app.go(0);
      this.playing = setInterval(() => {
        if (this.app.index >= this.app.history.length - 1 || !this.app.stored) this.play();
        else this.app.go(this.app.index + 1);
      }, 33);
    }
    this.app.refresh();
  }

  forward() {
    if (this.app.index < this.app.history.length - 1) this.app.go(this.app.index + 1);
    else if (!this.app.stored) this.stepOn();
  }

  stepOn() {
    if (this.app.status?.state === "running") {
      this.report(call("Pause"));
      return;
    }
    this.app.follow();
    this.report(call("Step", { spanPs: String(format.readTime(this.step.value)) }));
  }

  // update shows the current instant.
  update() {
    const { app } = this, frames = app.history.frames, at = frames[app.index]?.at ?? 0;
    const from = frames[0]?.at ?? 0, to = app.history.last?.at ?? 0;
    put(this.shown, format.instant(at));
    mark(this.range, "min", from);
    mark(this.range, "max", Math.max(to, from + 1));
    mark(this.range, "step", 1);
    if (Number(this.range.value) !== at) this.range.value = at;
    mark(this.range, "aria-valuetext", format.instant(at));
    this.back.classList.toggle("on", app.live && !app.stored);
    mark(this.back, "aria-pressed", app.live && !app.stored);
    this.back.hidden = app.stored;
    const running = app.stored ? this.playing !== null : app.status?.state === "running";
    const label = app.stored ? (running ? "Stop playback" : "Play the run") : running ? "Pause the rack" : "Resume the rack";
    mark(this.toggle, "title", label);
    mark(this.toggle, "aria-label", label);
    mark(this.toggle.querySelector("path"), "d", running ? "M4 3h3v10H4zM9 3h3v10H9z" : "M4 2.5l9 5.5-9 5.5z");
    this.pace.disabled = this.step.disabled = app.stored || !app.status;
    if (app.status && !app.stored && document.activeElement !== this.pace) this.showPace(app.status.pace);
    put(byId("reach"), frames.length ? `${format.tick(from, to - from)} to ${format.tick(to, to - from)}` : "");
  }

  showPace(ps) {
    if (this.pace.value === String(ps)) return;
    if (![...this.pace.options].some((o) => o.value === String(ps))) this.pace.append(h("option", { text: format.pace(ps), value: ps }));
    this.pace.value = String(ps);
  }

  // draw draws an overview of the run: PAUSE frames and the longest queue.
  draw() {
    const frames = this.app.history.frames, width = Math.max(this.strip.clientWidth, 50), height = 44;
    mark(this.strip, "viewBox", `0 0 ${width} ${height}`);
    if (frames.length < 2) {
      this.strip.replaceChildren();
      return;
    }
    const from = frames[0].at, to = frames.at(-1).at, pauses = [], queues = [];
    let before = sum(frames[0]);
    frames.forEach((f, i) => {
      const now = sum(f), span = i ? f.at - frames[i - 1].at : 1;
      pauses.push([f.at, i ? Math.max(now.pauses - before.pauses, 0) / span : 0]);
      queues.push([f.at, now.queue]);
      before = now;
    });
    const x = (t) => ((t - from) / (to - from || 1)) * width;
    const shape = (points, close) => {
      const top = Math.max(...points.map((p) => p[1])) || 1;
      const d = thin(points, 500).map(([t, v]) => `${x(t).toFixed(1)} ${(height - 2 - (v / top) * (height - 6)).toFixed(1)}`).join("L");
      return close ? `M0 ${height}L${d}L${width} ${height}Z` : `M${d}`;
    };
    this.strip.replaceChildren(s("path", { class: "s-pause", d: shape(pauses, true) }), s("path", { class: "s-queue", d: shape(queues, false) }));
  }
}

function sum(frame) {
  if (frame.sum) return frame.sum;
  let pauses = 0, queue = 0;
  for (const n of frame.nodes) {
    for (const p of n.p) {
      pauses += p[PAUSES_SENT];
      if (p[QUEUE] > queue) queue = p[QUEUE];
    }
  }
  return (frame.sum = { pauses, queue });
}
