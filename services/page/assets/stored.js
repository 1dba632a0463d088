// Stored runs: those in the collector, and the folders of finished runs. Both have series
// by metric; runs of the collector can also be converted to frames and played back.

import { call, get } from "./api.js";
import { binOf, sumOf } from "./bins.js";
import { History } from "./history.js";
import { partOf } from "./model.js";

const most = 900; // frames of a played run

// runs lists the stored runs: {id, label, scenario, scheme, frames}.
export async function runs(session) {
  const list = [];
  if (session.collector) {
    const out = await call("ListRuns");
    for (const r of out.runs ?? []) {
      list.push({ id: `collector:${r.run}`, label: `${r.scenario || r.run} · ${r.scheme ?? ""} · ${r.run}`, scenario: r.scenario, scheme: r.scheme ?? "", frames: true, run: r });
    }
  }
  if (session.runs) {
    for (const { name } of await get("/api/runs")) list.push({ id: `folder:${name}`, label: name, folder: name, frames: false });
  }
  return list;
}

const read = new Map(); // folder -> the promise of its results

// results returns results.json of a finished run. It is fetched once.
export function results(folder) {
  if (!read.has(folder)) {
    read.set(folder, get(`/api/runs/${encodeURIComponent(folder)}/results.json`).catch((e) => {
      read.delete(folder); // the file may be incomplete
      throw e;
    }));
  }
  return read.get(folder);
}

// load converts a run of the collector to frames.
export async function load(id, app) {
  const known = await runs(app.session);
  const source = known.find((r) => r.id === id);
  if (!source?.run) throw new Error(`${id}: unknown run`);
  const run = source.run.run;
  const ask = (metric, stepPs) => call("QuerySeries", { select: { run, metric }, stepPs: String(stepPs), limit: 1000000 });
  const start = Number(source.run.startPs ?? 0);
  let end = Number(source.run.endPs ?? 0);
  const probe = await ask("rackfab.port.sent", 0);
  for (const s of probe.series ?? []) end = Math.max(end, Number(s.timesPs?.at(-1) ?? 0));
  const bin = binOf(probe.series ?? []) || 50e6;
  const step = Math.max(1, Math.ceil((end - start) / most / bin)) * bin;
  const names = ["rackfab.port.sent", "rackfab.port.queue.max", "rackfab.port.pauses", "rackfab.port.paused", "rackfab.port.marks", "rackfab.flow.rate", "rackfab.flow.sent", "rackfab.flow.delivered"];
  const answers = await Promise.all(names.map((m) => ask(m, step).catch(() => ({ series: [] }))));
  const topology = await cabled(source, app, probe.series ?? []);
  const history = framesOf(topology, Object.fromEntries(names.map((n, i) => [n, answers[i].series ?? []])), step - bin);
  if (!history.length) throw new Error(`${id}: the collector has no series of ports`);
  return { source, topology, history, note: answers.some((a) => a.truncated) ? "Too many points: the run is shown at a lower resolution." : "" };
}

// pacing returns the collector's series of credit and tokens at NICs: {name, lines:
// [{name, points}], rate}, where rate means that values are per bin. run "" is the latest.
export async function pacing(run, nics) {
  const kinds = [["rackfab.credit.granted", "credit granted"], ["rackfab.credit.wasted", "credit wasted"], ["rackfab.tokens", "tokens"]];
  const answers = await Promise.all(kinds.map(([metric]) => call("QuerySeries", { select: { run, metric } }).catch(() => ({}))));
  return kinds.map(([metric, name], i) => {
    const rate = metric !== "rackfab.tokens";
    const series = answers[i].series ?? [], bin = binOf(series) || 50e6;
    const own = series.filter((v) => nics.includes(v.node) || nics.includes(v.peer));
    const pointsOf = (v) => sumOf([v], bin, !rate).map(([t, n]) => [t, rate ? (n * 8e12) / bin : n]);
    return { name, rate, lines: own.slice(0, 6).map((v, style) => ({ name: pairOf(metric, v), style, points: pointsOf(v) })) };
  }).filter((c) => c.lines.length);
}

// pairOf returns the label of a series of credit or tokens: sender and receiver.
export function pairOf(metric, v) {
  if (metric === "rackfab.credit.granted") return `${v.peer}->${v.node}`;
  if (metric === "rackfab.credit.wasted") return `${v.node}->${v.peer}`;
  return `${v.node} ${v.direction ?? ""}`;
}

// cabled returns the topology of a stored run: that of the live rack if it runs the same
// scenario, that of the built-in scenario, or one inferred from the series.
async function cabled(source, app, series) {
  const nodes = new Set(series.map((s) => s.node));
  const fits = (t) => t && (t.nodes ?? []).length >= nodes.size && [...nodes].every((n) => t.nodes.some((v) => v.name === n));
  if (app.session.controller) {
    const live = await call("GetTopology").catch(() => null);
    if (live?.topology.scenario === source.scenario && fits(live.topology)) return live.topology;
  }
  const known = await get(`/api/scenarios/${encodeURIComponent(source.scenario || "-")}`).catch(() => null);
  if (fits(known)) return known;
  return inferred(source, series);
}

