// States of a recorded run at any instant, from its series; see frame.go for frames.

import { build, partOf, PAUSES_SENT, QUEUE, SENT, MARKED, FLAGS, PAUSED_FOR } from "./model.js";

// ports lists the series of ports: metric, place in a port's values, and kind. A sum counts
// since the start, a value holds for its bin, and a flag is 1 for a value above 0.
const ports = [["rackfab.port.queue.max", QUEUE, "value"], ["rackfab.port.sent", SENT, "sum"], ["rackfab.port.pauses", PAUSES_SENT, "sum"], ["rackfab.port.marks", MARKED, "sum"], ["rackfab.port.paused", FLAGS, "flag"], ["rackfab.port.paused", PAUSED_FOR, "sum"]];

// metricsOf lists the series of a recording; the first shows its bins.
export const metricsOf = ["rackfab.port.sent", "rackfab.port.queue.max", "rackfab.port.pauses", "rackfab.port.paused", "rackfab.port.marks", "rackfab.flow.rate", "rackfab.flow.sent", "rackfab.flow.delivered"];

// Track is a series whose points can be found by their instant.
class Track {
  constructor({ timesPs = [], values = [] }) {
    this.times = timesPs.map(Number);
    this.values = values;
    this.sums = new Float64Array(values.length + 1);
    values.forEach((v, i) => (this.sums[i + 1] = this.sums[i] + v));
  }

  // before returns the number of points at or before an instant.
  before(t) {
    let low = 0, high = this.times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.times[middle] <= t) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  sum(t) { return this.sums[this.before(t)]; }

  last(t) { return this.values[this.before(t) - 1] ?? 0; }

  // peak returns the largest value after from, up to to.
  peak(from, to) {
    let most = 0;
    for (let i = this.before(from); i < this.before(to); i++) most = Math.max(most, this.values[i]);
    return most;
  }
}

export class Recording {
  // topology is in protobuf's JSON; series holds lists of {node, port, peer, flow, timesPs,
  // values} by metric, with bins of the given length. What it has no metric of is null; so are
  // queues of NICs without rackfab.port.sent, as in the files of finished runs.
  constructor(topology, series, bin) {
    this.topology = topology;
    this.model = build(topology);
    this.bin = bin;
    this.times = [...new Set(Object.values(series).flatMap((list) => list.flatMap((v) => (v.timesPs ?? []).map(Number))))].sort((a, b) => a - b);
    const { byName } = this.model;
    this.ports = ports.flatMap(([metric, at, kind]) => (series[metric] ?? []).flatMap((v) => {
      const node = byName.get(v.node), port = v.port ?? 0;
      return node === undefined || this.model.nodes[node].lanes[port] === undefined ? [] : [{ node, port, at, kind, track: new Track(v) }];
    }));
    const unknown = ports.filter(([metric]) => !(metric in series)).map((v) => v[1]).filter((at) => at < FLAGS);
    this.start = this.model.nodes.map((n) => [0, 0, 0, 0, 0, 0, 0, 0].map((v, at) => (unknown.includes(at === QUEUE && n.nic ? SENT : at) ? null : v)));
    this.flows = [...flowsOf(series, byName)].filter((e) => e[1].node !== undefined);
  }

  // frame returns the state at an instant; counters count from the first point. Queues and
  // pauses are those of the span before it.
  frame(t, span = this.bin) {
    const nodes = this.model.nodes.map((n) => ({ p: Array.from({ length: n.lanes.length }, () => [...this.start[n.index]]), f: [], d: null }));
    for (const { node, port, at, kind, track } of this.ports) {
      nodes[node].p[port][at] = kind === "sum" ? track.sum(t) : kind === "flag" ? Number(track.peak(t - span, t) > 0) : track.peak(t - span, t);
    }
    for (const [name, e] of this.flows) {
      if (t < e.first || t > e.last) continue;
      const total = (list, read) => list.reduce((n, track) => n + read(track), 0);
      nodes[e.node].f.push([name, Math.max(e.rate.length, 1), total(e.rate, (v) => v.last(t)), total(e.sent, (v) => v.sum(t)), total(e.delivered, (v) => v.sum(t))]);
    }
    return { at: t, state: "stored", nodes };
  }

  // peak returns the longest queue of a lane between two instants.
  peak(lane, from, to) {
    const l = this.model.lanes[lane];
    return this.ports.reduce((most, v) => (v.at === QUEUE && v.node === l.from && v.port === l.port ? Math.max(most, v.track.peak(from, to)) : most), 0);
  }
}

// flowsOf combines the flows of one sender in one burst: {node, rate, sent, delivered
// (lists of tracks), first and last instant with traffic}.
function flowsOf(series, byName) {
  const entries = new Map();
  for (const key of ["rate", "sent", "delivered"]) {
    for (const v of series[`rackfab.flow.${key}`] ?? []) {
      if (!v.flow) continue;
      const name = v.flow.split("/").length > 2 ? partOf(v.flow) : v.flow, track = new Track(v);
      const e = entries.get(name) ?? { node: undefined, rate: [], sent: [], delivered: [], first: Infinity, last: -Infinity };
      entries.set(name, e);
      e[key].push(track);
      if (key !== "delivered") e.node ??= byName.get(v.node);
      if (key !== "rate") track.values.forEach((n, i) => n > 0 && extend(e, track.times[i]));
    }
  }
  return entries;
}

function extend(e, t) {
  e.first = Math.min(e.first, t);
  e.last = Math.max(e.last, t);
}
