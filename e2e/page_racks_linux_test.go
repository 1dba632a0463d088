package e2e

// JavaScript expressions with racks, for tests of the modules of the page.

// pair is a rack of h0, s0, s1 and r0 in a row, with frames of its history. s1 sends
// PAUSE to s0 in the first 100 us, and RESUME before 150 us.
const pair = `(() => {
	const model = m.build({nodes: [{name: "h0"}, {name: "s0", kind: "NODE_KIND_SWITCH"}, {name: "s1", kind: "NODE_KIND_SWITCH"}, {name: "r0"}],
		links: [{a: "h0", b: "s0", bPort: 0}, {a: "s0", b: "s1", aPort: 1, bPort: 0}, {a: "s1", b: "r0", aPort: 1}]});
	const port = (pauses, paused) => [0, 0, 0, pauses, 0, 0, 0, paused];
	const frame = (at, pauses, paused) => ({at, nodes: [{p: [port(0, 0)], d: 0}, {p: [port(0, 0), port(0, paused)], d: 0}, {p: [port(pauses, 0), [5000, 0, 0, 0, 0, 0, 0, 0]], d: 0}, {p: [port(0, 0)], d: 0}]});
	return {model, frames: [frame(0, 0, 0), frame(100e6, 1, 1), frame(150e6, 1, 0), frame(900e6, 1, 0), frame(950e6, 1, 0)]};
})()`

// leafSpine is a function that builds a rack of leaves, hosts below each of them, and spines.
const leafSpine = `((leaves, hosts, spines) => {
	const nodes = [], links = [], many = (n, do1) => Array.from({length: n}, (_, i) => do1(i));
	many(leaves * hosts, (i) => nodes.push({name: "h" + i}));
	many(leaves, (i) => nodes.push({name: "leaf" + i, kind: "NODE_KIND_SWITCH", layer: 1}));
	many(spines, (i) => nodes.push({name: "spine" + i, kind: "NODE_KIND_SWITCH", layer: 2}));
	many(leaves * hosts, (i) => links.push({a: "h" + i, b: "leaf" + Math.floor(i / hosts), bPort: i % hosts, rateBps: "40000000000"}));
	many(leaves, (i) => many(spines, (j) => links.push({a: "leaf" + i, b: "spine" + j, aPort: hosts + j, bPort: i, rateBps: "100000000000"})));
	return m.build({nodes, links});
})`

// paper is the rack of pcn-16to2, with its flows and the burst.
const paper = `(() => {
	const hosts = Array.from({length: 16}, (_, i) => "h" + i), link = (a, b) => ({a, b, rateBps: "40000000000"});
	const links = [link("h0", "s0"), link("h1", "s0"), link("s0", "s1"), ...[...hosts.slice(2), "r0", "r1"].map((n) => link(n, "s1"))], ports = new Map();
	const next = (n) => (ports.set(n, (ports.get(n) ?? -1) + 1), ports.get(n));
	for (const l of links) Object.assign(l, {aPort: next(l.a), bPort: next(l.b)});
	const long = ["0", "1"].map((i) => ({name: "F" + i, from: "h" + i, to: "r" + i, path: ["h" + i, "s0", "s1", "r" + i]}));
	return m.build({nodes: [...hosts, "r0", "r1", "s0", "s1"].map((name) => ({name, ...(name[0] === "s" ? {kind: "NODE_KIND_SWITCH", layer: 1} : {})})), links,
		flows: [...long, ...hosts.slice(2).map((from) => ({name: "burst/" + from + "/0", burst: "burst", from, to: "r1", path: [from, "s1", "r1"]}))]});
})()`

// faults is a function that returns the numbers of boxes of a drawing, of overlaps, and of
// boxes outside the drawing.
const faults = `(({boxes, width, height}) => {
	const out = boxes.filter((b) => b.x - b.w / 2 < -1 || b.x + b.w / 2 > width + 1 || b.y - b.h / 2 < -1 || b.y + b.h / 2 > height + 1).length;
	let over = 0;
	for (let i = 0; i < boxes.length; i++) for (let j = 0; j < i; j++) {
		const a = boxes[i], b = boxes[j];
		if (Math.min(a.x + a.w / 2, b.x + b.w / 2) - Math.max(a.x - a.w / 2, b.x - b.w / 2) > 1 && Math.min(a.y + a.h / 2, b.y + b.h / 2) - Math.max(a.y - a.h / 2, b.y - b.h / 2) > 1) over++;
	}
	return boxes.length + " " + over + " " + out;
})`
