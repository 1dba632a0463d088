// What a snapshot means: congestion trees and their victims.

// trees returns the congestion trees: connected paused links, each tree rooted at a
// switch that pauses others and is not paused itself. "Paused" covers the last 250 us, so
// that a tree stays between a RESUME and the next PAUSE. port is the lane with the longest
// queue at the root, or -1; cycle marks a PFC deadlock (a cycle of paused links).
export function trees(model, snap) {
  const paused = new Set(snap.lanes.flatMap((l, i) => (l.recentlyPaused ? [i] : [])));
  const into = new Map(); // node -> paused lanes that end there
  for (const i of paused) {
    const to = model.lanes[i].to;
    into.set(to, [...(into.get(to) ?? []), i]);
  }
  const isPaused = (node) => model.nodes[node].lanes.some((l) => paused.has(l));
  const list = [];
  const seen = new Set();
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
    if (lanes.length) list.push({ root, port: longest(model, snap, root), lanes, cycle, depth: Math.max(...lanes.map((l) => l.depth)) });
  };
  for (const node of into.keys()) if (!isPaused(node)) grow(node, false);
  for (const node of into.keys()) if (isPaused(node)) grow(node, true); // the rest is cyclic
  return list;
}

function longest(model, snap, node) {
  let best = -1;
  for (const lane of model.nodes[node].lanes) {
    const l = snap.lanes[lane];
    if (l && !l.recentlyPaused && l.queue > 0 && (best < 0 || l.queue > snap.lanes[best].queue)) best = lane;
  }
  return best;
}

// victims returns the flows that cross a paused link of a tree but not its congested
// port, each with its tree.
export function victims(model, snap, list) {
  const found = new Map();
  for (const f of snap.flows) {
    const paths = model.flows.get(f.name)?.paths ?? [];
    for (const tree of list) {
      if (tree.port < 0) continue; // the congested port is unknown
      const paused = new Set(tree.lanes.map((l) => l.lane));
      if (paths.some((p) => p.some((l) => paused.has(l)) && !p.includes(tree.port))) {
        found.set(f.name, tree);
        break;
      }
    }
  }
  return found;
}
