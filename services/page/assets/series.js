// Series of the selection over the frames of a run.

import * as format from "./format.js";
import { perMs, since } from "./frames.js";
import { ACKED, entryOf, FLOW_SENT, grown, laneAt } from "./model.js";

const calmly = " per ms, mean over 250 us";
const busiest = 4; // ports of a switch

export class Series {
  constructor(model, what) { this.groups = groupsOf(model, what); }

  // over returns the series as charts: {name, show, bins, lines}, rare ones only if a value is
  // not 0, and without what the frames do not have. Counts are means over 250 us, drawn as bins,
  // and so refer to an earlier frame than rates. It reads only frames added since the last call, unless earlier frames have changed.
  over(history) {
    const { frames } = history, all = this.groups.flatMap((g) => g.lines);
    if (this.history !== history || this.edits !== history.edits) {
      Object.assign(this, { history, edits: history.edits, next: 1 });
      for (const l of all) Object.assign(l, { points: [], peak: 0 });
    }
    for (; this.next < frames.length; this.next++) {
      const frame = frames[this.next], was = frames[this.next - 1], calm = frames[since(frames, this.next)];
      for (const l of all) {
        const v = l.read(frame, was, calm);
        l.points.push([frame.at, v]);
        l.absent = v === null;
        l.peak = Math.max(l.peak, v);
      }
    }
    const shown = this.groups.filter((g) => !g.lines.every((l) => l.absent) && (!g.rare || g.lines.some((l) => l.peak > 0)));
    return shown.map((g) => ({ ...g, lines: (g.of ? chosen(g) : g.lines).filter((l) => !l.absent) }));
  }
}

// chosen returns the lines of a group at the ports where another group peaks.
function chosen(group) {
  const order = group.of.lines.map((l, i) => [l.peak, i]).sort((a, b) => b[0] - a[0]).slice(0, busiest);
  return order.map(([, i], style) => ({ ...group.lines[i], style }));
}

function groupsOf(model, what) {
  if (what.kind === "lane") return ofLanes(model, [what.lane]);
  if (what.kind === "node") return ofNode(model, what.node);
  const flow = model.flows.get(what.name);
  return flow ? ofFlow(what.name, flow) : [];
}

function ofFlow(name, flow) {
  const entry = (f) => entryOf(f, flow.from, name);
  const grow = (at) => (f, was) => (grown(entry(f), entry(was), at) * 8e12) / (f.at - was.at);
  return [
    { name: "goodput and CC rate limit", show: format.rate, lines: [
      { name: "goodput", read: grow(ACKED), style: 2 },
      { name: flow.burst ? "CC rate limit of each flow" : "CC rate limit", read: (f) => (entry(f)?.[2] ?? 0) / (entry(f)?.[1] || 1), style: 0 }] },
    { name: "TX rate", show: format.rate, lines: [{ name: "TX", read: grow(FLOW_SENT), style: 5 }] },
  ];
}

function ofLanes(model, lanes) {
  const lines = (of) => lanes.map((lane, style) => ({ name: model.lanes[lane].id, style, read: (f, was) => of(laneAt(model, lane, f, was)) }));
  return [
    { name: "rate", show: format.rate, lines: lines((l) => l.bps) },
    { name: "queue", show: format.bytes, lines: lines((l) => l.queue) },
    pausesSent(model, lanes),
    pausesReceived(model, lanes),
    { name: `marked frames${calmly}`, show: format.perMs, bins: true, lines: counts(model, lanes, (l) => l.markRate) },
  ];
}

// PAUSE on x->y is sent by x and pauses y, as in results.json: the PAUSE frames that pause
// a lane are sent on the opposite lane.
const pauses = (model, lanes, name) => {
  const lines = counts(model, lanes.map((l) => model.lanes[l].back), (l) => l.pauseRate);
  return { name: name + calmly, show: format.perMs, bins: true, lines: lines.map((l, i) => ({ ...l, name: model.lanes[lanes[i]].id })) };
};

const counts = (model, lanes, of) => lanes.map((lane, style) => ({ name: model.lanes[lane].id, style, read: (f, was, calm) => of(laneAt(model, lane, f, calm)) }));

const pausesSent = (model, lanes) => pauses(model, lanes, "PAUSE sent");

const pausesReceived = (model, lanes) => pauses(model, lanes.map((l) => model.lanes[l].back), "PAUSE received");

function ofNode(model, node) {
  const n = model.nodes[node];
  if (!n.nic) {
    const [rate, queue, sent, received] = ofLanes(model, n.lanes);
    return [{ ...rate, of: queue }, { ...queue, of: queue }, { ...sent, of: sent }, { ...received, of: received }];
  }
  const lane = (f, was) => laneAt(model, n.lanes[0], f, was);
  return [
    { name: "TX rate and received goodput", show: format.rate, lines: [
      { name: "TX", style: 0, read: (f, was) => lane(f, was).bps },
      { name: "RX goodput", style: 2, read: (f, was) => (f.nodes[node].d === null ? null : (Math.max(f.nodes[node].d - was.nodes[node].d, 0) * 8e12) / (f.at - was.at)) }] },
    pausesReceived(model, n.lanes),
    pausesSent(model, n.lanes),
    { name: `entropy moves${calmly}`, show: format.perMs, bins: true, rare: true, lines: ["skipped", "recycled", "freezes"].map((name, i) => ({
      name, style: i, read: (f, was, calm) => perMs(moves(f, node)[i], moves(calm, node)[i], f.at - calm.at) })) },
  ];
}

// moves returns the entropies that a NIC skipped and recycled, and its freezes; see frame.go.
const moves = (f, node) => f.nodes[node].e ?? [0, 0, 0];
