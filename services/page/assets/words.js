// What a message and its spans did, in words and units.

import * as format from "./format.js";

// shares lists where the time of a message goes, in the order of their colours.
const shares = [
  { id: "paused", word: "paused", place: true }, { id: "waited", word: "waiting to be sent", place: true }, { id: "queued", word: "queued", place: true },
  { id: "wire", word: "on the wire" }, { id: "target", word: "at the target", place: true }, { id: "intake", word: "taken in", place: true },
];

const parts = { sender: "waited", switch: "queued", wire: "wire", target: "target", intake: "intake" };

// divide returns the shares of a critical path with time in them, largest first: {id, word,
// took, places: [[node, took]]}. legs are those of /api/paths.
export function divide(legs) {
  const all = new Map(shares.map((v) => [v.id, { ...v, took: 0, places: new Map() }]));
  const add = (id, node, took) => {
    if (took <= 0) return;
    const one = all.get(id);
    one.took += took;
    one.places.set(node, (one.places.get(node) ?? 0) + took);
  };
  for (const l of legs) {
    add("paused", l.node, l.paused);
    add(parts[l.part], l.node, l.took - l.paused);
  }
  return [...all.values()].filter((v) => v.took > 0).map((v) => ({ ...v, places: [...v.places].sort((a, b) => b[1] - a[1]) })).sort((a, b) => b.took - a.took);
}

// placed formats a share: "paused 2.1 ms at s0", or with several nodes "paused 2.7 ms
// (2.34 ms at h0, 357 us at s0)".
function placed(v) {
  const text = `${v.word} ${format.time(v.took)}`;
  if (!v.place) return text;
  if (v.places.length === 1) return `${text} at ${v.places[0][0]}`;
  const more = v.places.length > 3 ? `, ${v.places.length - 3} more` : "";
  return `${text} (${v.places.slice(0, 3).map(([node, took]) => `${format.time(took)} at ${node}`).join(", ")}${more})`;
}

// pathWords returns a sentence about a critical path, or "" without legs.
export const pathWords = (legs) => divide(legs).map(placed).join(", ");

const attributesOf = (v) => new Map((v.attributes ?? []).map((a) => [a.key.replace(/^rackfab\./, ""), a.text ?? a.number ?? a.real ?? a.flag]));

const plural = (n, word) => `${format.count(Number(n))} ${word}${Number(n) === 1 ? "" : "s"}`;

// carried names what the frames of a span carry: "1000 frames of data (1.06 MB)".
function carried(at) {
  const frames = at.has("frames") ? plural(at.get("frames"), "frame") : "frames";
  return `${frames}${at.has("carries") ? ` of ${at.get("carries")}` : ""}${at.has("bytes") ? ` (${format.bytes(Number(at.get("bytes")))})` : ""}`;
}

// pausedOf returns for how long a span was paused, in ps: as it says, or by its resume events
// as far as they lie in it.
function pausedOf(v, at) {
  if (at.has("paused_ps")) return Number(at.get("paused_ps"));
  return (v.events ?? []).filter((e) => e.name === "resume").reduce((sum, e) => {
    const about = attributesOf(e), within = Number(e.atPs ?? 0) - Number(v.startPs ?? 0);
    return sum + Number(about.get("times") ?? 1) * Math.min(Number(about.get("paused_ps") ?? 0), within);
  }, 0);
}

