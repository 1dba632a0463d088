// Links and nodes in words: what happens there, and why.

import * as format from "./format.js";
import { FLAGS, PAUSED_FOR, PAUSES_SENT, portOf } from "./model.js";

const over = 1e9; // ps that "paused 71 % of the last 1 ms" looks back

const arrow = (model, lane) => `${model.nodes[model.lanes[lane].from].name}->${model.nodes[model.lanes[lane].to].name}`;

// pausedIn returns for how much of the last millisecond a lane was paused: {share, span,
// times}. Frames of a live rack say only whether it was paused at their instants: the
// share is then that of the time between those.
export function pausedIn(model, history, index, lane) {
  const { frames } = history, l = model.lanes[lane], now = frames[index];
  const first = history.indexAt(now.at - over), span = now.at - frames[first].at;
  if (span <= 0) return { share: 0, span: 0, times: 0 };
  const of = (i) => portOf(frames[i], l.from, l.port), pauses = (i) => portOf(frames[i], l.to, l.peer)[PAUSES_SENT];
  let paused = 0;
  if (of(index)[PAUSED_FOR] !== undefined) paused = of(index)[PAUSED_FOR] - of(first)[PAUSED_FOR];
  else {
    for (let i = first + 1; i <= index; i++) paused += ((frames[i].at - frames[i - 1].at) * ((of(i)[FLAGS] & 1) + (of(i - 1)[FLAGS] & 1))) / 2;
  }
  return { share: Math.max(0, Math.min(paused / span, 1)), span, times: Math.max(0, pauses(index) - pauses(first)) };
}

// cause names the longest queue of the node that pauses a lane, and what holds it back.
function cause(model, snap, lane) {
  const { to, back } = model.lanes[lane];
  const queues = model.nodes[to].lanes.filter((l) => l !== back && snap.lanes[l].queue > 0).sort((a, b) => snap.lanes[b].queue - snap.lanes[a].queue);
  if (!queues.length) return "whose queues are empty by now";
  const next = model.nodes[model.lanes[queues[0]].to].name;
  return `whose queue to ${next} has ${format.bytes(snap.lanes[queues[0]].queue)}${snap.lanes[queues[0]].paused ? ` and is paused by ${next}` : ""}`;
}

// lane explains one direction of a link.
export function lane(app, i) {
  const { model, snap, history, index } = app, l = snap.lanes[i], m = model.lanes[i], name = arrow(model, i);
  const [from, to] = [model.nodes[m.from].name, model.nodes[m.to].name];
  if (l.down) return [`${name} is cut${l.dropped ? `, ${format.count(l.dropped)} frames lost or dropped at ${from}` : ""}`];
  const { share, span, times } = pausedIn(model, history, index, i), lines = [];
  const amount = share >= 0.005 ? format.share(share) : `${times} ${times === 1 ? "time" : "times"} in`;
  if (share >= 0.005 || times) lines.push(`${name} paused ${amount}${share >= 0.005 ? " of" : ""} the last ${format.time(Math.round(span / 5e7) * 5e7 || span)} by ${to}, ${cause(model, snap, i)}`);
  const carries = l.calmBps === null ? `, ${format.rate(m.rate)}: this run has no load of links` : ` carries ${format.rate(l.calmBps)} of ${format.rate(m.rate)}`;
  lines.push(`${name}${carries}${l.queue ? `, ${format.bytes(l.queue)} queued at ${from}` : ""}${l.dropped ? `, ${format.count(l.dropped)} frames dropped at ${from}` : ""}`);
  return lines;
}

const list = (names, most = 4) => (names.length > most ? `${names.slice(0, most).join(", ")} and ${names.length - most} more` : names.join(", "));

// ratesOf describes the rate of a flow, or of the flows of a sender together, and what
// congestion control allows each of them.
export function ratesOf(f) {
  if (f.count === 1) return `${format.rate(f.goodput)} of ${format.rate(f.rate)} that congestion control allows`;
  return `${format.rate(f.sent)} in ${f.count} flows, each allowed ${format.rate(f.rate / f.count)} by congestion control`;
}

// flow explains a flow at its sender.
export function flow(app, f) {
  const { model, victims } = app, path = model.flows.get(f.name), tree = victims.get(f.name);
  const way = path ? ` to ${model.nodes[path.to].name}` : "";
  const lines = [`${f.name}${way}: ${ratesOf(f)}`];
  const at = tree && path?.paths.flat().findLast((l) => tree.lanes.some((t) => t.lane === l));
  if (at !== undefined) lines.push(`${f.name} is a victim: it crosses ${arrow(model, at)}, which ${model.nodes[model.lanes[at].to].name} pauses, but not ${arrow(model, tree.port)}, where the congestion is`);
  return lines;
}

