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
	b.until(t, `window.m || (Promise.all(["bins", "model", "series", "analysis", "table"].map((n) => import("/" + n + ".js"))).then((all) => { window.m = Object.assign({}, ...all) }), false)`)
	return b
}

// pair is a rack of h0, s0, s1 and r0 in a row, with frames of its history. s1 sends
// PAUSE to s0 in the first 100 us, and RESUME before 150 us.
const pair = `(() => {
	const model = m.build({nodes: [{name: "h0"}, {name: "s0", kind: "NODE_KIND_SWITCH"}, {name: "s1", kind: "NODE_KIND_SWITCH"}, {name: "r0"}],
		links: [{a: "h0", b: "s0", bPort: 0}, {a: "s0", b: "s1", aPort: 1, bPort: 0}, {a: "s1", b: "r0", aPort: 1}]});
	const port = (pauses, paused) => [0, 0, 0, pauses, 0, 0, 0, paused];
	const frame = (at, pauses, paused) => ({at, nodes: [{p: [port(0, 0)], d: 0}, {p: [port(0, 0), port(0, paused)], d: 0}, {p: [port(pauses, 0), [5000, 0, 0, 0, 0, 0, 0, 0]], d: 0}, {p: [port(0, 0)], d: 0}]});
	return {model, frames: [frame(0, 0, 0), frame(100e6, 1, 1), frame(150e6, 1, 0), frame(900e6, 1, 0), frame(950e6, 1, 0)]};
})()`

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
					.map((g) => g.name + " " + g.lines.filter((l) => l.peak > 0).map((l) => l.name)).join("; ");
				return of(2) + " | " + of(1) + " | " + of(0);
			})()`,
			"PAUSE sent per ms s1->s0; PAUSE received per ms  | PAUSE sent per ms ; PAUSE received per ms s1->s0 | PAUSE received per ms ; PAUSE sent per ms ",
		},
		"the panel of a link shows PAUSE in both directions": {
			`(() => {
				const {model, frames} = ` + pair + `;
				const of = (lane) => new m.Series(model, {kind: "lane", lane: model.laneById.get(lane)}).over({frames, edits: 0}).filter((g) => g.name.startsWith("PAUSE"))
					.map((g) => g.name + " " + g.lines.map((l) => l.name + " " + l.peak)).join("; ");
				return of("s1->s0") + " | " + of("s0->s1");
			})()`,
			"PAUSE sent per ms s1->s0 10; PAUSE received per ms s0->s1 0 | PAUSE sent per ms s0->s1 0; PAUSE received per ms s1->s0 10",
		},
		"the panel of a NIC shows entropy moves, if there are any": {
			`(() => {
				const {model, frames} = ` + pair + `;
				frames[1].nodes[0].e = [400, 50, 0];
				frames[2].nodes[0].e = [400, 150, 1];
				return [0, 3].map((node) => new m.Series(model, {kind: "node", node}).over({frames: frames.slice(0, 3), edits: 0}).filter((g) => g.name.startsWith("entropy"))
					.map((g) => g.name + ": " + g.lines.map((l) => l.name + " " + l.points.map(([, v]) => v)).join("; "))).join(" | ");
			})()`,
			"entropy moves per ms: skipped 4000,0; recycled 500,2000; freezes 0,20 | ",
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
		"a throughput dip cut off by the end of the run is a lower bound": {
			`[[79.7e9, 80e9], [79.65e9, 80e9], [79.7e9, 200e9], [0, 80e9]].map(([loss, end]) =>
				m.textOf(m.columns.find((c) => c.name === "dip ms"), {run: {loss_ps: loss, fabric_time_ps: end, bin_ps: 50e6, burst: {start_ps: 300e6}}})).join(" ")`,
			">79.70 79.65 79.70 0.00",
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