// inferred builds a topology from the ports that have series.
function inferred(source, series) {
  const ports = new Map();
  for (const s of series) ports.set(`${s.node}/${s.peer}`, { node: s.node, peer: s.peer, port: s.port ?? 0 });
  const far = (p) => p.peer.split("#")[0]; // the port to a parallel link is named s1#2
  const names = [...new Set([...ports.values()].flatMap((p) => [p.node, far(p)]))];
  const degree = (n) => [...ports.values()].filter((p) => p.node === n).length;
  const nodes = names.map((name) => ({ name, kind: degree(name) > 1 ? "NODE_KIND_SWITCH" : "NODE_KIND_NIC", layer: degree(name) > 1 ? 1 : 0 }));
  const links = [];
  for (const p of ports.values()) {
    const back = ports.get(`${far(p)}/${p.node}${p.peer.slice(far(p).length)}`);
    if (back && p.node < far(p)) links.push({ a: p.node, b: far(p), aPort: p.port, bPort: back.port, rateBps: "40000000000", delayPs: "0" });
  }
  return { scenario: source.scenario, scheme: source.scheme, nodes, links, flows: [] };
}

// framesOf converts series to frames with counters since the start. A point lies at the
// end of its bin, folded points at the start of their step: late is the difference.
function framesOf(topology, series, late) {
  const times = new Set();
  for (const list of Object.values(series)) for (const s of list) for (const t of s.timesPs ?? []) times.add(Number(t));
  const order = [...times].sort((a, b) => a - b);
  const index = new Map(order.map((t, i) => [t, i]));
  const places = new Map(topology.nodes.map((n, i) => [n.name, i]));
  const width = topology.nodes.map(() => 0);
  for (const l of topology.links ?? []) {
    for (const [name, port] of [[l.a, l.aPort ?? 0], [l.b, l.bPort ?? 0]]) width[places.get(name)] = Math.max(width[places.get(name)], port + 1);
  }
  const frames = order.map((t) => ({
    at: t + late, state: "stored", nodes: topology.nodes.map((_, i) => ({ p: Array.from({ length: width[i] }, () => [0, 0, 0, 0, 0, 0, 0, 0]), f: [], d: 0 })),
  }));
  const fill = (metric, at, sum) => {
    for (const s of series[metric]) {
      const node = places.get(s.node), port = s.port ?? 0;
      if (node === undefined || port >= width[node]) continue;
      let total = 0, k = 0;
      for (let i = 0; i < order.length; i++) {
        let value = 0;
        if (k < (s.timesPs?.length ?? 0) && index.get(Number(s.timesPs[k])) === i) value = s.values[k++];
        total += value;
        frames[i].nodes[node].p[port][at] = sum === "flag" ? (value > 0 ? 1 : 0) : sum ? total : value;
      }
    }
  };
  fill("rackfab.port.queue.max", 0, false);
  fill("rackfab.port.sent", 1, true);
  fill("rackfab.port.pauses", 3, true);
  fill("rackfab.port.marks", 5, true);
  fill("rackfab.port.paused", 7, "flag");
  fillFlows(series, order, index, places, frames);
  const history = new History(most + 1);
  for (const f of frames) history.add(f);
  return history;
}

// fillFlows adds the rate limit, sent and delivered bytes of flows; the flows of one
// sender in one burst are combined.
function fillFlows(series, order, index, places, frames) {
  const entries = new Map();
  const add = (metric, at, sum) => {
    for (const s of series[metric]) {
      if (!s.flow) continue;
      const name = partOf(s.flow);
      const values = new Float64Array(order.length);
      let total = 0, value = 0, k = 0;
      for (let i = 0; i < order.length; i++) {
        if (k < s.timesPs.length && index.get(Number(s.timesPs[k])) === i) value = s.values[k++];
        else if (sum) value = 0;
        total += value;
        values[i] = sum ? total : value;
      }
      const e = entries.get(name) ?? { parts: [null, null, null], node: undefined, n: 0 };
      entries.set(name, e);
      if (at === 0) e.n++;
      if (at < 2) e.node ??= places.get(s.node);
      const sumOf = (e.parts[at] ??= new Float64Array(order.length));
      for (let i = 0; i < order.length; i++) sumOf[i] += values[i];
    }
  };
  add("rackfab.flow.rate", 0, false);
  add("rackfab.flow.sent", 1, true);
  add("rackfab.flow.delivered", 2, true);
  for (const [name, e] of entries) {
    if (e.node === undefined) continue;
    const [rate, sent, got] = e.parts;
    const moves = (i) => [sent, got].some((v) => v && v[i] > (i ? v[i - 1] : 0));
    let first = 0, last = order.length - 1;
    while (first < last && !moves(first)) first++;
    while (last > first && !moves(last)) last--;
    for (let i = first; i <= last; i++) frames[i].nodes[e.node].f.push([name, Math.max(e.n, 1), rate?.[i] ?? 0, sent?.[i] ?? 0, got?.[i] ?? 0]);
  }
}
