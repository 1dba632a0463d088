// Positions of nodes and ports. Traffic runs along u, from senders to receivers, and the
// layers of switches follow each other along it; v is perpendicular to u. On a wide page
// u points right, on a narrow one down.
//
// The drawing has the size of the page if that has room for all nodes, and is otherwise
// larger, in the same proportions, so that nothing overlaps.

import { sides } from "./sides.js";

const wideAt = 640;
const aside = (cell) => cell.v - 3; // free space along v, half of it at each end
const most = 4; // staggered columns of NICs
const apart = 24; // pixels between groups, with the tag of victims
const dot = 7; // distance of the NICs in a group

// place returns the size of the drawing, the boxes of nodes and the points of ports, in
// pixels of the page at a zoom of 1.
export function place(scene, width, height) {
  const flat = width >= wideAt;
  const page = flat ? { u: width, v: height } : { u: height, v: width };
  const cell = flat ? { u: 54, v: 19 } : { u: 22, v: 44 }; // size of a NIC
  const plan = sides(scene), sizes = scene.nodes.map((n) => sizeOf(n, flat, cell));
  const grow = Math.max(1, demand(plan, sizes, cell, page.v) / page.v, length(plan, sizes, cell, page.v) / page.u);
  const size = { u: page.u * grow, v: page.v * grow };
  const at = new Array(scene.nodes.length);
  const pitch = placeLeaves(plan, size, cell, sizes, at);
  placeColumns(plan, size, cell, at);
  hang(plan, size, cell, at);
  const boxes = boxesOf(scene, plan, at, flat, size, sizes, size.u - rest(plan, sizes, cell, size.v));
  const ends = portsOf(scene, boxes, flat, new Set(plan.band));
  return { flat, width: width * grow, height: height * grow, boxes, ends, dense: pitch < cell.v || scene.lanes.length > 240 };
}

// sizeOf returns the size of a NIC or a group, or the least size of a switch.
function sizeOf(n, flat, cell) {
  if (!n.nic) return { u: flat ? Math.max(92, 62 + n.name.length * 8.5) : 64, v: 26 };
  if (n.group === undefined) return { u: cell.u - 10, v: cell.v - 3 };
  const columns = groupColumns(n.of.length), w = Math.max(columns * dot + 14, 66), h = Math.ceil(n.of.length / columns) * dot + 26;
  return flat ? { u: w, v: h } : { u: h, v: w };
}

// groupColumns returns the number of columns in which a group shows n NICs.
export const groupColumns = (n) => Math.max(6, Math.ceil(Math.sqrt(2.6 * n)));

// dotAt returns the corner of the i-th of n NICs in the box of their group.
export function dotAt(box, n, i) {
  const columns = groupColumns(n);
  return [box.x - (Math.min(n, columns) * dot) / 2 + (i % columns) * dot, box.y - box.h / 2 + 19 + Math.floor(i / columns) * dot];
}

const stacks = (plan) => [[plan.near, plan.left], [plan.far, plan.right.length ? plan.right : plan.left]];

const nicsOf = (group, leaves) => leaves.flatMap((l) => group.get(l.index) ?? []);

// staggered returns the number of columns that NICs need so that their names do not
// overlap.
const staggered = (nics, cell, v) => Math.min(most, Math.max(1, Math.ceil((nics.length * cell.v) / (v - aside(cell)))));

// heights returns the space along v that each leaf of a stack needs.
function heights(group, leaves, sizes, cell, v) {
  const k = staggered(nicsOf(group, leaves), cell, v);
  return leaves.map((leaf) => {
    const nics = group.get(leaf.index) ?? [];
    const own = nics.reduce((sum, n) => sum + (sizes[n].v > cell.v ? sizes[n].v + apart : cell.v / k), 0);
    return Math.max(own, sizes[leaf.index].v + 14);
  });
}

