// What Compare compares: the live rack, runs of the collector, schemes of finished runs.
// Each has series by metric, states at any instant, and its burst.

import { call } from "./api.js";
import * as format from "./format.js";
import { binOf, sumOf } from "./bins.js";
import { cabled, collected, finished, pairOf, results, seriesOf } from "./stored.js";
import { perMs, since } from "./frames.js";
import { ACKED, entryOf, FLOW_SENT, grown, PAUSES_SENT, portOf, QUEUE, wholeOf } from "./model.js";

const gbit = (v) => format.rate(v);

// metrics lists the series that can be compared, and where the collector and a finished
// run store them.
export const metrics = [
  { id: "goodput", name: "Goodput per flow", show: gbit, metric: "rackfab.flow.delivered", by: "flow", per: 8e12, file: (r) => r.delivered_bytes, perBin: 8e12 },
  { id: "rate", name: "CC rate limit per flow", show: gbit, metric: "rackfab.flow.rate", by: "flow", level: true, file: (r) => r.rate_bps?.map((v) => ({ name: v.name, bins: v.bins_bps })) },
  { id: "sent", name: "TX rate per flow", show: gbit, metric: "rackfab.flow.sent", by: "flow", per: 8e12, file: (r) => r.sent_bytes, perBin: 8e12 },
  { id: "queue", name: "Queue per port", show: format.bytes, metric: "rackfab.port.queue.max", by: "port", file: (r) => r.queue_bytes?.map((v) => ({ name: v.port, bins: v.peak })) },
  { id: "pauses", name: "PAUSE frames per ms, mean over 250 us", show: format.count, metric: "rackfab.port.pauses", by: "port", per: 1e9, file: (r) => r.pause_frames?.map((v) => ({ name: v.link, bins: v.bins })), perBin: 1e9, mean: 250e6 },
  { id: "credit", name: "Credit granted", show: gbit, metric: "rackfab.credit.granted", by: "pair", per: 8e12, file: (r) => r.credit_granted_bytes, perBin: 8e12 },
  { id: "wasted", name: "Credit wasted", show: gbit, metric: "rackfab.credit.wasted", by: "pair", per: 8e12, file: (r) => r.credit_wasted_bytes, perBin: 8e12 },
  { id: "tokens", name: "Tokens", show: format.bytes, metric: "rackfab.tokens", by: "pair", level: true, file: (r) => r.tokens_bytes?.map((v) => ({ name: `${v.node} ${v.direction}`, bins: v.bins })) },
];

export const metricOf = (id) => metrics.find((m) => m.id === id);

// open returns a source: {series(metric): lines [{name, bin, points}], recording(from, to):
// its model, frames and queue peaks, burst: {from, to} or null, run: its figures or null}.
export async function open(source, app) {
  if (source.live) return live(app);
  return source.run ? fromCollector(source, app) : fromFolder(source);
}

async function fromFolder(source) {
  const [all, { scenario, runs }] = await Promise.all([seriesOf(source.folder), results(source.folder)]);
  const file = all[source.scheme], run = runs.find((v) => v.scheme === source.scheme), bin = file?.bin_ps;
  if (!file || !run) throw new Error(`${source.label}: the folder has no scheme ${source.scheme}`);
  let states;
  return {
    scenario, run, burst: run.burst?.flows ? { from: run.burst.start_ps, to: run.burst.end_ps } : null,
    series: (m) => (m.file(file) ?? []).map((v) => ({ name: v.name, bin, points: v.bins.map((n, i) => [(i + 1) * bin, m.perBin ? (n * m.perBin) / bin : n]) })),
    recording: () => (states ??= finished(source)),
  };
}

async function fromCollector(source, app) {
  const known = new Map(); // metric -> series
  const series = async (m) => {
    if (!known.has(m.id)) known.set(m.id, await stored(source, m, app));
    return known.get(m.id).lines;
  };
  await series(metricOf("goodput"));
  let states, range = "";
  return {
    scenario: source.run.scenario, run: null, burst: known.get("goodput").burst, series,
    recording: (from, to) => {
      if (range !== `${from} ${to}`) [range, states] = [`${from} ${to}`, collected(source, app, from, to)];
      return states;
    },
  };
}

