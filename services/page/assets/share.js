// Sharing: the link to a view, and the picture of the rack.

import { toast } from "./dom.js";
import * as address from "./address.js";
import * as format from "./format.js";
import { rackMarks } from "./marks.js";

// share copies the address of the view.
export async function share() {
  address.settle();
  try {
    await navigator.clipboard.writeText(location.href);
    toast("Link copied: it opens this view.");
  } catch {
    toast(`Copy the link: ${location.href}`);
  }
}

// schemeOf returns the scheme of the shown rack, "" for none.
export const schemeOf = (app) => (app.stored ? app.source?.scheme : app.status?.scheme) || app.model?.scheme || "";

// rackPicture returns the drawing of the rack with its legend, instant and scenario.
export function rackPicture(app, svg) {
  if (!app.model || !app.snap) throw new Error("there is no rack to save yet");
  const names = [...app.victims.keys()];
  return { title: `${app.model.scenario} · ${schemeOf(app)}`, rows: [{ cells: [{ svg }], keys: rackMarks() }],
    facts: [`at ${format.instant(app.snap.at)}${app.stored ? ` of ${app.source.label}` : ""}${names.length ? ` · victims: ${names.slice(0, 8).join(", ")}` : ""}`] };
}