function nic(app, n) {
  const { model, snap, since } = app, out = n.lanes[0];
  const own = snap.flows.filter((f) => model.flows.get(f.name)?.from === n.index);
  const span = since ? snap.at - since.at : 0;
  const got = span > 0 ? (Math.max(snap.frame.nodes[n.index].d - since.nodes[n.index].d, 0) * 8e12) / span : 0;
  return [
    ...(snap.frozen[n.index] ? [`${n.name} is frozen: it sends nothing and drops what arrives`] : []),
    ...lane(app, out),
    ...own.slice(0, 3).flatMap((f) => flow(app, f)), ...(own.length > 3 ? [`and ${own.length - 3} more flows`] : []),
    ...(got ? [`${n.name} receives ${format.rate(got)} of payload`] : []),
  ];
}

function treeOf(app, n) {
  const { model, trees } = app, root = trees.find((t) => t.root === n.index);
  const links = (t) => `${t.lanes.length} recently paused ${t.lanes.length === 1 ? "link" : "links"}`;
  if (root?.cycle) return [`${n.name} is in a PFC deadlock: ${links(root)} in a cycle`];
  if (root) return [`${n.name} is the root of a congestion tree of ${links(root)}${root.port >= 0 ? `: the congestion is at ${arrow(model, root.port)}` : ""}`];
  const inside = trees.find((t) => t.lanes.some((l) => model.lanes[l.lane].from === n.index));
  return inside ? [`${n.name} is in the congestion tree of ${model.nodes[inside.root].name}, ${links(inside)}`] : [];
}

function aSwitch(app, n) {
  const { model, snap } = app, total = n.lanes.reduce((sum, l) => sum + snap.lanes[l].queue, 0);
  const longest = [...n.lanes].sort((a, b) => snap.lanes[b].queue - snap.lanes[a].queue)[0];
  const peers = (wanted) => n.lanes.filter((l) => wanted(model.lanes[l])).map((l) => model.nodes[model.lanes[l].to].name);
  const pausing = peers((l) => snap.lanes[l.back].recentlyPaused), by = peers((l) => snap.lanes[l.index].recentlyPaused), cut = peers((l) => snap.lanes[l.index].down);
  return [
    ...treeOf(app, n),
    total ? `${n.name} has ${format.bytes(total)} queued, ${format.bytes(snap.lanes[longest].queue)} of it to ${model.nodes[model.lanes[longest].to].name}` : `${n.name} has no queue`,
    ...(pausing.length ? [`${n.name} has recently paused ${list(pausing)}`] : []), ...(by.length ? [`${n.name} was recently paused by ${list(by)}`] : []), ...(cut.length ? [`its link to ${list(cut)} is cut`] : []),
  ];
}

// group explains the NICs of a collapsed leaf.
function group(app, leaf, nics) {
  const { model, snap } = app, outs = nics.map((n) => snap.lanes[model.nodes[n].lanes[0]]), ins = nics.map((n) => snap.lanes[model.lanes[model.nodes[n].lanes[0]].back]);
  const sum = (all) => format.rate(all.reduce((v, l) => v + l.calmBps, 0));
  const paused = nics.filter((_, i) => outs[i].recentlyPaused).map((n) => model.nodes[n].name), cut = nics.filter((_, i) => outs[i].down).map((n) => model.nodes[n].name);
  const own = new Set(nics), victims = [...app.victims.keys()].filter((name) => own.has(model.flows.get(name)?.from));
  return [
    `${format.ranges(nics.map((n) => model.nodes[n].name))} at ${model.nodes[leaf].name}${outs[0].calmBps === null ? "" : `: TX ${sum(outs)}, RX ${sum(ins)}`}`,
    ...(paused.length ? [`${paused.length} of ${nics.length} recently paused: ${list(paused)}`] : []), ...(cut.length ? [`cut off: ${list(cut)}`] : []),
    ...(victims.length ? [`victims: ${list(victims)}`] : []), "a click opens the leaf",
  ];
}

// explain returns the lines for a subject: {kind: "link", lanes}, {kind: "node", node},
// {kind: "group", leaf, nics} or {kind: "flow", name}.
export function explain(app, what) {
  const { model, snap } = app;
  if (!snap) return [];
  if (what.kind === "flow") {
    const now = snap.flows.find((f) => f.name === what.name);
    return now ? flow(app, now) : [`${what.name} is not active now`];
  }
  if (what.kind === "link" && what.lanes[0].length > 1) {
    const ends = what.lanes[0].map((l) => model.lanes[l]), up = model.nodes[ends[0].from].nic;
    return group(app, up ? ends[0].to : ends[0].from, ends.map((l) => (up ? l.from : l.to)));
  }
  if (what.kind === "link") return what.lanes.flatMap(([l]) => lane(app, l));
  if (what.kind === "group") return group(app, what.leaf, what.nics);
  const n = model.nodes[what.node];
  return n.nic ? nic(app, n) : aSwitch(app, n);
}
