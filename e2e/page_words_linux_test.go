package e2e

import "testing"

// The modules of the page describe what it shows in words.
func TestPageModulesDescribe(t *testing.T) {
	compute(t, map[string]computed{
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
		"a search lists the name itself first": {
			`m.matches(` + leafSpine + `(2, 12, 1), "H1").slice(0, 4).map((v) => v.name + " " + v.kind).join(", ")`, "h1 NIC, h10 NIC, h11 NIC, h12 NIC",
		},
		"a throughput dip cut off by the end of the run is a lower bound": {
			`[[79.7e9, 80e9], [79.65e9, 80e9], [79.7e9, 200e9], [0, 80e9]].map(([loss, end]) =>
				m.textOf(m.columns.find((c) => c.name === "dip ms"), {run: {loss_ps: loss, fabric_time_ps: end, bin_ps: 50e6, burst: {start_ps: 300e6, flows: 1}, flows: [{start_ps: 0, end_ps: end}]}})).join(" ")`,
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
		"a suggested run has a folder of its own": {
			`[m.runCommand("runs"), m.runCommand(""), m.runCommand("old").startsWith("rackfab run pcn-16to2 --output old/pcn-16to2-2"), m.newFolder("", new Date(Date.UTC(2026, 10, 27, 3, 6, 9)))].join("; ")`,
			"rackfab run pcn-16to2; rackfab run pcn-16to2; true; runs/pcn-16to2-20261127-030609",
		},
		"a recovery cut off by the end of the run is a lower bound": {
			`[[79.7e9, 80e9, 0], [78.75e9, 80e9, 0], [78.7e9, 80e9, 0], [25e9, 80e9, 0], [0, 80e9, 400e6]].map(([recovery, end, start]) =>
				m.textOf(m.columns.find((c) => c.name === "recovery ms"), {run: {recovery_ps: recovery, fabric_time_ps: end, burst: {start_ps: 300e6, flows: 1}, flows: [{start_ps: start, end_ps: end}]}})).join(" ")`,
			">79.70 >78.75 78.70 25.00 –",
		},
	})
}
