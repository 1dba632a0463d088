// A run so far, in bounded memory: when it is full, every second frame of its older
// half goes. Frames hold counters since the start, so any two can be compared.

export class History {
  constructor(cap = 900) {
    this.cap = cap;
    this.frames = [];
    this.edits = 0; // counts changes of earlier frames
  }

  get length() { return this.frames.length; }

  get last() { return this.frames.at(-1); }

  clear() {
    this.frames.length = 0;
    this.edits++;
  }

  // add appends a frame, or replaces the last one if it has the same instant.
  add(frame) {
    const last = this.last;
    if (last && frame.at < last.at) return;
    if (last && frame.at === last.at) {
      this.frames[this.frames.length - 1] = frame;
      this.edits++;
      return;
    }
    if (this.frames.length >= this.cap) this.thin();
    this.frames.push(frame);
  }

  // before prepends earlier frames.
  before(frames) {
    const first = this.frames[0]?.at ?? Infinity;
    this.frames = frames.filter((f) => f.at < first).concat(this.frames);
    this.edits++;
    while (this.frames.length > this.cap) this.thin();
  }

  thin() {
    const half = this.frames.length >> 1;
    this.frames = this.frames.filter((_, i) => i >= half || i % 2 === 0);
    this.edits++;
  }

  // indexAt returns the index of the last frame at or before an instant, or 0.
  indexAt(ps) {
    let low = 0, high = this.frames.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.frames[middle].at <= ps) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
