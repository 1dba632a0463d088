// Positions of nodes and ports. Traffic runs along u, from senders to receivers, and the
// layers of switches follow each other along it; v is perpendicular to u. On a wide page
// u points right, on a narrow one down.
//
// NICs are beside their switch: on the near side in the left half, on the far side in the
// right half. NICs that only send to neighbours of their own switch are in a band below
// it, as the papers draw it.

const wideAt = 640;

// place returns the boxes of nodes and the points of ports, in pixels.
export function place(model, width, height) {
  const flat = width >= wideAt;
  const size = flat ? { u: width, v: height } : { u: height, v: width };
  const cell = flat ? { u: 54, v: 19 } : { u: 22, v: 44 }; // size of a NIC
  const plan = sides(model);
  const at = new Array(model.nodes.length);
  const middle = plan.band.length ? size.v * (flat ? 0.29 : 0.34) : size.v * 0.5;
  placeSwitches(model, plan, size, cell, middle, at);
  placeHosts(model, plan, size, cell, at);
  const boxes = boxesOf(model, plan, at, flat, cell, size);
  return { flat, width, height, boxes, ends: portsOf(model, boxes, flat, new Set(plan.band)), dense: densest(plan, size) < cell.v };
}

// sides assigns switches and NICs to the sides of the drawing.
function sides(model) {
  const leaves = model.nodes.filter((n) => !n.nic && n.lanes.some((l) => model.nodes[model.lanes[l].to].nic));
  const spines = model.nodes.filter((n) => !n.nic && !leaves.includes(n));
  const sends = new Set(), takes = new Set();
  for (const f of model.flows.values()) {
    sends.add(f.from);
    takes.add(f.to);
  }
  const half = Math.ceil(leaves.length / 2);
  const left = leaves.length === 1 ? leaves : leaves.slice(0, half);
  const right = leaves.length === 1 ? [] : leaves.slice(half);
  const near = new Map(), far = new Map();
  let band = [];
  for (const leaf of leaves) {
    const hosts = leaf.lanes.map((l) => model.lanes[l].to).filter((n) => model.nodes[n].nic);
    const receivers = hosts.filter((n) => takes.has(n) && !sends.has(n));
    const others = hosts.filter((n) => !receivers.includes(n));
    if (leaves.length === 1) {
      const split = receivers.length ? [others, receivers] : [hosts.slice(0, Math.ceil(hosts.length / 2)), hosts.slice(Math.ceil(hosts.length / 2))];
      near.set(leaf.index, split[0]);
      far.set(leaf.index, split[1]);
    } else if (left.includes(leaf)) near.set(leaf.index, hosts);
    else if (right.length === 1 && receivers.length && others.length) {
      far.set(leaf.index, receivers);
      band = others;
    } else far.set(leaf.index, hosts);
  }
  return { left, right, spines, near, far, band, bandLeaf: band.length ? right[0].index : -1 };
}

// densest returns the smallest space of a NIC along v.
function densest(plan, size) {
  let least = Infinity;
  for (const [group, leaves] of [[plan.near, plan.left], [plan.far, plan.right.length ? plan.right : plan.left]]) {
    const all = leaves.reduce((n, leaf) => n + (group.get(leaf.index)?.length ?? 0), 0);
    if (all) least = Math.min(least, size.v / all);
  }
  return least;
}

function placeSwitches(model, plan, size, cell, middle, at) {
  const spread = (list, u) => list.forEach((n, i) => {
    const v = list.length === 1 ? middle : size.v * (i + 0.5) / list.length;
    at[n.index] = { u, v };
  });
  const space = (group, leaves) => columns(leaves.reduce((n, l) => n + (group.get(l.index)?.length ?? 0), 0), size, cell) * cell.u;
  const nearSpace = space(plan.near, plan.left), farSpace = space(plan.far, plan.right.length ? plan.right : plan.left);
  const from = nearSpace, to = size.u - farSpace;
  if (!plan.right.length) spread(plan.left, (from + to) / 2);
  else {
    const inward = nearSpace > 2 * cell.u ? 0.3 : 0.2;
    spread(plan.left, from + (to - from) * inward);
    spread(plan.right, from + (to - from) * (plan.band.length ? 0.74 : farSpace > 2 * cell.u ? 0.7 : 0.8));
  }
  const layers = [...new Set(plan.spines.map((n) => n.layer))].sort((a, b) => a - b);
  for (const layer of layers) {
    const list = plan.spines.filter((n) => n.layer === layer);
    spread(list, from + (to - from) * 0.5);
  }
}

// columns returns the number of staggered columns that NICs need so that their names do
// not overlap.
const columns = (n, size, cell) => Math.max(1, Math.ceil((n * cell.v) / (size.v - 16)));

