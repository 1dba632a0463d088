// The part of the address behind #: what the page shows, so that the address can be
// shared. Keys: tab, source, at, part (from,to), sel (Rack); runs, from, to, cursor, show, mark (Compare);
// run, flow, node, order, trace, span (Traces); scenario (Table).

import * as format from "./format.js";

const values = new Map(new URLSearchParams(location.hash.slice(1)));

// An address that the user enters or pastes restores another view.
addEventListener("hashchange", () => location.reload());

// read returns the value of a key, or "".
export const read = (key) => values.get(key) ?? "";

const encode = (text) => encodeURIComponent(text).replace(/%(3A|2C|2F)/g, decodeURIComponent);

let timer = 0;

// write sets keys; null and "" remove them. The address follows at most every 400 ms.
export function write(patch) {
  for (const [key, value] of Object.entries(patch)) {
    if (value === null || value === undefined || value === "") values.delete(key);
    else values.set(key, String(value));
  }
  timer ||= setTimeout(settle, 400);
}

// settle writes the address now.
export function settle() {
  clearTimeout(timer);
  timer = 0;
  const text = [...values].map(([key, value]) => `${key}=${encode(value)}`).join("&");
  history.replaceState(null, "", text ? `#${text}` : location.pathname);
}

// instant formats an instant for the address, without loss; readInstants parses several of
// them to picoseconds, and readInstant the first one, or null.
export const instant = (ps) => `${Math.round(ps) / 1e6}us`;

export function readInstants(key) {
  try {
    return read(key) ? read(key).split(",").map(format.readTime) : [];
  } catch {
    return [];
  }
}

export const readInstant = (key) => readInstants(key)[0] ?? null;

// nameOf returns a selection as text: node:h0, link:h0->s0, flow:F0. selectionOf parses
// it; the result is null if the model has no such element.
export function nameOf(model, what) {
  if (!what) return "";
  if (what.kind === "flow") return `flow:${what.name}`;
  return what.kind === "node" ? `node:${model.nodes[what.node].name}` : `link:${model.lanes[what.lane].id}`;
}

export function selectionOf(model, text) {
  const cut = text.indexOf(":"), kind = text.slice(0, cut), name = text.slice(cut + 1);
  if (kind === "flow") return model.flows.has(name) ? { kind, name } : null;
  const [index, what] = kind === "node" ? [model.byName.get(name), "node"] : [model.laneById.get(name), "lane"];
  return index === undefined ? null : { kind: what, [what]: index };
}
