// What a snapshot means: congestion trees and their victims.

import { since } from "./frames.js";
import { QUEUE, portOf } from "./model.js";

const hold = 700; // ms for which trees and victims stay while the rack runs
const most = 40; // frames of a hold time that are read

// heldFrames returns the frames of the hold time that ends with a frame: 250 us, so that a
// tree stays between a RESUME and the next PAUSE; and while the rack runs at least 0.7 s of
// the viewer's time, so that it does not flicker. In the past it depends on the instant alone.
export function heldFrames(history, index, live) {
  const { frames } = history, { seen } = frames[index];
  let first = Math.max(0, since(frames, index));
  while (live && first > 0 && frames[first - 1].seen > seen - hold) first--;
  const list = [], step = Math.max(1, Math.ceil((index - first) / most));
  for (let i = first; i < index; i += step) list.push(frames[i]);
  return [...list, frames[index]];
}

// trees returns the congestion trees, the largest first: connected paused links, each tree
// rooted at a switch that pauses others and is not paused itself. "Paused" covers the hold
// time. port is the lane with the longest queue at the root, or -1; cycle marks a PFC
// deadlock: a cycle of links that are all paused now.
export function trees(model, snap) {
  const paused = new Set(snap.lanes.flatMap((l, i) => (l.recentlyPaused ? [i] : [])));
  const into = new Map(); // node -> paused lanes that end there
  for (const i of paused) {
    const to = model.lanes[i].to;
    into.set(to, [...(into.get(to) ?? []), i]);
  }
  const isPaused = (node) => model.nodes[node].lanes.some((l) => paused.has(l));
  const list = [], seen = new Set();
  const grow = (root, cycle) => {
    const lanes = [];
    let next = [root];
    for (let depth = 1; next.length; depth++) {
      const above = [];
      for (const node of next) {
        for (const lane of into.get(node) ?? []) {
          if (seen.has(lane)) continue;
          seen.add(lane);
          lanes.push({ lane, depth });
          if (!model.nodes[model.lanes[lane].from].nic) above.push(model.lanes[lane].from);
        }
      }
      next = above;
    }
    if (lanes.length) list.push({ root, port: longest(model, snap, root).lane, lanes, cycle, depth: Math.max(...lanes.map((l) => l.depth)) });
  };
  for (const node of into.keys()) if (!isPaused(node)) grow(node, false);
  const rest = [...into.keys()].filter(isPaused).map((node) => [longest(model, snap, node).queue, node]);
  for (const [, node] of rest.sort((a, b) => b[0] - a[0] || a[1] - b[1])) grow(node, cyclic(model, snap, node)); // nodes that paused each other in turn
  return list.sort((a, b) => b.depth - a.depth || b.lanes.length - a.lanes.length || a.root - b.root);
}

// cyclic reports whether a node is in a cycle of links that are all paused now.
function cyclic(model, snap, start) {
  const seen = new Set(), next = [start];
  while (next.length) {
    for (const lane of model.nodes[next.pop()].lanes) {
      const { to } = model.lanes[lane];
      if (!snap.lanes[lane].paused || seen.has(to)) continue;
      if (to === start) return true;
      seen.add(to);
      next.push(to);
    }
  }
  return false;
}

// longest returns the lane of a node with the longest queue in the hold time, among those
// that are not paused, or else lane -1.
function longest(model, snap, node) {
  const best = { lane: -1, queue: 0 };
  for (const lane of model.nodes[node].lanes) {
    if (!snap.lanes[lane] || snap.lanes[lane].recentlyPaused) continue;
    for (const frame of snap.held) {
      const queue = portOf(frame, node, model.lanes[lane].port)[QUEUE];
      if (queue > best.queue) Object.assign(best, { lane, queue });
    }
  }
  return best;
}

// victims returns the flows that cross a paused link of a tree but not its congested
// port, each with its tree.
export function victims(model, snap, list) {
  const found = new Map(), roots = list.filter((t) => t.port >= 0).map((tree) => ({ tree, paused: new Set(tree.lanes.map((l) => l.lane)) }));
  for (const f of roots.length ? snap.flows : []) {
    const paths = model.flows.get(f.name)?.paths ?? [];
    const at = roots.find(({ tree, paused }) => paths.some((p) => !p.includes(tree.port) && p.some((l) => paused.has(l))));
    if (at) found.set(f.name, at.tree);
  }
  return found;
}

// victimsOver returns the names of the victims of a whole run or window, in which PAUSE
// reached some lanes. lanes holds {recentlyPaused, queue (its longest)} of each lane. Only
// flows outside bursts count.
export function victimsOver(model, lanes) {
  const flows = [...model.flows.values()].filter((f) => !f.burst);
  const held = [{ nodes: model.nodes.map((n) => ({ p: n.lanes.map((l) => [lanes[l].queue]) })) }]; // each queue at its longest
  return [...victims(model, { flows }, trees(model, { lanes, held })).keys()];
}