function placeHosts(model, plan, size, cell, at) {
  const stack = (group, leaves, edge, step) => {
    const all = leaves.reduce((n, l) => n + (group.get(l.index)?.length ?? 0), 0);
    if (!all) return;
    const k = columns(all, size, cell);
    const most = leaves.length === 1 && plan.band.length ? size.v * 0.62 : size.v - 16;
    const pitch = Math.min(most / all, cell.v * 2.2);
    let i = 0;
    const start = leaves.length === 1 ? at[leaves[0].index].v - (pitch * (all - 1)) / 2 : 8 + ((size.v - 16) - pitch * (all - 1)) / 2;
    for (const leaf of leaves) {
      for (const host of group.get(leaf.index) ?? []) {
        at[host] = { u: edge + step * cell.u * (i % k), v: start + pitch * i };
        i++;
      }
    }
  };
  const tags = cell.u < cell.v ? 20 : 0; // a victim's tag is above its sender on a narrow page
  stack(plan.near, plan.left, cell.u * 0.5 + 4 + tags, 1);
  stack(plan.far, plan.right.length ? plan.right : plan.left, size.u - cell.u * 0.5 - 4, -1);
  hang(plan, size, cell, at);
}

// hang places the band below its switch.
function hang(plan, size, cell, at) {
  const n = plan.band.length;
  if (!n) return;
  const centre = at[plan.bandLeaf].u;
  const rows = Math.max(1, Math.ceil((n * cell.u) / (size.u - 16)));
  const pitch = Math.min((size.u - cell.u - 8) / Math.max(n - 1, 1), cell.u * 1.05);
  const span = pitch * (n - 1);
  const start = Math.max(cell.u * 0.5 + 4, Math.min(centre - span / 2, size.u - cell.u * 0.5 - 4 - span));
  plan.band.forEach((host, i) => {
    at[host] = { u: start + pitch * i, v: size.v - cell.v * 0.5 - 6 - (rows - 1 - (i % rows)) * cell.v * 1.2 };
  });
}

const pitchOf = (n, space) => Math.min(13, Math.max(4, space / Math.max(n, 1)));

function boxesOf(model, plan, at, flat, cell, size) {
  return model.nodes.map((n) => {
    const p = at[n.index] ?? { u: size.u / 2, v: size.v / 2 };
    let du, dv;
    if (n.nic) {
      du = cell.u - 10;
      dv = cell.v - 3;
    } else {
      const across = Math.max(plan.near.get(n.index)?.length ?? 0, plan.far.get(n.index)?.length ?? 0, 2);
      const along = plan.bandLeaf === n.index ? plan.band.length : 0;
      dv = Math.max(flat ? 84 : 88, across * pitchOf(across, size.v - 40) + 22);
      du = Math.max(flat ? 92 : 64, along * pitchOf(along, size.u * 0.5) + 22);
    }
    const [w, h] = flat ? [du, dv] : [dv, du];
    const [x, y] = flat ? [p.u, p.v] : [p.v, p.u];
    return { x, y, w, h, nic: n.nic };
  });
}

// portsOf returns where each lane begins: a point on an edge of its switch, or the centre
// of its NIC.
function portsOf(model, boxes, flat, band) {
  const ends = new Array(model.lanes.length);
  for (const n of model.nodes) {
    const box = boxes[n.index];
    if (n.nic) {
      for (const lane of n.lanes) ends[lane] = { x: box.x, y: box.y, side: "" };
      continue;
    }
    const edges = { left: [], right: [], top: [], bottom: [] };
    for (const lane of n.lanes) {
      const to = model.lanes[lane].to;
      edges[band.has(to) ? (flat ? "bottom" : "right") : sideOf(box, boxes[to], flat)].push(lane);
    }
    for (const [side, lanes] of Object.entries(edges)) {
      const upright = side === "left" || side === "right";
      const across = upright ? "y" : "x";
      lanes.sort((a, b) => boxes[model.lanes[a].to][across] - boxes[model.lanes[b].to][across]);
      const space = (upright ? box.h : box.w) - 22;
      const pitch = lanes.length > 1 ? Math.min(space / (lanes.length - 1), 26) : 0;
      lanes.forEach((lane, i) => {
        const offset = (i - (lanes.length - 1) / 2) * pitch;
        ends[lane] = {
          side, pitch: pitch || 20,
          x: side === "left" ? box.x - box.w / 2 : side === "right" ? box.x + box.w / 2 : box.x + offset,
          y: side === "top" ? box.y - box.h / 2 : side === "bottom" ? box.y + box.h / 2 : box.y + offset,
        };
      });
    }
  }
  return ends;
}

// sideOf returns the edge of a switch that faces another node: along u if they are apart
// in that direction, otherwise along v.
function sideOf(box, other, flat) {
  const dx = other.x - box.x, dy = other.y - box.y;
  const apartX = Math.abs(dx) - box.w / 2, apartY = Math.abs(dy) - box.h / 2;
  if (flat ? apartX > 8 : apartY <= 8) return dx < 0 ? "left" : "right";
  return dy < 0 ? "top" : "bottom";
}
