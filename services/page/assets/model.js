// The model of a rack: nodes, lanes (one direction of a link, named by its sending end)
// and flows; and the differences between frames.

import { perMs } from "./frames.js";

// build converts a Topology in protobuf's JSON, in which 64-bit numbers are strings and
// zero values are missing.
export function build(t) {
  const nodes = (t.nodes ?? []).map((n, index) => ({
    index, name: n.name, nic: n.kind !== "NODE_KIND_SWITCH", layer: n.layer ?? 0,
    settings: n.settings ?? [], lanes: [],
  }));
  const byName = new Map(nodes.map((n) => [n.name, n.index]));
  const lanes = [];
  const between = new Map(); // number of links so far by pair of nodes: the second is A--B#2
  const links = (t.links ?? []).map((l, index) => {
    const a = byName.get(l.a), b = byName.get(l.b);
    const first = lanes.length;
    const pair = Math.min(a, b) * nodes.length + Math.max(a, b);
    between.set(pair, (between.get(pair) ?? 0) + 1);
    const nth = between.get(pair) > 1 ? `#${between.get(pair)}` : "";
    const base = { link: index, nth: between.get(pair) - 1, rate: Number(l.rateBps ?? 0), delay: Number(l.delayPs ?? 0) };
    lanes.push({ ...base, index: first, from: a, to: b, port: l.aPort ?? 0, peer: l.bPort ?? 0, back: first + 1, id: `${l.a}->${l.b}${nth}` });
    lanes.push({ ...base, index: first + 1, from: b, to: a, port: l.bPort ?? 0, peer: l.aPort ?? 0, back: first, id: `${l.b}->${l.a}${nth}` });
    nodes[a].lanes[l.aPort ?? 0] = first;
    nodes[b].lanes[l.bPort ?? 0] = first + 1;
    return { name: `${l.a}--${l.b}${nth}`, a, b, lane: first };
  });
  const model = {
    scenario: t.scenario ?? "", scheme: t.scheme ?? "", choices: t.choices ?? [],
    nodes, lanes, links, byName, laneById: new Map(lanes.map((l) => [l.id, l.index])),
  };
  model.flows = groups(t.flows ?? [], model);
  return model;
}

// partOf returns the name for all flows of one sender in one burst, "burst0/h2", given
// one of them, "burst0/h2/7"; a single flow keeps its name.
export const partOf = (flow) => (flow.includes("/") ? flow.slice(0, flow.lastIndexOf("/")) : flow);

// wholeOf returns the burst of a flow or of a part; a single flow keeps its name.
export const wholeOf = (flow) => flow.split("/")[0];

// groups combines the flows of one sender in one burst.
function groups(flows, model) {
  const map = new Map();
  for (const f of flows) {
    const name = partOf(f.name);
    let g = map.get(name);
    if (!g) {
      g = { name, burst: f.burst ?? "", from: model.byName.get(f.from), to: model.byName.get(f.to), paths: [] };
      map.set(name, g);
    }
    const path = lanesOf(f.path ?? [], model);
    if (path.length && !g.paths.some((p) => p.join() === path.join())) g.paths.push(path);
  }
  return map;
}

function lanesOf(path, model) {
  const lanes = [];
  for (let i = 1; i < path.length; i++) {
    const lane = model.laneById.get(`${path[i - 1]}->${path[i]}`);
    if (lane === undefined) return [];
    lanes.push(lane);
  }
  return lanes;
}

// Indices of a port's values; see frame.go.
export const QUEUE = 0, SENT = 1, RECEIVED = 2, PAUSES_SENT = 3, PAUSES_IN = 4, MARKED = 5, DROPPED = 6, FLAGS = 7;

// PAUSED_FOR is how long a port has been paused, in ps. Only frames of the collector have it.
export const PAUSED_FOR = 8;

const none = [0, 0, 0, 0, 0, 0, 0, 0];

export const portOf = (frame, node, port) => frame?.nodes[node]?.p[port] ?? none;

