package e2e

import "testing"

// The modules of the page lay out racks and charts.
func TestPageModulesDraw(t *testing.T) {
	compute(t, map[string]computed{
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
		"the window of a burst has a margin around it": {
			`[[{burst: {from: 300e6, to: 3300e6}}, {burst: null}], [{burst: null}]].map((list) => JSON.stringify(m.burstWindow(list))).join(" ")`,
			`{"from":0,"to":4050000000} null`,
		},
	})
}
