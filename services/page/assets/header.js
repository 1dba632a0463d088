// The header: what runs, and in which state.

import { byId, h, mark, put } from "./dom.js";
import { failureOf, phaseOf } from "./banner.js";
import { schemeOf } from "./share.js";

const words = { none: "no rack", waiting: "clock not started" };

const many = (n, one, more) => (n ? `${n} ${n === 1 ? one : more}` : "");

// header shows the scenario, the scheme and the state of the rack, its changes and recoveries.
export function header(app) {
  const st = app.stored ? null : app.status;
  const box = byId("run");
  if (!box.children.length) box.replaceChildren(h("span", { class: "scenario" }), h("span", { class: "scheme" }), h("span", { class: "state" }), h("span", { class: "extra" }));
  const [scenario, scheme, state, extra] = box.children;
  put(scenario, app.model?.scenario ?? "");
  put(scheme, schemeOf(app));
  const now = app.stored ? "stored" : phaseOf(st, app.lost.absent);
  put(state, words[now] ?? now);
  mark(state, "title", st?.stalled || null);
  mark(state, "data-state", now);
  put(extra, st?.failed ? failureOf(st) : [many(st?.changes, "change in the journal", "changes in the journal"), many(st?.recoveries, "recovery", "recoveries")].filter(Boolean).join(" · "));
}