// demand returns the space along v that the fullest column needs.
function demand(plan, sizes, cell, v) {
  const sum = (list) => list.reduce((a, b) => a + b, 0) + aside(cell);
  return Math.max(...stacks(plan).map(([group, leaves]) => sum(heights(group, leaves, sizes, cell, v))), ...plan.columns.map((c) => c.length * 40 + aside(cell)));
}

// depth returns the space along u of the NICs of a stack.
function depth(group, leaves, sizes, cell, v) {
  const nics = nicsOf(group, leaves);
  return Math.max(0, ...nics.map((n) => (sizes[n].v > cell.v || sizes[n].u > cell.u ? sizes[n].u + 10 : 0)), nics.length ? staggered(nics, cell, v) * cell.u : 0);
}

// length returns the space along u that all columns need, with the ports of the band as
// close to each other as they may be.
function length(plan, sizes, cell, v) {
  const own = sizes[plan.bandLeaf]?.u ?? 0;
  return rest(plan, sizes, cell, v) + Math.max(own, portsLong(plan.band.length, closest));
}

// rest returns the space along u that all but the switch of the band needs.
function rest(plan, sizes, cell, v) {
  const wide = (list) => Math.max(0, ...list.map((n) => (n.index === plan.bandLeaf ? 0 : sizes[n.index].u)));
  const columns = [plan.left, ...plan.columns, plan.right].filter((list) => list.length);
  return stacks(plan).reduce((sum, [group, leaves]) => sum + depth(group, leaves, sizes, cell, v), 0) + columns.map(wide).reduce((a, b) => a + b, 0) + (columns.length + 1) * 60;
}

// middleOf returns where a single switch lies along v: above the middle if there is a band.
const middleOf = (plan, size, cell) => size.v * (plan.band.length ? (cell.u > cell.v ? 0.29 : 0.34) : 0.5);

// placeLeaves places leaves and their NICs. It returns the smallest space of a NIC along v.
function placeLeaves(plan, size, cell, sizes, at) {
  let pitch = Infinity;
  const [near, far] = stacks(plan).map(([group, leaves]) => depth(group, leaves, sizes, cell, size.v));
  const from = near, span = size.u - near - far;
  const inward = (space, narrow, wide) => (space > 2 * cell.u ? wide : narrow);
  const us = plan.right.length ? [from + span * inward(near, 0.2, 0.28), from + span * (plan.band.length ? 0.74 : 1 - inward(far, 0.2, 0.28))]
    : [from + span * (plan.columns[0]?.length ? 0.3 : 0.5), 0];
  const tags = cell.u < cell.v ? 20 : 0; // a victim's tag is above its sender on a narrow page
  stacks(plan).forEach(([group, leaves], side) => {
    const need = heights(group, leaves, sizes, cell, size.v);
    const spare = (size.v - aside(cell) - need.reduce((a, b) => a + b, 0)) / leaves.length;
    let top = aside(cell) / 2, first = 0;
    leaves.forEach((leaf, i) => {
      const room = need[i] + spare, v = leaves.length === 1 ? middleOf(plan, size, cell) : top + room / 2;
      if (side === 0 || plan.right.length) at[leaf.index] = { u: us[side], v, room };
      const edge = side === 0 ? (w) => w / 2 + 4 + tags : (w) => size.u - w / 2 - 4;
      const own = group.get(leaf.index) ?? [];
      if (own.length) pitch = Math.min(pitch, stack(own, { v, room, edge, first, step: side === 0 ? 1 : -1, k: staggered(nicsOf(group, leaves), cell, size.v), short: leaves.length === 1 && plan.band.length }, cell, sizes, at));
      top += room;
      first += own.length;
    });
  });
  return pitch;
}

// stack places the NICs of a leaf beside each other along v. It returns their distance.
function stack(nics, o, cell, sizes, at) {
  const pitch = Math.min(((o.short ? 0.62 : 1) * o.room) / nics.length, Math.max(cell.v * 2.2, ...nics.map((n) => sizes[n].v + apart)));
  nics.forEach((n, i) => {
    const column = (nics.length > 1 || o.k > 1 ? (o.first + i) % o.k : 0) * o.step;
    at[n] = { u: o.edge(sizes[n].u + 10) + column * cell.u, v: o.v + (i - (nics.length - 1) / 2) * pitch };
  });
  return sizes[nics[0]].v > cell.v ? cell.v : pitch;
}