// stored returns the lines of a metric of a run in the collector, and the time of its bursts.
async function stored(source, m, app) {
  const out = await call("QuerySeries", { select: { run: source.run.run, metric: m.metric }, limit: 1000000 });
  const series = out.series ?? [], bin = binOf(series) || 50e6, of = new Map();
  for (const v of series) {
    const name = m.by === "flow" ? wholeOf(v.flow ?? "") || `${v.node}` : m.by === "port" ? `${v.node}->${v.peer}` : pairOf(m.metric, v);
    of.set(name, (of.get(name) ?? []).concat(v));
  }
  const topology = await cabled(source, app, series), bursts = new Set((topology.flows ?? []).map((f) => f.burst).filter(Boolean));
  const parts = series.filter((v) => v.timesPs?.length && bursts.has(wholeOf(v.flow ?? "")));
  const burst = parts.length ? { from: Math.min(...parts.map((v) => Number(v.timesPs[0]))) - bin, to: Math.max(...parts.map((v) => Number(v.timesPs.at(-1)))) } : null;
  return { burst, lines: [...of].map(([name, own]) => ({ name, bin, points: sumOf(own, bin, m.level).map(([t, v]) => [t, m.per ? (v * m.per) / bin : v]) })) };
}

// live returns the source of the frames on the page.
function live(app) {
  const { frames } = app.run, { model } = app;
  const inBurst = frames.filter((f) => f.nodes.some((n) => n.f?.some((e) => e[0].includes("/"))));
  const recording = {
    model, bin: 0, frame: (t) => frames[app.run.indexAt(t)],
    before: (t) => frames[Math.max(0, app.run.indexAt(t) - 1)],
    peak: (lane, from, to) => {
      const l = model.lanes[lane];
      return frames.reduce((most, f) => (f.at >= from && f.at <= to ? Math.max(most, f.nodes[l.from].p[l.port]?.[QUEUE] ?? 0) : most), 0);
    },
  };
  const known = new Map(); // metric -> lines
  const series = (m) => {
    if (!known.has(m.id)) known.set(m.id, lines(app, m));
    return known.get(m.id);
  };
  return { scenario: model.scenario, run: null, burst: inBurst.length > 1 ? { from: inBurst[0].at, to: inBurst.at(-1).at } : null, series, recording: () => recording };
}

// Sums adds up series of the same name: the flows of a burst are one line, as in the files
// of a finished run.
class Sums {
  constructor() { this.all = new Map(); }

  add(name, t, v) {
    if (!this.all.has(name)) this.all.set(name, new Map());
    const one = this.all.get(name);
    one.set(t, (one.get(t) ?? 0) + v);
  }

  lines() { return [...this.all].map(([name, sum]) => ({ name, points: [...sum].sort((a, b) => a[0] - b[0]) })); }
}

// lines returns a metric of the frames on the page.
function lines(app, m) {
  const frames = app.run.frames, { model } = app, sums = new Sums();
  for (let i = 1; i < frames.length; i++) {
    const f = frames[i], was = frames[i - 1], span = f.at - was.at, calm = frames[since(frames, i)];
    f.nodes.forEach((n, node) => {
      if (m.by === "port") {
        for (const lane of model.nodes[node].lanes) {
          const p = n.p[model.lanes[lane].port], b = portOf(calm, node, model.lanes[lane].port);
          sums.add(model.lanes[lane].id, f.at, m.id === "queue" ? p[QUEUE] : perMs(p[PAUSES_SENT], b[PAUSES_SENT], f.at - calm.at));
        }
      } else if (m.by === "flow") {
        for (const e of n.f ?? []) {
          const bps = (at) => (grown(e, entryOf(was, node, e[0]), at) * 8e12) / span;
          if (m.id === "rate") sums.add(wholeOf(e[0]), f.at, e[2]);
          else if (m.id === "goodput" || m.id === "sent") sums.add(wholeOf(e[0]), f.at, bps(m.id === "goodput" ? ACKED : FLOW_SENT));
        }
      }
    });
  }
  return sums.lines();
}