// spanWords returns a sentence about a span.
export function spanWords(v) {
  const at = attributesOf(v), took = format.time(Number(v.endPs ?? 0) - Number(v.startPs ?? 0)), back = at.get("direction") === "back" ? " on the way back" : "";
  const time = (key) => format.time(Number(at.get(key) ?? 0)), has = (key) => Number(at.get(key) ?? 0) > 0;
  const paused = pausedOf(v, at);
  const rest = [
    paused > 0 && `paused ${format.time(paused)}`,
    has("queue_bytes.max") && `queue up to ${format.bytes(Number(at.get("queue_bytes.max")))}`,
    has("marks") && `${plural(at.get("marks"), "frame")} marked`,
    v.error && `failed: ${v.error}`, at.get("open") && "the run ended first", at.get("cut") && "ended early: too many spans were open",
  ].filter(Boolean).map((text) => `, ${text}`).join("");
  switch (v.name) {
    case "wire":
      return `On the wire from ${v.node} to ${at.get("peer") ?? "its peer"}${back} for ${took}: serialisation ${time("serialisation_ps")}, propagation ${time("propagation_ps")}${rest}.`;
    case "switch":
      return `${v.node} forwarded ${carried(at)}${back} in ${took}${has("queued_ps") ? `; a frame stayed ${format.time(Number(at.get("queued_ps")) / Math.max(1, Number(at.get("frames") ?? 1)))} on average` : ""}${rest}.`;
    case "data": case "request":
      return `${v.node} sent ${carried(at)} in ${took}${rest}.`;
    case "receive": case "respond":
      return `${v.node} received the message in ${took} and answered${at.has("carries") ? ` with ${at.get("carries")}` : ""}${has("queued_ps") ? `, which waited ${time("queued_ps")}` : ""}${rest}.`;
    case "notify":
      return `${v.node} sent ${at.get("carries") ?? "a notification"}, which waited ${took}${rest}.`;
    case "intake":
      return `${v.node} took the last frame in for ${took}${rest}.`;
    default:
      return `${v.name} of ${has("bytes") ? format.bytes(Number(at.get("bytes"))) : "unknown size"} by ${v.node}: ${took} from ${format.instant(Number(v.startPs ?? 0))}${rest}.`;
  }
}

// labels names the attributes of spans, and how their values are formatted. Attributes
// without a label are for programs.
const labels = {
  message: ["message", String], frames: ["frames", format.count], packets: ["packets", format.count], bytes: ["size", format.bytes], marks: ["marked frames", format.count],
  paused_ps: ["paused", format.time], queued_ps: ["time in the queue, summed over frames", format.time], "queue_bytes.max": ["longest queue", format.bytes],
  serialisation_ps: ["serialisation", format.time], propagation_ps: ["propagation", format.time], carries: ["carries", String], direction: ["direction", String], peer: ["to", String],
  "port.in": ["arrives at port", String], "port.out": ["leaves at port", String], in_ps: ["its closing frame arrived at", format.instant], completed_by: ["completed by message", String],
  "events.missing": ["events left out", format.count],
};

const texts = new Set([String]);

// rowsOf returns the attributes of a span as [label, value].
export function rowsOf(v) {
  const at = attributesOf(v);
  return Object.entries(labels).filter(([key]) => at.has(key)).map(([key, [label, show]]) => [label, texts.has(show) ? String(at.get(key)) : show(Number(at.get(key)))]);
}

// eventWords returns what an event says: "marked", "paused", "resumed after 17.5 us".
export function eventWords(e) {
  const at = attributesOf(e), times = Number(at.get("times") ?? 1) > 1 ? `, ${at.get("times")} times` : "";
  if (e.name === "pause") return `paused${times}`;
  if (e.name === "resume") return `resumed${at.has("paused_ps") ? ` after ${format.time(Number(at.get("paused_ps")))}` : ""}${times}`;
  if (e.name === "mark") return `marked${times}`;
  const rest = [...at].filter(([key]) => !["times", "last_ps", "at_ps"].includes(key)).map(([key, value]) => {
    const name = key.replaceAll(/[_.]/g, " ").replace(/ (ps|bps|bytes)$/, "");
    return `${name} ${key.endsWith("_ps") ? format.time(Number(value)) : key.startsWith("rate.") ? format.rate(Number(value)) : key.endsWith("bytes") ? format.bytes(Number(value)) : value}`;
  });
  return [`${e.name}${times}`, ...rest].join(", ");
}

// markOf returns the kind of mark of an event in the drawing: its shape differs by kind.
export const markOf = (name) => ({ mark: "mark", pause: "pause", resume: "resume", drop: "loss", retransmit: "loss", timeout: "loss", rate: "rate" }[name] ?? "other");
