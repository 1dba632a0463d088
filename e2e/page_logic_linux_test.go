package e2e

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"
)

// modules opens a blank tab with the modules of the page as window.m, without a rack.
func modules(t *testing.T) *browser {
	t.Helper()
	browserPath(t)
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir("../services/page/assets")))
	mux.HandleFunc("/blank", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<!doctype html><title>blank</title><link rel=icon href=/icon.svg>"))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	b := newBrowser(t, 800, 600)
	b.do(t, chromedp.Navigate(server.URL+"/blank"))
	b.until(t, `window.m || (Promise.all(["bins", "model", "series", "analysis", "table", "words", "banner", "address", "recording", "columns", "scene", "layout", "find", "explain", "history", "span", "frames", "panel", "chart", "rack", "stored", "act"].map((n) => import("/" + n + ".js"))).then((all) => { window.m = Object.assign({}, ...all); return import("/format.js") }).then((format) => { m.format = format; }), false)`)
	return b
}

// computed is an expression in JavaScript over the modules of the page, m, and its value.
type computed struct{ expression, want string }

// compute checks the values of expressions, by what they show.
func compute(t *testing.T, cases map[string]computed) {
	t.Helper()
	b := modules(t)
	for name, c := range cases {
		if have := value[string](t, b, c.expression); have != c.want {
			t.Errorf("%s: %q, want %q", name, have, c.want)
		}
	}
	b.quiet(t)
}

