// Stored runs: those in the collector, and the folders of finished runs. Both have series
// by metric, and can be played back.

import { call, get } from "./api.js";
import { binOf, sumOf } from "./bins.js";
import { toast } from "./dom.js";
import { History } from "./history.js";
import { build } from "./model.js";
import { metricsOf, Recording } from "./recording.js";

const most = 900; // frames of a played run

// runs lists the stored runs, a run of one scheme each: {id, label, scheme}, and run (of the
// collector) or folder.
export async function runs(session) {
  const list = [];
  if (session.collector) {
    const out = await call("ListRuns").catch((e) => {
      toast(`the collector does not answer: ${e.message}`, true);
      return {}; // the finished runs remain
    });
    for (const r of out.runs ?? []) {
      list.push({ id: `collector:${r.run}`, label: `${r.scheme ?? ""} · ${r.scenario || ""} · ${r.run}`, scheme: r.scheme ?? "", run: r });
    }
  }
  if (session.runs) {
    const folders = await get("/api/runs");
    const known = await Promise.all(folders.map(async ({ name, schemes }) => {
      // A folder without a manifest may be incomplete: then it has no runs yet.
      const all = schemes.length ? schemes : await results(name).then((r) => (r.runs ?? []).map((v) => v.scheme), () => []);
      return all.map((scheme) => ({ id: `folder:${name}:${scheme}`, label: `${scheme} · ${session.runs}/${name}`, scheme, folder: name }));
    }));
    list.push(...known.flat());
  }
  return list;
}

// newFolder returns the path of a folder in the folder of runs that no run has, by the time.
export const newFolder = (runs, now = new Date()) => `${runs || "runs"}/pcn-16to2-${now.toISOString().slice(0, 19).replaceAll(/[-:]/g, "").replace("T", "-")}`;

// runCommand returns a command whose run this page lists. By default rackfab run chooses a
// new folder in runs.
export const runCommand = (runs) => (!runs || runs === "runs" ? "rackfab run pcn-16to2" : `rackfab run pcn-16to2 --output ${newFolder(runs)}`);

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

// seriesOf returns the time series of all schemes of a finished run. They are fetched once.
export function seriesOf(folder) {
  if (!files.has(folder)) files.set(folder, get(`/api/runs/${encodeURIComponent(folder)}/series.json`));
  while (files.size > 3) files.delete(files.keys().next().value);
  return files.get(folder);
}

const files = new Map(); // folder -> the promise of its series

// load returns a stored run with frames to play back: {source, topology, history, note}.
export async function load(id, app) {
  const source = (await runs(app.session)).find((r) => r.id === id);
  if (!source) throw new Error(`${id}: there is no such run. It may have been deleted, or belong to another folder (rackfab page --runs) or collector.`);
  const recording = source.run ? await collected(source, app) : await finished(source);
  const { times } = recording, step = Math.max(1, Math.ceil(times.length / most)), history = new History(most + 1);
  for (let i = step - 1; i < times.length + step - 1; i += step) history.add(recording.frame(times[Math.min(i, times.length - 1)], step * recording.bin));
  if (!history.length) throw new Error(`${id}: it has no series of ports. The collector stores them as the run proceeds.`);
  return { source, topology: recording.topology, history, note: recording.note ?? "" };
}

// collected returns the recording of a run of the collector, or of the part between two
// instants, in at most 900 steps.
export async function collected(source, app, from, to) {
  const { run } = source.run, part = from === undefined ? {} : range(from, to);
  const ask = (metric, stepPs) => call("QuerySeries", { select: { run, metric }, limit: 1000000, stepPs: String(stepPs), ...part });
  const probe = await ask(metricsOf[0], 0), ports = probe.series ?? [], bin = binOf(ports) || 50e6;
  const ends = ports.flatMap((v) => [Number(v.timesPs?.[0] ?? 0), Number(v.timesPs?.at(-1) ?? 0)]);
  const folds = Math.ceil((Math.max(...ends, 0) - Math.min(...ends, Infinity)) / most / bin);
  const step = folds > 1 ? folds * bin : 0, late = step ? step - bin : 0; // folded points lie at the start of their step
  const answers = await Promise.all(metricsOf.map((m, i) => (i || step ? ask(m, step).catch(() => ({})) : probe)));
  const shifted = (v) => (late ? { ...v, timesPs: (v.timesPs ?? []).map((t) => Number(t) + late) } : v);
  const series = Object.fromEntries(metricsOf.map((m, i) => [m, (answers[i].series ?? []).map(shifted)]));
  width = bin;
  const out = new Recording(await cabled(source, app, ports), series, step || bin);
  if (answers.some((a) => a.truncated)) out.note = "Too many points: the run is shown at a lower resolution.";
  return out;
}

