// What the drawing shows: the nodes and links of a rack, in which the NICs of a collapsed
// leaf are one group with one link.

const openUpTo = 40; // NICs of a rack that is open at first
const least = 4; // NICs of a group

// leavesOf returns the switches whose NICs can be a group, each with these NICs.
export function leavesOf(model) {
  const leaves = new Map();
  for (const n of model.nodes) {
    if (n.nic) continue;
    const nics = n.lanes.map((l) => model.lanes[l].to).filter((to) => model.nodes[to].nic && model.nodes[to].lanes.length === 1);
    if (nics.length >= least) leaves.set(n.index, nics);
  }
  return leaves;
}

// openAtFirst returns the leaves of a rack that are open at first: all or none.
export function openAtFirst(model) {
  const nics = model.nodes.filter((n) => n.nic).length;
  return new Set(nics > openUpTo ? [] : leavesOf(model).keys());
}

// sceneOf returns the drawn nodes, lanes and links. It has the form of a model: nodes with
// lanes, lanes with from, to and back. Each drawn node has the nodes, and each drawn lane
// the lanes, of the model that it stands for (of). nodeOf and laneOf map in reverse.
export function sceneOf(model, open) {
  const scene = { nodes: [], lanes: [], links: [], nodeOf: [], laneOf: [], leaves: leavesOf(model) };
  const hidden = new Map(); // NIC -> its collapsed leaf
  for (const [leaf, nics] of scene.leaves) if (!open.has(leaf)) for (const nic of nics) hidden.set(nic, leaf);
  for (const n of model.nodes) {
    if (!hidden.has(n.index)) addNode(scene, { key: `node:${n.name}`, name: n.name, nic: n.nic, layer: n.layer, of: [n.index] });
  }
  for (const [leaf, nics] of scene.leaves) {
    if (!open.has(leaf)) addNode(scene, { key: `group:${model.nodes[leaf].name}`, name: `${nics.length} NICs`, nic: true, group: leaf, layer: 0, of: nics });
  }
  for (const link of model.links) {
    const [a, b] = [model.lanes[link.lane], model.lanes[link.lane + 1]];
    if (hidden.has(link.a) || hidden.has(link.b)) joinGroup(scene, hidden.has(link.a) ? [a, b] : [b, a], model);
    else addLink(scene, link.name, `link:${link.name}`, a, b);
  }
  scene.flows = new Map([...model.flows].map(([name, f]) => [name, { from: scene.nodeOf[f.from], to: scene.nodeOf[f.to] }]));
  return scene;
}

function addNode(scene, node) {
  node.index = scene.nodes.length;
  node.lanes = [];
  for (const n of node.of) scene.nodeOf[n] = node.index;
  scene.nodes.push(node);
}

// addLink adds the lanes of a link: a in one direction, b in the other.
function addLink(scene, name, key, a, b) {
  const first = scene.lanes.length, from = scene.nodeOf[a.from], to = scene.nodeOf[a.to];
  scene.lanes.push({ index: first, from, to, back: first + 1, rate: a.rate, nth: a.nth, id: a.id, of: [a.index] });
  scene.lanes.push({ index: first + 1, from: to, to: from, back: first, rate: b.rate, nth: b.nth, id: b.id, of: [b.index] });
  [scene.laneOf[a.index], scene.laneOf[b.index]] = [first, first + 1];
  scene.nodes[from].lanes.push(first);
  scene.nodes[to].lanes.push(first + 1);
  scene.links.push({ name, key, lane: first });
}

// joinGroup adds a link of a hidden NIC to that of its group.
function joinGroup(scene, [up, down], model) {
  const group = scene.nodes[scene.nodeOf[up.from]];
  if (!group.lanes.length) {
    const leaf = model.nodes[group.group].name;
    addLink(scene, `${group.name} of ${leaf}`, `links:${leaf}`, { ...up, nth: 0, id: `${leaf}'s NICs->${leaf}` }, { ...down, nth: 0, id: `${leaf}->${leaf}'s NICs` });
    return;
  }
  for (const [lane, l] of [[group.lanes[0], up], [scene.lanes[group.lanes[0]].back, down]]) {
    scene.lanes[lane].of.push(l.index);
    scene.lanes[lane].rate += l.rate;
    scene.laneOf[l.index] = lane;
  }
}

// stateOf returns the state of a drawn lane: that of its lane, or of all lanes of a group
// together, with the longest of their queues.
export function stateOf(snap, lane) {
  if (lane.of.length === 1) return snap.lanes[lane.of[0]];
  const sum = { bps: 0, load: 0, queue: 0, pauses: 0, paused: false, down: false, pausedLanes: 0, downLanes: 0 };
  for (const i of lane.of) {
    const l = snap.lanes[i];
    sum.bps += l.bps;
    sum.pauses += l.pauses;
    sum.queue = Math.max(sum.queue, l.queue);
    sum.pausedLanes += l.paused ? 1 : 0;
    sum.downLanes += l.down ? 1 : 0;
  }
  sum.load = lane.rate ? Math.min(sum.bps / lane.rate, 1) : 0;
  sum.paused = sum.pausedLanes > 0;
  sum.down = sum.downLanes === lane.of.length;
  return sum;
}
