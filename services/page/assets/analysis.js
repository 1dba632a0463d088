// What a snapshot means: congestion trees and their victims.

// trees gives the links under pause that lead to each other. Each tree grows from a
// switch that holds others and is not held itself, all of it lately: between RESUME and
// the next PAUSE a tree is still there; port is the lane behind which its
// longest queue waits, -1 if there is none. cycle marks pauses that hold each other.
export function trees(model, snap) {
  const held = new Set(snap.lanes.flatMap((l, i) => (l.lately ? [i] : [])));
  const into = new Map(); // node -> held lanes that end there
  for (const i of held) {
    const to = model.lanes[i].to;
    into.set(to, [...(into.get(to) ?? []), i]);
  }
  const stuck = (node) => model.nodes[node].lanes.some((l) => held.has(l));
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
  for (const node of into.keys()) if (!stuck(node)) grow(node, false);
  for (const node of into.keys()) if (stuck(node)) grow(node, true); // what is left holds itself
  return list;
}

function longest(model, snap, node) {
  let best = -1;
  for (const lane of model.nodes[node].lanes) {
    const l = snap.lanes[lane];
    if (l && !l.lately && l.queue > 0 && (best < 0 || l.queue > snap.lanes[best].queue)) best = lane;
  }
  return best;
}

// victims gives the flows that run through a link under pause and do not go through
// the congested port that the pauses come from, each with its tree.
export function victims(model, snap, list) {
  const found = new Map();
  for (const f of snap.flows) {
    const paths = model.flows.get(f.name)?.paths ?? [];
    for (const tree of list) {
      if (tree.port < 0) continue; // nobody knows what is congested
      const held = new Set(tree.lanes.map((l) => l.lane));
      if (paths.some((p) => p.some((l) => held.has(l)) && !p.includes(tree.port))) {
        found.set(f.name, tree);
        break;
      }
    }
  }
  return found;
}