// The modules of the page compute what it shows, tested without a rack.
func TestPageModules(t *testing.T) {
	compute(t, map[string]computed{
		"a mean falls to 0 within its span where bins are missing": {
			`m.means([[50, 8], [100, 8], [1000, 4]], 50, 250).map(([t, v]) => t + ":" + v.toFixed(1)).join(" ")`,
			"50:8.0 100:8.0 150:5.3 200:4.0 250:3.2 300:1.6 350:0.0 750:0.0 800:0.0 850:0.0 900:0.0 950:0.0 1000:0.8",
		},
		"a mean without missing bins": {
			`m.means([[50, 5], [100, 10], [150, 0], [200, 5]], 50, 100).map(([t, v]) => t + ":" + v.toFixed(1)).join(" ")`, "50:5.0 100:7.5 150:5.0 200:2.5",
		},
		"the panel of a switch shows PAUSE by its sender": {
			`(() => {
				const {model, frames} = ` + pair + `;
				const of = (node) => new m.Series(model, {kind: "node", node}).over({frames, edits: 0}).filter((g) => g.name.startsWith("PAUSE"))
					.map((g) => g.name.replace(" per ms, mean over 250 us", "") + " " + g.lines.filter((l) => l.peak > 0).map((l) => l.name)).join("; ");
				return of(2) + " | " + of(1) + " | " + of(0);
			})()`,
			"PAUSE sent s1->s0; PAUSE received  | PAUSE sent ; PAUSE received s1->s0 | PAUSE received ; PAUSE sent ",
		},
		"the panel of a link shows PAUSE in both directions": {
			`(() => {
				const {model, frames} = ` + pair + `;
				const of = (lane) => new m.Series(model, {kind: "lane", lane: model.laneById.get(lane)}).over({frames, edits: 0}).filter((g) => g.name.startsWith("PAUSE"))
					.map((g) => g.name.replace(" per ms, mean over 250 us", "") + " " + g.lines.map((l) => l.name + " " + l.peak)).join("; ");
				return of("s1->s0") + " | " + of("s0->s1");
			})()`,
			"PAUSE sent s1->s0 10; PAUSE received s0->s1 0 | PAUSE sent s0->s1 0; PAUSE received s1->s0 10",
		},
		"a PAUSE counts the same whatever the distance of the frames, in the tile, the strip and the panel": {
			`[5e6, 50e6, 125e6].map((apart) => {
				const {model, frames} = ` + pair + `, history = new m.History(), lane = model.laneById.get("s0->s1");
				for (let at = 0; at <= 2e9; at += apart) history.add({...frames[at > 1e9 ? 1 : 0], at});
				const rates = history.frames.map((f, i) => m.snapshot(model, f, history.frames[i - 1], history.frames[m.since(history.frames, i)]).lanes[lane].calmPauseRate);
				const series = new m.Series(model, {kind: "lane", lane}).over(history).find((g) => g.name.startsWith("PAUSE received"));
				const over = (points) => points.filter((v) => v > 0).length * apart / 1e6 + " us of " + Math.max(...points);
				return [rates, series.lines[0].points.map((p) => p[1]), history.outline.points.map((p) => p.rate)].map(over).join(", ");
			}).join("; ")`,
			"250 us of 4, 250 us of 4, 250 us of 4; 250 us of 4, 250 us of 4, 250 us of 4; 250 us of 4, 250 us of 4, 250 us of 4",
		},
		"an outline with fewer points keeps the largest rate of PAUSE": {
			`(() => {
				const {frames} = ` + pair + `, h = new m.History();
				for (let i = 0; i < 10000; i++) h.add({...frames[i > 5000 ? 1 : 0], at: i * 50e6});
				return String(h.outline.points.length < 5000 && Math.max(...h.outline.points.map((p) => p.rate)));
			})()`,
			"4",
		},
		"the panel of a NIC shows entropy moves, if there are any": {
			`(() => {
				const {model, frames} = ` + pair + `;
				frames[1].nodes[0].e = [400, 50, 0];
				frames[2].nodes[0].e = [400, 150, 1];
				return [0, 3].map((node) => new m.Series(model, {kind: "node", node}).over({frames: frames.slice(0, 3), edits: 0}).filter((g) => g.name.startsWith("entropy"))
					.map((g) => g.name + ": " + g.lines.map((l) => l.name + " " + l.points.map(([, v]) => Math.round(v))).join("; "))).join(" | ");
			})()`,
			"entropy moves per ms, mean over 250 us: skipped 4000,2667; recycled 500,1000; freezes 0,7 | ",
		},
		"a congestion tree stays between RESUME and the next PAUSE": {
			`(() => {
				const {model, frames} = ` + pair + `;
				return [[1, 0, 0], [2, 1, 0], [4, 3, 3]].map(([now, was, since]) => {
					const snap = m.snapshot(model, frames[now], frames[was], frames[since]), list = m.trees(model, snap);
					return snap.lanes[model.laneById.get("s0->s1")].paused + " " + list.map((t) => model.nodes[t.root].name + " " + model.lanes[t.port].id);
				}).join("; ");
			})()`,
			"true s1 s1->r0; false s1 s1->r0; false ",
		},
		"a tree and its port stay while the rack runs, and not in the past": {
			`(() => {
				const {model, frames} = ` + pair + `, all = new m.History();
				frames.forEach((f, i) => all.add({...f, seen: i * 30}));
				return [[4, true], [4, false]].map(([at, live]) => {
					const held = m.heldFrames(all, at, live), snap = m.snapshot(model, frames[at], frames[at - 1], frames[m.since(all.frames, at)], held);
					return held.length + " " + m.trees(model, snap).map((t) => model.lanes[t.port].id + " " + t.cycle);
				}).join("; ");
			})()`,
			"5 s1->r0 false; 3 ",
		},
		"links that paused each other in turn are no deadlock, links that do so now are": {
			`(() => {
				const {model, frames} = ` + pair + `, last = structuredClone(frames[1]);
				last.nodes[1].p[1][3] = 1;
				const of = (frame) => m.trees(model, m.snapshot(model, frame, frames[0], frames[0])).map((t) => model.nodes[t.root].name + " " + t.cycle).join();
				const turn = m.snapshot(model, last, frames[0], frames[0]);
				turn.lanes.forEach((l) => { l.paused = false; });
				return of(last) + "; " + m.trees(model, turn).map((t) => model.nodes[t.root].name + " " + t.cycle);
			})()`,
			"s1 true; s1 false",
		},
		"the outline of a run keeps the peaks and bursts that its frames lose": {
			`(() => {
				const h = new m.History(8);
				for (let i = 0; i < 100; i++) h.add({at: i, nodes: [{p: [[i === 41 ? 9 : 1, 0, 0, i, 0, 0, 0, 0]], f: i > 40 && i < 44 ? [["b/h0", 1, 0, 0, 0]] : []}]});
				return [h.length, Math.max(...h.outline.points.map((p) => p.queue)), JSON.stringify([...h.outline.bursts])].join(" ");
			})()`,
			`8 9 [["b",{"from":41,"to":43}]]`,
		},
		"frames of the collector get cut links and delivered bytes from the run": {
			`(() => {
				const run = new m.History(), frame = (at, d, flags, x) => ({at, nodes: [{p: [[0, 0, 0, 0, 0, 0, 0, flags]], d, x}]});
				run.add(frame(0, 100, 1, 0));
				run.add(frame(100, 300, 2, 1));
				return m.complete([frame(50, 0, 0, 0), frame(120, 0, 1, 0)], run).map((f) => [f.nodes[0].d, f.nodes[0].p[0][7], f.nodes[0].x].join(" ")).join("; ");
			})()`,
			"200 0 0; 300 3 1",
		},
		"a recording has the state at any instant": {
			`(() => {
				const port = (values) => [{node: "s1", port: 0, peer: "s0", timesPs: ["50", "100", "200"], values}];
				const r = new m.Recording({nodes: [{name: "h0"}, {name: "s0", kind: "NODE_KIND_SWITCH"}, {name: "s1", kind: "NODE_KIND_SWITCH"}], links: [{a: "h0", b: "s0", bPort: 0}, {a: "s0", b: "s1", aPort: 1}]},
					{"rackfab.port.pauses": port([1, 2, 4]), "rackfab.port.queue.max": port([7, 9, 5]), "rackfab.flow.sent": [{node: "h0", flow: "F0", timesPs: ["100", "200"], values: [3, 4]}]}, 50);
				return [50, 100, 150, 200].map((t) => r.frame(t)).map((f) => f.nodes[2].p[0][3] + " " + f.nodes[2].p[0][0] + " " + (f.nodes[0].f[0]?.[3] ?? "-")).join("; ") + "; peak " + r.peak(r.model.laneById.get("s1->s0"), 50, 200);
			})()`,
			"1 7 -; 3 9 3; 3 0 3; 7 5 7; peak 9",
		},
		"a finished run has no load, and claims none": {
			`(() => {
				const topology = {nodes: [{name: "h0"}, {name: "s0", kind: "NODE_KIND_SWITCH"}, {name: "r0"}], links: [{a: "h0", b: "s0", rateBps: "40000000000"}, {a: "s0", b: "r0", aPort: 1, rateBps: "40000000000"}]};
				const queue = [{node: "s0", port: 1, timesPs: [50e6, 100e6], values: [7, 9]}], pauses = [{node: "s0", timesPs: [50e6, 100e6], values: [1, 2]}];
				return [{}, {"rackfab.port.sent": [], "rackfab.port.marks": []}].map((more) => {
					const r = new m.Recording(topology, {"rackfab.port.queue.max": queue, "rackfab.port.pauses": pauses, ...more}, 50e6), history = new m.History();
					for (const t of [0, 50e6, 100e6]) history.add(r.frame(t));
					const app = {model: r.model, history, index: 2, trees: [], victims: new Map(), snap: m.snapshot(r.model, ...[2, 1, 0].map((i) => history.frames[i]))};
					return ["h0->s0", "s0->r0"].map((id) => {
						const lane = r.model.laneById.get(id);
						return [...m.explain(app, {kind: "link", lanes: [[lane]]}), new m.Series(r.model, {kind: "lane", lane}).over(history).map((g) => g.name.split(" per ")[0])].join(" / ");
					}).join("; ");
				}).join(" | ");
			})()`,
			"h0->s0 paused 3 times in the last 100 us by s0, whose queue to r0 has 9 B / h0->s0, 40 Gbit/s: this run has no load of links / PAUSE sent,PAUSE received; " +
				"s0->r0, 40 Gbit/s: this run has no load of links, 9 B queued at s0 / queue,PAUSE sent,PAUSE received | " +
				"h0->s0 paused 3 times in the last 100 us by s0, whose queue to r0 has 9 B / h0->s0 carries 0 of 40 Gbit/s / rate,queue,PAUSE sent,PAUSE received,marked frames; " +
				"s0->r0 carries 0 of 40 Gbit/s, 9 B queued at s0 / rate,queue,PAUSE sent,PAUSE received,marked frames",
		},
		"a flow counts from 0 at its first frame, and goes on when flows of its sender end": {
			`(() => {
				const {model, frames} = ` + pair + `, of = [null, ["b/h0", 2, 1, 0, 2e5], ["b/h0", 2, 1, 0, 6e5], ["b/h0", 1, 1, 0, 4e5], ["b/h0", 1, 1, 0, 5e5]];
				const all = of.map((e, i) => ({...frames[0], at: i * 50e6, nodes: frames[0].nodes.map((n, k) => (e && k === 0 ? {...n, f: [e]} : n))}));
				model.flows.set("b/h0", {from: 0, to: 3, burst: "b", paths: []});
				const calm = all.map((f, i) => m.snapshot(model, f, all[i - 1], all[0], all.slice(0, i + 1)).flows.map((v) => v.goodput / 1e9)).join();
				return calm + " " + new m.Series(model, {kind: "flow", name: "b/h0"}).over({frames: all, edits: 0})[0].lines[0].points.map((p) => p[1] / 1e9).join();
			})()`,
			",32,48,37.333333333333336,32 32,64,16,16",
		},
	})
}
