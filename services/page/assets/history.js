// A run so far, in bounded memory: when it is full, every second frame of its older
// half goes. Frames hold counters since the start, so any two can be compared. The outline
// keeps the figures of all frames.

import { indexAt } from "./frames.js";
import { Outline, outlineOf } from "./outline.js";

const ports = 400e3; // in all frames together

export class History {
  constructor(cap = 900) {
    this.cap = cap;
    this.frames = [];
    this.outline = new Outline();
    this.edits = 0; // counts changes of earlier frames
  }

  get length() { return this.frames.length; }

  get last() { return this.frames.at(-1); }

  // full reports whether there are too many frames, fewer of them for a large rack.
  get full() { return this.frames.length >= Math.min(this.cap, Math.max(60, ports / this.width)); }

  get width() { return (this.frames[0]?.nodes ?? []).reduce((sum, n) => sum + n.p.length, 0) || 1; }

  clear() {
    this.frames.length = 0;
    this.outline.clear();
    this.edits++;
  }

  // add appends a frame, or replaces the last one if it has the same instant.
  add(frame) {
    const last = this.last;
    if (last && frame.at < last.at) return;
    this.outline.add(frame);
    if (last && frame.at === last.at) {
      this.frames[this.frames.length - 1] = frame;
      this.edits++;
      return;
    }
    if (this.full) this.thin();
    this.frames.push(frame);
  }

  // before prepends earlier frames.
  before(frames) {
    const first = this.frames[0]?.at ?? Infinity, now = this.frames;
    const earlier = frames.filter((f) => f.at < first);
    this.outline = outlineOf(earlier.concat(now));
    this.frames = earlier;
    while (this.full) this.thin();
    this.frames = this.frames.concat(now);
    this.edits++;
  }

  thin() {
    const half = this.frames.length >> 1;
    this.frames = this.frames.filter((_, i) => i >= half || i % 2 === 0);
    this.edits++;
  }

  // indexAt returns the index of the last frame at or before an instant, or 0.
  indexAt(ps) { return indexAt(this.frames, ps); }
}