// laneAt returns the state of a lane: rate, load of 0 to 1, queue in bytes, PAUSE frames
// that pause it (in all and per ms), and whether it is paused or down. What the source of the
// frames does not have is null.
export function laneAt(model, lane, frame, was) {
  const l = model.lanes[lane];
  const now = portOf(frame, l.from, l.port), before = portOf(was, l.from, l.port);
  const head = portOf(frame, l.to, l.peer), headBefore = portOf(was, l.to, l.peer);
  const span = was ? frame.at - was.at : 0;
  const pauses = was ? Math.max(head[PAUSES_SENT] - headBefore[PAUSES_SENT], 0) : 0;
  const bps = now[SENT] === null ? null : span > 0 ? Math.max(now[SENT] - before[SENT], 0) * 8e12 / span : 0;
  return {
    bps, load: loadOf(bps, l.rate), queue: now[QUEUE], pauses, pauseRate: perMs(pauses, 0, span),
    paused: (now[FLAGS] & 1) === 1 || pauses > 0, down: (now[FLAGS] & 2) === 2,
    dropped: now[DROPPED], markRate: now[MARKED] === null ? null : perMs(now[MARKED], before[MARKED], span),
  };
}

// loadOf returns the share of a line rate, 0 to 1, or null for an unknown rate.
const loadOf = (bps, rate) => (bps === null ? null : rate ? Math.min(bps / rate, 1) : 0);

// Indices of counts of a flow's entry in a frame; see frame.go.
export const FLOW_SENT = 3, ACKED = 4;

// entryOf returns a sender's entry of a flow, or of its flows in a burst, in a frame, and looks
// first at its index in another frame.
export function entryOf(frame, node, name, index = 0) {
  const all = frame.nodes[node]?.f;
  return all?.[index]?.[0] === name ? all[index] : all?.find((e) => e[0] === name);
}

// grown returns the growth of a count between two entries of a flow. A flow that the earlier
// frame lacks began in between, at 0. An entry of several flows loses the counts of those
// that end: they are assumed to have had as much as the others.
export function grown(now, before, i) {
  if (!now || !before) return now?.[i] ?? 0;
  return Math.max(now[i] - before[i] * Math.min(1, now[1] / before[1]), 0);
}

// rateOver returns the mean rate of a flow, whose entries in frames are given, in bit/s, from the
// last frame without it.
function rateOver(frames, entries, i) {
  const first = Math.max(0, entries.lastIndexOf(undefined));
  let sum = 0;
  for (let k = first + 1; k < frames.length; k++) sum += grown(entries[k], entries[k - 1], i);
  const span = frames.at(-1).at - frames[first].at;
  return span > 0 ? (sum * 8e12) / span : 0;
}

// flowsAt returns the flows of a node in the last of some frames, with their mean rates over these.
// A single flow needs the first and the last frame alone: none of its counts can be lost.
function flowsAt(frames, node) {
  const first = frames[0], last = frames.at(-1);
  return last.nodes[node].f.map(([name, count, rate], i) => {
    const single = count === 1 && entryOf(first, node, name, i)?.[1] === 1, list = single ? [first, last] : frames;
    const entries = list.map((f) => entryOf(f, node, name, i));
    return { name, count, rate, goodput: rateOver(list, entries, ACKED), sent: rateOver(list, entries, FLOW_SENT) };
  });
}

// snapshot returns the state of the rack in a frame, with rates since the previous frame.
// Calm rates and those of flows refer to an earlier frame, because frames arrive in bursts.
// Whether a lane was paused recently, and the longest queues, refer to held, the frames of
// the hold time up to this one.
export function snapshot(model, frame, was, since = was, held = [since, frame]) {
  const first = held[0];
  const lanes = model.lanes.map((l) => {
    const now = laneAt(model, l.index, frame, was), calm = laneAt(model, l.index, frame, since);
    const long = first === since ? calm : laneAt(model, l.index, frame, first);
    now.calmPauseRate = calm.pauseRate;
    now.calmBps = calm.bps === null ? null : Math.min(calm.bps, l.rate || calm.bps);
    now.calmLoad = loadOf(calm.bps, l.rate);
    now.recentlyPaused = long.paused || (portOf(first, l.from, l.port)[FLAGS] & 1) === 1;
    return now;
  });
  const recent = since ? [since, ...held.filter((f) => f.at > since.at && f.at < frame.at), frame] : [frame];
  const flows = frame.nodes.flatMap((n, node) => (n.f?.length ? flowsAt(recent, node) : []));
  return { at: frame.at, frame, held, lanes, flows, frozen: frame.nodes.map((n) => n.x === 1) };
}
