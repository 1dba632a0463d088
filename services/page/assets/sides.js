// Which side of the drawing a switch or NIC is on.
//
// NICs are beside their switch: on the near side in the left half, on the far side in the
// right half. NICs that only send to neighbours of their own switch are in a band below
// it, as the papers draw it.

// sides assigns the nodes of a scene to the sides of the drawing. columns lists the
// switches above the leaves, from left to right: those of lower layers beside the leaves
// that they connect, those of the top layer in the middle.
export function sides(scene) {
  const leaves = scene.nodes.filter((n) => !n.nic && n.lanes.some((l) => scene.nodes[scene.lanes[l].to].nic));
  const half = Math.ceil(leaves.length / 2), one = leaves.length === 1;
  const plan = { left: one ? leaves : leaves.slice(0, half), right: one ? [] : leaves.slice(half), near: new Map(), far: new Map(), band: [], bandLeaf: -1 };
  const sends = new Set(), takes = new Set();
  for (const f of scene.flows.values()) {
    sends.add(f.from);
    takes.add(f.to);
  }
  for (const leaf of leaves) {
    const hosts = leaf.lanes.map((l) => scene.lanes[l].to).filter((n) => scene.nodes[n].nic);
    const receivers = hosts.filter((n) => takes.has(n) && !sends.has(n));
    const others = hosts.filter((n) => !receivers.includes(n));
    if (one) {
      const split = receivers.length ? [others, receivers] : [hosts.slice(0, Math.ceil(hosts.length / 2)), hosts.slice(Math.ceil(hosts.length / 2))];
      plan.near.set(leaf.index, split[0]);
      plan.far.set(leaf.index, split[1]);
    } else if (plan.left.includes(leaf)) plan.near.set(leaf.index, hosts);
    else if (plan.right.length === 1 && receivers.length && others.length) {
      plan.far.set(leaf.index, receivers);
      plan.band = others;
      plan.bandLeaf = leaf.index;
    } else plan.far.set(leaf.index, hosts);
  }
  plan.columns = columnsOf(scene, plan, leaves);
  return plan;
}

// columnsOf returns the columns of switches that have no NICs.
function columnsOf(scene, plan, leaves) {
  const side = new Map([...plan.left.map((n) => [n.index, -1]), ...plan.right.map((n) => [n.index, 1])]);
  const above = scene.nodes.filter((n) => !n.nic && !leaves.includes(n));
  const layers = [...new Set(above.map((n) => n.layer))].sort((a, b) => a - b);
  const left = [], right = [];
  for (const layer of layers.slice(0, -1)) {
    const list = above.filter((n) => n.layer === layer);
    list.forEach((n, i) => {
      const sum = n.lanes.reduce((v, l) => v + (side.get(scene.lanes[l].to) ?? 0), 0);
      side.set(n.index, Math.sign(sum) || (i % 2 ? 1 : -1));
    });
    left.push(list.filter((n) => side.get(n.index) < 0));
    right.unshift(list.filter((n) => side.get(n.index) > 0));
  }
  return [...left, above.filter((n) => n.layer === layers.at(-1)), ...right];
}
