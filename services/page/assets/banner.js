// The banner: what is wrong with the rack, since when, why, and what to do.

import { h, put, toast } from "./dom.js";
import { call, reasonOf } from "./api.js";
import * as format from "./format.js";

const first = (text) => text[0].toUpperCase() + text.slice(1);

const silence = 5000; // ms without a frame of a running rack

// blocked reports whether a rack does not advance although no user has paused it: it
// recovers, or the controller waits for a process. A paused rack may not reach its instant.
export const blocked = ({ state, stalled }) => state === "recovering" || Boolean(stalled) && (state === "running" || state === "paused" && stalled.startsWith("stalled"));

// phaseOf returns the state of a rack as the header shows it, given its last status, null for
// none, and its absence.
export function phaseOf(status, absent) {
  if (!status) return absent?.up ? "waiting" : isStarting(absent?.reason) ? "starting" : "none";
  return status.state !== "recovering" && blocked(status) ? "stalled" : status.state;
}

// isStarting reports whether a rack is absent because it is starting.
const isStarting = (reason) => Boolean(reason?.startsWith("a run is starting"));

// failureOf returns the reason of a failed run. That of a run without progress names the nodes
// that wait; for others, the failed node is the cause.
export const failureOf = ({ failed, failure }) => (failure.startsWith("no progress") ? failure : `node ${failed}: ${reasonOf(failure, failed)}`);

// obstacleOf returns why the page cannot control a rack, or "".
export function obstacleOf({ controller, stored, status, absent }) {
  if (stored) return "This is a stored run. To control the rack, choose the live rack as Source.";
  if (!controller) return "This page has no controller, and so no live rack.";
  if (!status) return absent?.up ? "The controls appear when the clock has started." : "The controls appear when there is a live rack.";
  return status.state === "failed" ? "The run failed, and can no longer be changed." : "";
}

// faultOf returns the present fault {title, since (ms since 1970), why, help, mild}, or
// null. It takes the connection to the page's server (closed: since when it is lost), the
// absence of the rack, its last status and when that arrived, and the time.
export function faultOf({ closed, absent, status, arrived, failed, stored, host, frames }, now) {
  if (closed) {
    return { title: "The server of this page does not answer", since: closed, why: `nothing answers at ${host}`, help: "The page reconnects by itself. If the process has ended, start it again: rackfab up, or rackfab page." };
  }
  if (stored) return null;
  if (absent && !absent.up && frames) {
    return { title: "The rack is gone", since: absent.since, why: reasonOf(absent.reason, "the controller"), help: "The page shows its last state, and connects to the next rack by itself: rackfab up." };
  }
  if (absent || !status) return null;
  if (status.state === "failed") {
    return { title: "The run failed", since: failed, why: `${failureOf(status)}; the rack is at ${format.instant(status.at)}`, help: "Its state and journal can still be read. End it with rackfab down or Ctrl-C, and repeat it with rackfab replay." };
  }
  if (status.state === "recovering") {
    return { title: "The rack recovers", since: status.stalledSince, why: `${status.stalled}; the rack is at ${format.instant(status.at)}`, help: "The nodes execute the run again up to this instant, and the rack goes on by itself.", mild: true };
  }
  if (blocked(status) || status.state === "running" && now - arrived > silence) {
    return { title: "The rack does not move", since: status.stalled ? status.stalledSince : arrived, help: "rackfab status says more.",
      why: status.stalled || `no new state has arrived, although its clock runs; the last one is of ${format.instant(status.at)}` };
  }
  if (status.state === "ended") return { title: "The run has ended", since: 0, why: `its scenario lasts ${format.time(status.at)}`, help: "Drag below the rack to go back in time.", mild: true };
  return null;
}

// absence returns the notice in the place of a missing rack, given the session and the event
// that says why it is missing.
export function absence({ controller }, { absent, up }) {
  if (!controller) return { title: "This page has no controller", text: "Choose a stored run as Source, or open Compare or Table." };
  if (up) {
    const start = (method, message) => () => call(method, message).catch((e) => toast(e.message, true));
    return { title: "The rack is up, and its clock has not started", text: "Start the clock here, or with:", commands: ["rackfab resume", "rackfab step 300us"],
      actions: [h("button", { id: "start-clock", class: "main", text: "Start the clock", onclick: start("Resume") }), h("button", { text: "Step 300 us", onclick: start("Step", { spanPs: "300000000" }) })] };
  }
  if (isStarting(absent)) return { title: "The rack is starting", text: `${first(absent)}. This page shows it by itself.` };
  if (absent.startsWith("no live rack")) return { title: "No live rack", text: "The controller of this page has no rack so far. If a command starts one, this page shows it by itself. The command is:", commands: ["rackfab up pcn-16to2 --scheme pfc"] };
  return { title: "No live rack", text: `${first(reasonOf(absent, "the controller"))}. Start a rack in a terminal; this page connects by itself:`, commands: ["rackfab up pcn-16to2 --scheme pfc"],
    more: "Or choose a stored run as Source, or open Compare or Table." };
}

// sinceText formats the begin of a fault: "since 11:03:22, for 12 s".
function sinceText(since, now) {
  if (!since) return "";
  const s = Math.max(0, Math.round((now - since) / 1000));
  const long = s < 60 ? `${s} s` : s < 3600 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `since ${new Date(since).toTimeString().slice(0, 8)}, for ${long}`;
}

// Banner shows the fault that ask() returns, and asks again every second. Screen readers read
// each fault once: the alert does not contain its duration, nor later wordings of its reason.
export class Banner {
  constructor(box, ask) {
    this.parts = [h("strong", { class: "what" }), h("span", { class: "since" }), h("span", { class: "why" }), h("span", { class: "help" })];
    this.alert = h("p", { class: "unseen", role: "alert" });
    box.append(h("div", { class: "banner-text" }, this.parts), this.alert);
    Object.assign(this, { box, ask });
    setInterval(() => this.update(), 1000);
  }

  update() {
    const now = Date.now(), fault = this.ask(now), { box } = this;
    box.hidden = !fault;
    if (fault?.title !== this.title) put(this.alert, fault ? `${fault.title}: ${fault.why}. ${fault.help}` : "");
    this.title = fault?.title;
    if (!fault) return;
    box.classList.toggle("mild", Boolean(fault.mild));
    const [title, since, why, help] = this.parts;
    put(title, fault.title);
    put(since, sinceText(fault.since, now));
    put(why, `${first(fault.why)}.`);
    put(help, fault.help);
  }
}
