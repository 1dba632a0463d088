// A run in a few numbers per frame, for the strip of the whole run: PAUSE frames, the
// longest queue, and when bursts were active.

import { perMs, since } from "./frames.js";
import { PAUSES_SENT, QUEUE, wholeOf } from "./model.js";

const most = 4096; // points
const mostBursts = 1024; // the latest ones

export class Outline {
  constructor() { this.clear(); }

  clear() {
    this.points = []; // {at, pauses: in all since the start; since the previous point the longest queue, and the largest rate of PAUSE per ms}
    this.recent = []; // {at, pauses} of the frames that rates refer to
    this.bursts = new Map(); // name -> {from, to}, in the order of their first frames
  }

  // add appends a frame that is later than all others, or has the instant of the last one.
  add(frame) {
    const { points } = this, now = sum(frame), last = points.at(-1), rate = this.rate(frame.at, now.pauses);
    for (const name of now.bursts) this.note(name, frame.at);
    if (last?.at === frame.at) Object.assign(last, { pauses: now.pauses, queue: Math.max(last.queue, now.queue), rate: Math.max(last.rate, rate) });
    else points.push({ at: frame.at, pauses: now.pauses, queue: now.queue, rate });
    if (points.length > most) this.points = points.flatMap((p, i) => (i % 2 ? [{ ...p, queue: Math.max(p.queue, points[i - 1].queue), rate: Math.max(p.rate, points[i - 1].rate) }] : i === points.length - 1 ? [p] : []));
  }

  // rate returns the PAUSE frames per ms in the 250 us before an instant.
  rate(at, pauses) {
    const { recent } = this;
    if (recent.at(-1)?.at === at) recent.pop();
    recent.push({ at, pauses });
    recent.splice(0, Math.max(0, since(recent, recent.length - 1)));
    return perMs(pauses, recent[0].pauses, at - recent[0].at);
  }

  note(name, at) {
    const b = this.bursts.get(name);
    if (!b) {
      this.bursts.set(name, { from: at, to: at });
      if (this.bursts.size > mostBursts) this.bursts.delete(this.bursts.keys().next().value);
    } else Object.assign(b, { from: Math.min(b.from, at), to: Math.max(b.to, at) });
  }

  // busy returns the stretch of the run with PAUSE frames, or null if there were none.
  busy() {
    const { points } = this, paused = points.flatMap((p, i) => (i && p.pauses > points[i - 1].pauses ? [i] : []));
    return paused.length ? { from: points[paused[0] - 1].at, to: points[paused.at(-1)].at } : null;
  }
}

// sum returns the figures of a frame: PAUSE frames sent, longest queue, active bursts.
function sum(frame) {
  let pauses = 0, queue = 0;
  const bursts = new Set();
  for (const n of frame.nodes) {
    for (const p of n.p) {
      pauses += p[PAUSES_SENT];
      if (p[QUEUE] > queue) queue = p[QUEUE];
    }
    for (const f of n.f ?? []) if (f[0].includes("/")) bursts.add(wholeOf(f[0]));
  }
  return { pauses, queue, bursts };
}

// outlineOf returns the outline of frames.
export function outlineOf(frames) {
  const out = new Outline();
  for (const f of frames) out.add(f);
  return out;
}
