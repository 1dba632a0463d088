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

// The modules of the page compute what it shows, tested without a rack.
func TestPageModules(t *testing.T) {
	b := modules(t)
	for name, c := range map[string]struct{ expression, want string }{
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
		"a link explains itself": {
			`(() => {
				const {model, frames} = ` + pair + `, history = new m.History();
				frames.forEach((f) => history.add(f));
				const say = (index) => m.explain({model, history, index, trees: [], victims: new Map(), snap: m.snapshot(model, frames[index], frames[index - 1])}, {kind: "link", lanes: [[model.laneById.get("s0->s1")]]}).join(" / ");
				return [1, 2, 4].map(say).join(" | ");
			})()`,
			"s0->s1 paused 50 % of the last 100 us by s1, whose queue to r0 has 5 KB / s0->s1 carries 0 of 0 | " +
				"s0->s1 paused 50 % of the last 150 us by s1, whose queue to r0 has 5 KB / s0->s1 carries 0 of 0 | " +
				"s0->s1 paused 8 % of the last 950 us by s1, whose queue to r0 has 5 KB / s0->s1 carries 0 of 0",
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
		"a search lists the name itself first": {
			`m.matches(` + leafSpine + `(2, 12, 1), "H1").slice(0, 4).map((v) => v.name + " " + v.kind).join(", ")`, "h1 NIC, h10 NIC, h11 NIC, h12 NIC",
		},
		"nodes of large racks do not overlap, and lie in the drawing": {
			`[[2, 16, 1], [4, 30, 4], [30, 32, 18]].flatMap(([leaves, hosts, spines]) => [[920, 340], [340, 600]].flatMap(([w, h]) => [false, true].map((open) => {
				const model = ` + leafSpine + `(leaves, hosts, spines), scene = m.sceneOf(model, open ? new Set(m.leavesOf(model).keys()) : m.openAtFirst(model));
				return ` + faults + `(m.place(scene, w, h));
			}))).join(", ")`,
			"35 0 0, 35 0 0, 35 0 0, 35 0 0, 12 0 0, 128 0 0, 12 0 0, 128 0 0, 78 0 0, 1008 0 0, 78 0 0, 1008 0 0",
		},
		"nodes of small racks do not overlap in narrow drawings, and are drawn large": {
			`(() => {
				const model = ` + paper + `, scene = m.sceneOf(model, m.openAtFirst(model)), found = new Set();
				for (let w = 226; w <= 396; w += 10) for (let h = 360; h <= 520; h += 8) {
					const drawn = m.place(scene, w, h);
					found.add(` + faults + `(drawn) + (drawn.height > 1.05 * h ? " small" : ""));
				}
				return [...found].join(", ");
			})()`,
			"20 0 0",
		},
		"a collapsed leaf has the sum of its links": {
			`(() => {
				const model = ` + leafSpine + `(2, 30, 1), scene = m.sceneOf(model, new Set());
				const lanes = model.lanes.map((l, i) => ({bps: 1e9, queue: i, pauses: 0, paused: i === 0, down: i < 2}));
				const lane = scene.lanes[scene.laneOf[0]], l = m.stateOf({lanes}, lane);
				return [scene.nodes[lane.from].name, scene.nodes[lane.to].name, lane.rate, l.bps, l.queue, l.paused, l.down, l.pausedLanes, l.downLanes].join(" ");
			})()`,
			"30 NICs leaf0 1200000000000 30000000000 58 true false 1 1",
		},
		"a throughput dip cut off by the end of the run is a lower bound": {
			`[[79.7e9, 80e9], [79.65e9, 80e9], [79.7e9, 200e9], [0, 80e9]].map(([loss, end]) =>
				m.textOf(m.columns.find((c) => c.name === "dip ms"), {run: {loss_ps: loss, fabric_time_ps: end, bin_ps: 50e6, burst: {start_ps: 300e6}}})).join(" ")`,
			">79.70 79.65 79.70 0.00",
		},
		"a message says where its time went, the largest share first": {
			`m.pathWords([{part: "sender", node: "h0", took: 2738831600, paused: 2336154400}, {part: "wire", node: "h0->s0", took: 5212400, paused: 0},
				{part: "switch", node: "s0", took: 438363600, paused: 356682000}, {part: "target", node: "r0", took: 0, paused: 0}])`,
			"paused 2.69 ms (2.34 ms at h0, 357 us at s0), waiting to be sent 403 us at h0, queued 81.7 us at s0, on the wire 5.21 us",
		},
		"a span is described in words and units": {
			`[{name: "switch", node: "s0", startPs: "0", endPs: "3176767200", attributes: [["frames", "1000"], ["bytes", "1062016"], ["carries", "data"], ["queued_ps", "622560675600"], ["paused_ps", "2732983200"], ["queue_bytes.max", "459878"]]},
				{name: "wire", node: "r0", startPs: "0", endPs: "5013200", attributes: [["peer", "s1"], ["direction", "back"], ["serialisation_ps", "13200"], ["propagation_ps", "5000000"]]}]
				.map((v) => m.spanWords({...v, attributes: v.attributes.map(([key, number]) => ({key: "rackfab." + key, number}))})).join(" ")`,
			"s0 forwarded 1000 frames of data (1.06 MB) in 3.18 ms; a frame stayed 623 us on average, paused 2.73 ms, queue up to 460 KB. " +
				"On the wire from r0 to s1 on the way back for 5.01 us: serialisation 13.2 ns, propagation 5 us.",
		},
		"a sender's span has the pauses of its events": {
			`m.spanWords({name: "data", node: "h0", startPs: "100000000", endPs: "3260000000", attributes: [{key: "rackfab.frames", number: "1000"}, {key: "rackfab.carries", text: "data"}],
				events: [{name: "pause", atPs: "90000000"}, ...[["150000000", "80000000"], ["3000000000", "2710000000"]].map(([atPs, number]) => ({name: "resume", atPs, attributes: [{key: "rackfab.paused_ps", number}]}))]})`,
			"h0 sent 1000 frames of data in 3.16 ms, paused 2.76 ms.",
		},
		"events are described in words": {
			`[{name: "resume", attributes: [{key: "rackfab.paused_ps", number: "87800800"}]}, {name: "rate", attributes: [{key: "rackfab.rate.new", number: "5000000000"}]}, {name: "mark", attributes: [{key: "rackfab.times", number: "3"}]}]
				.map((e) => m.eventWords(e) + " " + m.markOf(e.name)).join("; ")`,
			"resumed after 87.8 us resume; rate, rate new 5 Gbit/s rate; marked, 3 times mark",
		},
		"the banner names the fault, its begin and its reason": {
			`(() => {
				const at = {state: "running", at: 2e9}, ok = {closed: 0, absent: null, status: at, arrived: 99000, failed: 0, stored: false, host: "x:1", frames: true};
				return [ok, {...ok, closed: 90000}, {...ok, absent: {reason: "dial tcp 127.0.0.1:7000: connect: connection refused", since: 80000, up: false}, status: null},
					{...ok, status: {...at, state: "failed", failed: "h5", failure: "killed"}, failed: 70000}, {...ok, status: {...at, stalled: "waits for s1: silent for 3 s", stalledSince: 60000}},
					{...ok, arrived: 50000}, {...ok, stored: true, arrived: 0}, {...ok, status: {...at, state: "paused", stalled: "paused by a user"}, arrived: 0},
					{...ok, status: {...at, state: "paused", stalled: "stalled for 4 s: bus unreachable", stalledSince: 60000}}, {...ok, status: {...at, state: "recovering", stalled: "recovers from a loss: node h5: EOF", stalledSince: 60000}}]
					.map((v) => m.faultOf(v, 100000)).map((f) => f ? [f.title, f.since, f.why].join(", ") : "none").join("; ");
			})()`,
			"none; The server of this page does not answer, 90000, nothing answers at x:1; The rack is gone, 80000, nothing listens at 127.0.0.1:7000; " +
				"The run failed, 70000, node h5: killed; the rack is at 2.000 ms; The rack does not move, 60000, waits for s1: silent for 3 s; " +
				"The rack does not move, 50000, no new state has arrived, although its clock runs; the last one is of 2.000 ms; none; none; " +
				"The rack does not move, 60000, stalled for 4 s: bus unreachable; The rack recovers, 60000, recovers from a loss: node h5: EOF; the rack is at 2.000 ms",
		},
		"the header shows a stall, the start of a rack and a clock that has not started": {
			`[[{state: "running"}], [{state: "running", stalled: "stalled for 3 s: bus unreachable"}], [{state: "recovering", stalled: "recovers"}], [{state: "paused", stalled: "paused by a user"}], [{state: "failed"}],
				[null, {reason: "a run is starting: it waits for its nodes"}], [null, {reason: "", up: true}], [null, {reason: "no live rack"}], [null, null]].map((v) => m.phaseOf(...v)).join(" ")`,
			"running stalled recovering paused failed starting waiting none none",
		},
		"the notice of a missing rack says whether one is starting": {
			`["a run is starting: it waits for its nodes", "no live rack: StartRack starts one, as rackfab up --controller does", "no controller"]
				.map((absent) => m.absence({controller: true}, {absent, up: false})).map((v) => [v.title, v.text.split(". ")[0], (v.commands ?? []).length].join(", ")).join("; ")`,
			"The rack is starting, A run is starting: it waits for its nodes, 0; No live rack, The controller of this page has no rack so far, 1; No live rack, No controller, 1",
		},
		"the alert of a fault does not change while it lasts": {
			`(() => {
				const box = document.createElement("div"), faults = ["for 2 s", "for 3 s", ""].map((why) => why && {title: "The rack does not move", since: 1, why, help: "Wait."});
				let fault = faults[0];
				const banner = new m.Banner(box, () => fault);
				return box.getAttribute("role") + " " + faults.map((f) => { fault = f || null; banner.update(); return box.querySelector("[role=alert]").textContent + " " + box.querySelector(".why").textContent; }).join("; ");
			})()`,
			"null The rack does not move: for 2 s. Wait. For 2 s.; The rack does not move: for 2 s. Wait. For 3 s.;  For 3 s.",
		},
		"the page says why it cannot control a rack": {
			`(() => {
				const ok = {controller: true, stored: false, status: {state: "running"}, absent: null};
				return [ok, {...ok, stored: true}, {...ok, controller: false}, {...ok, status: null}, {...ok, status: null, absent: {up: true}}, {...ok, status: {state: "failed"}}].map(m.obstacleOf).map((v) => v.slice(0, 35)).join("; ");
			})()`,
			"; This is a stored run. To control th; This page has no controller, and so; The controls appear when there is a; The controls appear when the clock ; The run failed, and can no longer b",
		},
		"a run without progress failed because of those that wait": {
			`[{failed: "h5", failure: "no progress for 2.4s: s0 waits for h1"}, {failed: "h5", failure: "left the run before its end"}].map(m.failureOf).join("; ")`,
			"no progress for 2.4s: s0 waits for h1; node h5: left the run before its end",
		},
		"an address names a selection and an instant without loss": {
			`(() => {
				const {model} = ` + pair + `;
				m.write({at: m.instant(813750001)});
				return ["node:s1", "link:s1->s0", "flow:F0", "node:none"].map((text) => m.nameOf(model, m.selectionOf(model, text))).join(" ") + " " + m.readInstant("at");
			})()`,
			"node:s1 link:s1->s0   813750001",
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
		"the facts of a link and its words have the same load, and a burst the limit of each flow": {
			`(() => {
				const model = ` + paper + `, all = [0, 100e6, 200e6, 250e6].map((at, i) => ({at, nodes: model.nodes.map((n) => ({p: n.lanes.map(() => [0, [0, 4e5, 9e5, 1e6][i], 0, 0, 0, 0, 0, 0]), d: 0, f: n.name === "h5" ? [["burst/h5", 16, 640e9, i * 1e5, 0]] : []}))}));
				const snap = m.snapshot(model, all[3], all[2], all[0]), lane = model.laneById.get("h0->s0"), flow = {kind: "flow", name: "burst/h5"};
				const app = {model, snap, history: Object.assign(new m.History(), {frames: all}), index: 3, trees: [], victims: new Map()};
				return [{kind: "lane", lane}, flow].map((what) => m.facts(model, snap, what, app.victims)).concat(m.explain(app, {kind: "link", lanes: [[lane]]}), m.explain(app, flow),
					m.explain({...app, trees: [{root: model.byName.get("s1"), port: -1, lanes: [{lane}]}]}, {kind: "node", node: model.byName.get("s1")})[0]).join(" / ");
			})()`,
			"40 Gbit/s, 0 ps · load 80 % · queue 0 / h5 → r1 · 9.6 Gbit/s in 16 flows, each allowed 40 Gbit/s by congestion control / h0->s0 carries 32 Gbit/s of 40 Gbit/s / " +
				"burst/h5 to r1: 9.6 Gbit/s in 16 flows, each allowed 40 Gbit/s by congestion control / s1 is the root of a congestion tree of 1 recently paused link",
		},
		"the values under the pointer stay when the chart is drawn again": {
			`(() => {
				const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), said = () => [...svg.querySelectorAll(".under text")].map((v) => v.textContent).join(" ") || "none";
				document.body.append(svg);
				const draw = (v) => m.chart(svg, [{name: "a", points: [[0, v], [1e9, v]]}], {width: 300, height: 100, from: 0, to: 1e9, show: String});
				const point = (kind) => svg.dispatchEvent(new PointerEvent(kind, {clientX: svg.getBoundingClientRect().x + 52 + 120}));
				draw(1);
				const all = [said()];
				for (const step of [() => point("pointermove"), () => draw(2), () => point("pointerleave"), () => draw(3)]) {
					step();
					all.push(said());
				}
				svg.remove();
				return all.join(", ");
			})()`,
			"none, 0.500 ms 1, 0.500 ms 2, none, none",
		},
		"victims have a label in small racks, at open leaves of large ones, and at collapsed ones": {
			`[[2, 4, true], [4, 30, true], [4, 30, false]].map(([leaves, hosts, open]) => {
				const model = ` + leafSpine + `(leaves, hosts, 4), box = document.createElement("div"), frame = (at) => ({at, nodes: model.nodes.map((n) => ({p: n.lanes.map(() => [0, 0, 0, 0, 0, 0, 0, 0]), d: 0}))});
				box.style = "width: 900px; height: 500px; position: relative";
				document.body.append(box);
				model.flows.set("V", {name: "V", burst: "", from: 1, to: 5, paths: [[model.laneById.get("h1->leaf0")]]});
				const rack = new m.Rack(box, () => {}, () => []);
				rack.show(model);
				if (open && !rack.open.size) rack.toggleAll();
				rack.update(m.snapshot(model, frame(1), frame(0)), [], new Map([["V", {}]]), null);
				const at = rack.layout.boxes[rack.scene.nodeOf[1]], tag = box.querySelector(".tag").getBBox();
				const near = Math.abs(tag.x + tag.width / 2 - at.x) < 40 && Math.abs(tag.y + tag.height / 2 - at.y) < at.h / 2 + 12;
				const text = box.querySelectorAll(".tag-name").length + " " + box.querySelector(".tag-name").textContent + (near ? "" : " elsewhere");
				box.remove();
				return text;
			}).join("; ")`,
			"1 V victim; 1 h1: V victim; 1 V victim",
		},
		"the picture of a selection has the span and the scheme": {
			`(() => {
				const {model, frames} = ` + pair + `, history = new m.History(), snap = m.snapshot(model, frames[1], frames[0]);
				frames.forEach((f) => history.add(f));
				const app = {model, snap, history, index: 1, trees: [], victims: new Map(), span: {from: 50e6, to: 120e6}, status: {scheme: "pfc"}, messages: () => false, able: () => false, far: () => []};
				const panel = new m.Panel(document.createElement("div"), Object.assign(app, {model: {...model, scenario: "pair"}}));
				panel.show({kind: "lane", lane: 0});
				return panel.picture().title + ", " + panel.picture().facts[0];
			})()`,
			"pair · pfc · Link h0 → s0, 0.050 ms to 0.120 ms; the line marks 0.100 ms",
		},
		"the ticks of an axis are round, with the digits that they need": {
			`[[0, 1.51e9], [50e6, 5e9], [300e6, 4.05e9], [3e6, 115e6], [27e9, 27.4e9], [0, 2.5e12]].map(([from, to]) => m.format.ticks(from, to, 300).map((v) => v[1]).join()).join("; ") +
				"; " + new m.Span({run: {frames: [{at: 50e6}], last: {at: 5e9}}}).text()`,
			"0 ms,0.5 ms,1 ms,1.5 ms; 2 ms,4 ms; 1 ms,2 ms,3 ms,4 ms; 50 us,100 us; 27 ms,27.1 ms,27.2 ms,27.3 ms,27.4 ms; 0 s,1 s,2 s; 0.05 ms to 5 ms",
		},
		"the victim of a window crosses a paused link but not the congested port": {
			`(() => {
				const model = m.build({nodes: [{name: "h0"}, {name: "h1"}, {name: "s0", kind: "NODE_KIND_SWITCH"}, {name: "r0"}, {name: "r1"}], links: [{a: "h0", b: "s0"}, {a: "h1", b: "s0", bPort: 1}, {a: "s0", b: "r0", aPort: 2}, {a: "s0", b: "r1", aPort: 3}],
					flows: [{name: "F0", from: "h0", to: "r0", path: ["h0", "s0", "r0"]}, {name: "F1", from: "h1", to: "r1", path: ["h1", "s0", "r1"]}]});
				const lanes = model.lanes.map((l) => ({recentlyPaused: ["h0->s0", "h1->s0"].includes(l.id), queue: l.id === "s0->r1" ? 9 : 1}));
				return m.victimsOver(model, lanes).join() + "; " + m.victimsOver(model, lanes.map((l) => ({...l, recentlyPaused: false}))).join();
			})()`,
			"F0; ",
		},
		"a chart of many lines shows the largest, and counts the others": {
			`[[3, 9, 8, 7, 6, 5, 4, 0.01, 0], [3, 0.01], [3, 2], [0, 0]].map((peaks) => {
				const {names, more} = m.largestOf(new Map(peaks.map((v, i) => ["p" + i, v])));
				return names.join() + " " + m.keysOf({columns: [names.map((name) => ({name}))], more}).slice(names.length).map((k) => k[1]).join();
			}).join("; ")`, "p1,p2,p3,p4,p5,p6 and 2 more, with lower peaks; p0 and 1 more, with a lower peak; p0,p1 ;  ",
		},
		"a suggested run has a folder of its own": {
			`[m.runCommand("runs"), m.runCommand(""), m.runCommand("old").startsWith("rackfab run pcn-16to2 --out old/pcn-16to2-2"), m.newFolder("", new Date(Date.UTC(2026, 10, 27, 3, 6, 9)))].join("; ")`,
			"rackfab run pcn-16to2; rackfab run pcn-16to2; true; runs/pcn-16to2-20261127-030609",
		},
		"the window of a burst has a margin around it": {
			`[[{burst: {from: 300e6, to: 3300e6}}, {burst: null}], [{burst: null}]].map((list) => JSON.stringify(m.burstWindow(list))).join(" ")`,
			`{"from":0,"to":4050000000} null`,
		},
		"a recovery cut off by the end of the run is a lower bound": {
			`[[79.7e9, 80e9], [25e9, 80e9]].map(([recovery, end]) =>
				m.textOf(m.columns.find((c) => c.name === "recovery ms"), {run: {recovery_ps: recovery, fabric_time_ps: end, burst: {start_ps: 300e6}}})).join(" ")`,
			">79.70 25.00",
		},
	} {
		if have := value[string](t, b, c.expression); have != c.want {
			t.Errorf("%s: %q, want %q", name, have, c.want)
		}
	}
	b.quiet(t)
}
