// The displayed part of a run. A part has its own frames: as fine as the page's process or
// the collector keeps them, where the run as a whole has only every so many.

import { toast } from "./dom.js";
import { get } from "./api.js";
import * as address from "./address.js";
import { least, scaled, within } from "./brush.js";
import * as format from "./format.js";
import { History } from "./history.js";
import { FLAGS } from "./model.js";
import { bin, framesIn } from "./stored.js";

const before = 1e9; // ps of frames before a part, for rates and words
const calm = 250; // ms without another zoom before frames are fetched
const enough = 300; // frames of a part that the collector is not asked for more of

export class Span {
  // app has run, the whole run, and history, the displayed frames.
  constructor(app) {
    this.app = app;
    this.part = null; // {from, to} in ps
    this.asked = 0;
  }

  get from() { return this.part?.from ?? this.app.run.frames[0]?.at ?? 0; }

  get to() { return this.part?.to ?? this.app.run.last?.at ?? 0; }

  // set shows a part of the run, at the displayed instant or the nearest one in it.
  set(from, to, at = this.instant) {
    const part = within({ from: this.app.run.frames[0]?.at ?? 0, to: this.app.run.last?.at ?? 0 }, from, to);
    if (!part) {
      this.clear();
      return;
    }
    this.part = part;
    this.app.live = false;
    this.show(this.app.run, at);
    this.fetch();
  }

  get instant() { return this.app.history.frames[this.app.index]?.at ?? 0; }

  // show displays frames at an instant of the part.
  show(history, at) {
    const t = this.part ? Math.max(this.part.from, Math.min(at, this.part.to)) : at;
    this.app.history = history;
    this.app.index = history.indexAt(t);
    address.write({ part: this.part && `${address.instant(this.part.from)},${address.instant(this.part.to)}`, at: this.app.live ? null : address.instant(t) });
    this.app.refresh();
  }

  // clear shows the whole run.
  clear() {
    if (!this.part) return;
    const at = this.instant;
    this.reset();
    this.show(this.app.run, at);
  }

  // reset forgets the part, for another run.
  reset() {
    clearTimeout(this.soon);
    this.part = null;
    this.asked++;
    this.app.history = this.app.run;
  }

  // zoom changes the length of the part, around an instant.
  zoom(by, around) { this.set(...scaled(this, by, around)); }

  move(ps) {
    if (this.part) this.set(this.part.from + ps, this.part.to + ps);
  }

  // fit shows a burst with some time around it, at its longest queue: that of the selected
  // flow, or the latest one, and on each further call the one before.
  fit() {
    const { app } = this, { bursts } = app.run.outline, list = [...bursts].sort((a, b) => b[1].from - a[1].from);
    const chosen = app.selected?.kind === "flow" ? list.findIndex(([name]) => app.selected.name.startsWith(`${name}/`)) : -1;
    const shown = this.part ? list.findIndex(([name]) => name === this.part.burst) : -1;
    const [name, at] = list[chosen >= 0 ? chosen : (shown + 1) % (list.length || 1)] ?? ["", app.run.outline.busy()];
    if (!at) {
      toast("This run has had no burst and no PAUSE so far.");
      return;
    }
    const margin = Math.max((at.to - at.from) * 0.15, 20e6), worst = app.run.outline.points.filter((p) => p.at >= at.from && p.at <= at.to).reduce((a, b) => (b.queue > a.queue ? b : a), { at: at.from, queue: -1 });
    this.set(Math.max(at.from - margin, app.run.frames[0].at), Math.min(at.to + margin, app.run.last.at), worst.at);
    if (this.part) this.part.burst = name;
  }

  fetch() {
    clearTimeout(this.soon);
    const asked = ++this.asked;
    this.soon = setTimeout(() => this.load(asked).catch((e) => toast(e.message, true)), calm);
  }

  // load fetches the frames of the part.
  async load(asked) {
    const { app, part } = this, from = Math.max(0, Math.floor(part.from - before)), to = Math.ceil(part.to);
    const known = inside(app.run.frames, part);
    let frames = app.stored ? [] : await get(`/api/history?from=${from}&to=${to}`).catch(() => []);
    const wanted = Math.min(enough, (part.to - part.from) / bin());
    if ((app.stored || app.session.collector) && Math.max(inside(frames, part), known) < wanted) {
      const far = await framesIn(app, from, to).catch(() => []);
      if (inside(far, part) > inside(frames, part)) frames = complete(far, app.run);
    }
    if (asked !== this.asked || inside(frames, part) <= known) return;
    const history = new History(Infinity);
    for (const f of frames) history.add(f);
    this.show(history, this.instant);
  }

  // text describes the part.
  text() {
    const step = Math.max(this.to - this.from, least) / 1000;
    return `${format.tick(this.from, step, this.to)} to ${format.tick(this.to, step)}${this.part ? ` (${format.time(this.part.to - this.part.from)})` : ""}`;
  }
}

// complete adds what the collector has no series of, from the frames of the run around each
// instant: cut links, frozen NICs and, in between, the bytes delivered to a node.
export function complete(frames, run) {
  for (const f of frames) {
    const i = run.indexAt(f.at), known = run.frames[i], next = run.frames[i + 1] ?? known;
    const share = Math.max(0, Math.min((f.at - known.at) / (next.at - known.at || 1), 1));
    f.nodes.forEach((n, k) => {
      const was = known.nodes[k], then = next.nodes[k];
      if (was.x) n.x = was.x;
      n.d = was.d === null ? null : was.d + share * (then.d - was.d);
      n.p.forEach((p, j) => { p[FLAGS] |= (was.p[j]?.[FLAGS] ?? 0) & 2; });
    });
  }
  return frames;
}

const inside = (frames, { from, to }) => frames.reduce((n, f) => n + (f.at >= from && f.at <= to ? 1 : 0), 0);