// placeColumns places the switches that have no NICs, evenly between the leaves.
function placeColumns(plan, size, cell, at) {
  const left = at[plan.left[0]?.index]?.u ?? 0, right = at[plan.right[0]?.index]?.u ?? size.u, n = plan.columns.length;
  plan.columns.forEach((list, c) => list.forEach((node, i) => {
    const room = (size.v - aside(cell)) / list.length;
    at[node.index] = { u: left + ((right - left) * (c + 1)) / (n + 1), v: aside(cell) / 2 + room * (i + 0.5), room };
  }));
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

const closest = 4, widest = 13; // pixels between ports

const pitchOf = (n, space) => Math.min(widest, Math.max(closest, space / Math.max(n, 1)));

// portsLong returns the length of an edge of a switch with n ports.
const portsLong = (n, pitch) => (n ? n * pitch + 22 : 0);

function boxesOf(scene, plan, at, flat, size, sizes, space) {
  return scene.nodes.map((n) => {
    const p = at[n.index] ?? { u: size.u / 2, v: size.v / 2 };
    let { u: du, v: dv } = sizes[n.index];
    if (!n.nic) {
      const across = Math.max(plan.near.get(n.index)?.length ?? 0, plan.far.get(n.index)?.length ?? 0, n.lanes.length - 1 - (plan.bandLeaf === n.index ? plan.band.length : 0), 2);
      const along = plan.bandLeaf === n.index ? plan.band.length : 0;
      dv = Math.max(dv, Math.min(Math.max(flat ? 84 : 88, across * pitchOf(across, size.v - 40) + 22), (p.room ?? size.v) - 14));
      du = Math.max(du, portsLong(along, pitchOf(along, space - 22)));
    }
    const [w, h] = flat ? [du, dv] : [dv, du];
    const [x, y] = flat ? [p.u, p.v] : [p.v, p.u];
    return { x, y, w, h };
  });
}

// portsOf returns where each lane begins: a point on an edge of its switch, or the centre
// of its NIC.
function portsOf(scene, boxes, flat, band) {
  const ends = new Array(scene.lanes.length);
  for (const n of scene.nodes) {
    const box = boxes[n.index];
    if (n.nic) {
      for (const lane of n.lanes) ends[lane] = { x: box.x, y: box.y, side: "" };
      continue;
    }
    const edges = { left: [], right: [], top: [], bottom: [] };
    for (const lane of n.lanes) {
      const to = scene.lanes[lane].to;
      edges[band.has(to) ? (flat ? "bottom" : "right") : sideOf(box, boxes[to], flat)].push(lane);
    }
    for (const [side, lanes] of Object.entries(edges)) edge(scene, boxes, box, side, lanes, ends);
  }
  return ends;
}

// edge places the ports on one edge of a switch, in the order of their peers.
function edge(scene, boxes, box, side, lanes, ends) {
  const upright = side === "left" || side === "right", across = upright ? "y" : "x";
  lanes.sort((a, b) => boxes[scene.lanes[a].to][across] - boxes[scene.lanes[b].to][across]);
  const long = upright ? box.h : box.w, space = long - Math.min(22, long * 0.3);
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

// sideOf returns the edge of a switch that faces another node: along u if they are apart
// in that direction, otherwise along v.
function sideOf(box, other, flat) {
  const dx = other.x - box.x, dy = other.y - box.y;
  const apartX = Math.abs(dx) - box.w / 2, apartY = Math.abs(dy) - box.h / 2;
  if (flat ? apartX > 8 : apartY <= 8) return dx < 0 ? "left" : "right";
  return dy < 0 ? "top" : "bottom";
}
