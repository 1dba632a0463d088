// The time controls: pause, step, and the strip of the run with its slider.

import { h, s, put, mark, byId, toast } from "./dom.js";
import * as format from "./format.js";
import { call } from "./api.js";
import { Strip } from "./strip.js";

const paces = [["20us/s", 20e6], ["100us/s", 100e6], ["250us/s", 250e6], ["1ms/s", 1e9], ["5ms/s", 5e9], ["free", 0]];
const steps = ["5us", "10us", "50us", "100us", "500us", "1ms", "5ms"];

const icon = (d) => s("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" }, s("path", { d }));

export class Time {
  // app has history, index, live, status, stored, span, go(index), follow().
  constructor(box, app) {
    this.app = app;
    const button = (id, label, d, onclick) => h("button", { id, class: "icon", title: label, "aria-label": label, onclick }, icon(d));
    this.toggle = button("toggle", "Pause the rack", "", () => this.turn());
    this.step = h("select", { id: "span", "aria-label": "Length of a step" }, steps.map((v) => h("option", { text: v, selected: v === "50us" })));
    this.pace = h("select", { id: "pace", "aria-label": "Pace: fabric time per second" }, paces.map(([v, ps]) => h("option", { text: v, value: ps })));
    this.pace.addEventListener("change", () => this.report(call("SetPace", { psPerSecond: this.pace.value, unlimited: this.pace.value === "0" })));
    this.shown = h("output", { id: "instant", class: "instant" });
    this.back = h("button", { id: "live", class: "live", onclick: () => this.app.follow() }, h("span", { class: "dot" }), "Live");
    this.whole = h("button", { id: "whole", title: "Show the whole run (w)", onclick: () => app.span.clear(), text: "Whole run" });
    this.strip = new Strip(app);
    box.append(
      h("div", { class: "time-row" },
        button("first", "Go to the start of the run", "M3 3v10M13 3L6 8l7 5z", () => this.app.go(0)),
        button("prev", "Previous frame (,)", "M11 3L4 8l7 5z", () => this.app.go(Math.max(0, this.app.index - 1))),
        this.toggle,
        button("next", "Next frame (.); at the end of a paused run, one step", "M5 3l7 5-7 5z", () => this.forward()),
        this.shown, this.back,
        h("button", { id: "fit-burst", title: "Show the latest burst, then the ones before (f)", onclick: () => app.span.fit(), text: "Fit burst" }), this.whole,
        h("span", { class: "gap" }),
        h("label", { class: "small" }, "Step ", this.step),
        h("label", { class: "small" }, "Pace ", this.pace)),
      this.strip.box,
      h("div", { class: "strip-key" }, h("span", { class: "k-queue", text: "longest queue" }), h("span", { class: "k-pause", text: "PAUSE frames per ms, mean over 250 us" }), h("span", { id: "reach" })));
    this.playing = null;
  }

  report(promise) { promise.catch((e) => toast(e.message, true)); }

  // turn pauses or resumes the live rack, or the playback of a stored run.
  turn() {
    if (this.app.stored) this.play();
    else if (!this.app.able()) return;
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
    const { app } = this;
    if (app.index < app.history.length - 1) app.go(app.index + 1);
    else if (!app.stored && !app.span.part) this.stepOn();
  }

  stepOn() {
    if (!this.app.able()) return;
    if (this.app.status?.state === "running") {
      this.report(call("Pause"));
      return;
    }
    this.app.follow();
    this.report(call("Step", { spanPs: String(format.readTime(this.step.value)) }));
  }

  // update shows the current instant.
  update() {
    const { app } = this, at = app.history.frames[app.index]?.at ?? 0;
    put(this.shown, format.instant(at));
    this.strip.update(at);
    const able = app.able(), live = app.live && able;
    this.back.classList.toggle("on", live);
    mark(this.back, "aria-pressed", live);
    this.back.hidden = app.stored;
    this.whole.disabled = !app.span.part;
    const running = app.stored ? this.playing !== null : app.status?.state === "running";
    const label = app.stored ? (running ? "Stop playback" : "Play the run") : running ? "Pause the rack" : "Resume the rack";
    mark(this.toggle, "title", label);
    mark(this.toggle, "aria-label", label);
    mark(this.toggle.querySelector("path"), "d", running ? "M4 3h3v10H4zM9 3h3v10H9z" : "M4 2.5l9 5.5-9 5.5z");
    this.pace.disabled = this.step.disabled = !able;
    this.toggle.disabled = !able && !app.stored;
    if (able && document.activeElement !== this.pace) this.showPace(app.status.pace);
    put(byId("reach"), app.history.length ? app.span.text() : "");
  }

  showPace(ps) {
    if (this.pace.value === String(ps)) return;
    if (![...this.pace.options].some((o) => o.value === String(ps))) this.pace.append(h("option", { text: format.pace(ps), value: ps }));
    this.pace.value = String(ps);
  }

  draw() { this.strip.draw(); }
}