let width = 50e6;

// bin returns the width of the bins of the run that was read last, in ps.
export const bin = () => width;

// framesIn returns the frames of a range of the displayed run, from the collector or from
// the files of a finished run.
export async function framesIn(app, from, to) {
  const source = app.stored ? app.source : { id: "live", scheme: "", run: { run: "", scenario: app.model.scenario } };
  const recording = source.run ? await collected(source, app, from, to) : await finished(source);
  return recording.times.filter((t) => t >= from && t <= to).map((t) => recording.frame(t));
}

const range = (from, to) => ({ fromPs: String(Math.max(0, Math.round(from))), toPs: String(Math.round(to) + 1) });

// finished returns the recording of a finished run. Its files have PAUSE frames, queues and
// long flows, but not the load of links.
export async function finished(source) {
  const [all, topology] = await Promise.all([seriesOf(source.folder), get(`/api/runs/${encodeURIComponent(source.folder)}/topology`)]);
  const run = all[source.scheme];
  if (!run) throw new Error(`${source.id}: series.json has no scheme ${source.scheme}`);
  const bin = width = run.bin_ps, senders = new Map((topology.flows ?? []).map((f) => [f.name, f.from])), places = portsOf(topology);
  const points = (bins) => ({ timesPs: bins.map((_, i) => (i + 1) * bin), values: bins });
  const ofPorts = (list, name, bins) => (list ?? []).flatMap((v) => (places.has(v[name]) ? [{ ...places.get(v[name]), ...points(v[bins]) }] : []));
  const ofFlows = (list, bins) => (list ?? []).filter((v) => senders.has(v.name)).map((v) => ({ flow: v.name, node: senders.get(v.name), ...points(v[bins]) }));
  return new Recording(topology, {
    "rackfab.port.queue.max": ofPorts(run.queue_bytes, "port", "peak"), "rackfab.port.pauses": ofPorts(run.pause_frames, "link", "bins"),
    "rackfab.flow.rate": ofFlows(run.rate_bps, "bins_bps"), "rackfab.flow.sent": ofFlows(run.sent_bytes, "bins"), "rackfab.flow.delivered": ofFlows(run.delivered_bytes, "bins"),
  }, bin);
}

// portsOf returns the port {node, port, peer} of each direction of a link, "s0->s1".
function portsOf(topology) {
  const model = build(topology);
  return new Map(model.lanes.map((l) => [l.id, { node: model.nodes[l.from].name, port: l.port, peer: model.nodes[l.to].name }]));
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

// cabled returns the topology of a run of the collector: that of the live rack if it runs the
// same scenario, that of the built-in scenario, or one inferred from series of ports.
export async function cabled(source, app, series) {
  const nodes = new Set(series.map((s) => s.node));
  const fits = (t) => t && (t.nodes ?? []).length >= nodes.size && [...nodes].every((n) => t.nodes.some((v) => v.name === n));
  if (!cables.has(source.id)) cables.set(source.id, candidates(source, app));
  return (await cables.get(source.id)).find(fits) ?? inferred(source, series);
}

const cables = new Map(); // id of a run -> the promise of the topologies that may be its own

async function candidates(source, app) {
  const live = app.session.controller && app.status ? await call("GetTopology").catch(() => null) : null;
  const known = await get(`/api/scenarios/${encodeURIComponent(source.run.scenario || "-")}`).catch(() => null);
  return [live?.topology.scenario === source.run.scenario && live.topology, known].filter(Boolean);
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
  return { scenario: source.run.scenario, scheme: source.scheme, nodes, links, flows: [] };
}
