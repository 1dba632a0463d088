package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/rackfab/rackfab/e2e/slowtest"
	"github.com/rackfab/rackfab/fabric/scenariofile"
)

var pageLine = regexp.MustCompile(`http://\S+/`)

// page serves the page of a rack and returns its address.
func (r *rack) page(t testing.TB, args ...string) string {
	t.Helper()
	return pageLine.FindString(serve(t, append([]string{"page", "--address", r.address, "--http", "127.0.0.1:0"}, args...)...))
}

// quietRack returns a scenario file with the paper's rack but without its burst.
func quietRack(t *testing.T) string {
	t.Helper()
	text, _ := scenariofile.Builtin("pcn-16to2")
	before, rest, ok := strings.Cut(string(text), "bursts:")
	_, after, found := strings.Cut(rest, "\nschemes:")
	if !ok || !found {
		t.Fatal("pcn-16to2 has no bursts, or no schemes after them")
	}
	path := filepath.Join(t.TempDir(), "rack.yaml")
	if err := os.WriteFile(path, []byte(before+"\nschemes:"+after), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// JavaScript conditions on the page's state.
const (
	pausedByFrame = `rackfab.history.frames.some((f) => f.nodes[rackfab.model.byName.get(%q)].p.some((p) => p[4] > 0))`
	burstSeen     = `rackfab.history.frames.some((f) => f.nodes.some((n) => (n.f ?? []).some((e) => e[0].startsWith("burst0/"))))`
	burstOver     = burstSeen + ` && rackfab.snap.flows.length === 2`
)

// A user opens the page of a running rack and injects a burst by a click. PAUSE reaches
// h0 under PFC but not under PCN. The user then pauses, goes back in time, and resumes.
// The console stays empty, and the journal contains the burst.
func TestPageInABrowser(t *testing.T) {
	slowtest.Skip(t, "operates a page in a browser")
	browserPath(t)
	for _, scheme := range []string{"pfc", "pcn"} {
		t.Run(scheme, func(t *testing.T) {
			_, collector := startCollector(t)
			r := up(t, quietRack(t), "--scheme", scheme, "--collector", collector, "--sample-ratio", "1", "--paused")
			r.do(t, "step", "300us") // the instant of the burst in the paper's scenario
			b := newBrowser(t, 1366, 768)
			b.do(t, chromedp.Navigate(r.page(t, "--collector", collector)))
			b.until(t, `window.rackfab?.snap`)
			b.do(t, chromedp.Click("#burst"))
			b.until(t, `rackfab.status.changes === 1`)
			b.do(t, chromedp.Click("#toggle"))
			b.until(t, burstSeen)
			if scheme == "pfc" {
				b.until(t, `document.querySelector('[data-lane="h0->s0"][data-state=paused]') && rackfab.victims.has("F0")`)
				b.keep(t, "page-rack")
			}
			b.until(t, burstOver)
			for _, node := range []string{"h0", "h1", "s0"} {
				if paused := value[bool](t, b, fmt.Sprintf(pausedByFrame, node)); paused != (scheme == "pfc") {
					t.Errorf("%s received a PAUSE: %v", node, paused)
				}
			}
			b.do(t, chromedp.Click("#toggle"))
			b.until(t, `rackfab.status.state === "paused"`)
			if scheme == "pfc" {
				slowest(t, b)
			}
			back(t, b)
			r.do(t, "step", "4ms") // time after the burst
			zooms(t, b)
			steps(t, b)
			t.Logf("first contentful paint %.0f ms, frames missed %v", value[float64](t, b, `performance.getEntriesByName("first-contentful-paint")[0].startTime`), value[float64](t, b, `rackfab.missed`))
			trace(t, b)
			views(t, b)
			b.quiet(t)
			journal := filepath.Join(t.TempDir(), "journal.yaml")
			r.do(t, "journal", "save", journal)
			if text, err := os.ReadFile(journal); err != nil || !strings.Contains(string(text), "burst0") {
				t.Errorf("the journal has no burst0: %v\n%s", err, text)
			}
			r.interrupt(t)
		})
	}
}

// trace opens the waterfall of a message with clicks on its sender.
func trace(t *testing.T, b *browser) {
	t.Helper()
	b.click(t, `[data-key="node:h2"]`)
	b.until(t, `[...document.querySelectorAll("#selected path.line")].some((p) => p.getAttribute("d").split("L").length > 10)`)
	b.tap(t, "#open-traces")
	b.until(t, `document.querySelector(".trace-row")`)
	// Nodes export at different times: the first answer has only one span of the trace.
	value[bool](t, b, `(() => {
		const fetch = window.fetch
		window.fetch = async (path, options) => {
			const answer = await fetch(path, options)
			if (!path.endsWith("/GetTrace")) return answer
			window.fetch = fetch
			const trace = await answer.json()
			return new Response(JSON.stringify({ ...trace, spans: trace.spans.slice(0, 1) }))
		}
		return true
	})()`)
	b.tap(t, ".trace-row")
	b.until(t, `document.querySelectorAll("#waterfall .span").length === 1`)
	b.click(t, "#waterfall .span")
	b.until(t, `document.querySelectorAll("#waterfall .span").length > 5 && document.querySelector("#waterfall .span.chosen")`)
	b.click(t, "#waterfall .span")
	if text := value[string](t, b, `document.querySelector(".span-words").textContent`); !regexp.MustCompile(`^WRITE of \S+ \S+ by h\d+: [\d.]+ (us|ms) from `).MatchString(text) {
		t.Errorf("the span at the sender shows %q", text)
	}
	if text := value[string](t, b, `document.querySelector(".path-words").textContent`); !strings.Contains(text, "on the wire") {
		t.Errorf("the message shows %q", text)
	}
	if n := value[int](t, b, `document.querySelectorAll(".span-legend li").length`); n < 4 {
		t.Errorf("the legend of the spans has %d entries", n)
	}
	b.keep(t, "page-trace")
}

// slowest opens the slowest message of the victim from its tile, after the burst.
func slowest(t *testing.T, b *browser) {
	t.Helper()
	b.tap(t, "#victim-slowest")
	b.until(t, `document.querySelector(".trace h3")?.textContent.startsWith("WRITE of F0") && /paused/i.test(document.querySelector(".path-words").textContent) && location.hash.includes("flow=F0")`)
	b.keep(t, "page-victim")
	b.do(t, chromedp.Click("#tab-rack"))
	b.until(t, `rackfab.snap && !document.querySelector("#view-rack").hidden`)
}

// views opens the other views, and plays back the run from the collector.
func views(t *testing.T, b *browser) {
	t.Helper()
	b.do(t, chromedp.Click("#tab-compare"))
	b.until(t, `document.querySelectorAll("#view-compare path.line").length > 3`)
	b.do(t, chromedp.Click("#tab-table"))
	b.until(t, `document.querySelector("#view-table .notice")?.textContent.includes("rackfab run")`)
	b.do(t, chromedp.Click("#tab-rack"), chromedp.Reload())
	b.until(t, `window.rackfab?.snap && document.querySelectorAll("#source option").length > 1`)
	value[bool](t, b, `(() => { const s = document.querySelector("#source"); s.selectedIndex = 1; return s.dispatchEvent(new Event("change")) })()`)
	b.until(t, `rackfab.stored && rackfab.history.length > 50`)
	refetched(t, b, `rackfab.history.frames.every((f) => f.state === "stored")`)
	bins(t, b)
}

// bins checks the sum of series without a point in every bin. A missing point counts as
// 0, or as the last value if the series is a level. The run ends within a bin.
func bins(t *testing.T, b *browser) {
	t.Helper()
	b.until(t, `window.bins || (import("/bins.js").then((m) => { window.bins = m }), false)`)
	const two = `[{timesPs: ["99", "499", "599", "620"], values: [8, 4, 6, 1]}, {timesPs: ["99", "299", "499"], values: [1, 2, 3]}]`
	if bin := value[float64](t, b, `bins.binOf(`+two+`)`); bin != 100 {
		t.Errorf("bins of %g, want 100", bin)
	}
	for level, want := range map[string]string{
		"false": "99:9 199:0 299:2 399:0 499:7 520:0 599:6 620:1",
		"true":  "99:9 199:9 299:10 399:10 499:7 520:7 599:9 620:4",
	} {
		if have := value[string](t, b, `bins.sumOf(`+two+`, 100, `+level+`).map((p) => p.join(":")).join(" ")`); have != want {
			t.Errorf("level %s: %s, want %s", level, have, want)
		}
	}
}

// back drags the time slider to the first third of the run.
func back(t *testing.T, b *browser) {
	t.Helper()
	at := value[[]float64](t, b, `(() => { const r = document.querySelector("#at").getBoundingClientRect(); return [r.x + r.width, r.x + r.width / 3, r.y + r.height / 2] })()`)
	b.do(t, chromedp.DragAndDropXY(at[0]-6, at[2], at[1], at[2]))
	b.until(t, `!rackfab.live && rackfab.snap.at < (rackfab.history.frames[0].at + rackfab.history.last.at) / 2`)
	shown := value[string](t, b, `document.querySelector("#instant").textContent + "|" + (rackfab.snap.at / 1e9).toFixed(3) + " ms"`)
	if now, want, _ := strings.Cut(shown, "|"); now != want {
		t.Errorf("the page shows the instant %s, want %s", now, want)
	}
}

// zooms fits the burst, selects a shorter span with a drag in a chart and in the strip, and
// returns to the whole run with a double click. All charts show the same span.
func zooms(t *testing.T, b *browser) {
	t.Helper()
	b.until(t, `rackfab.run.last.at === rackfab.status.at && rackfab.run.outline.bursts.get("burst0").to < rackfab.status.at - 3e9`)
	burst := `rackfab.run.outline.bursts.get("burst0")`
	b.do(t, chromedp.Click("#fit-burst"))
	b.until(t, `rackfab.span.part?.burst === "burst0" && rackfab.span.from < `+burst+`.from && rackfab.span.to > `+burst+`.from`)
	if inside := value[bool](t, b, `rackfab.snap.at >= rackfab.span.from && rackfab.snap.at <= rackfab.span.to && !rackfab.live`); !inside {
		t.Error("the displayed instant is not in the span")
	}
	b.click(t, `[data-key="node:s1"]`)
	b.until(t, `document.querySelector("#selected .chart")?.scale?.to === rackfab.span.to`)
	for _, place := range []string{"#selected .chart", ".area"} {
		wide := value[float64](t, b, `rackfab.span.to - rackfab.span.from`)
		at := value[[]float64](t, b, fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoView({ block: "nearest" }); const r = e.getBoundingClientRect(); return [r.x + 0.5 * r.width, r.x + 0.8 * r.width, r.y + 30] })()`, place))
		b.do(t, chromedp.DragAndDropXY(at[0], at[2], at[1], at[2]))
		b.until(t, fmt.Sprintf(`rackfab.span.to - rackfab.span.from < 0.5 * %g && document.querySelector("#selected .chart").scale.from === rackfab.span.from`, wide))
	}
	refetched(t, b, `rackfab.history.frames.every((f) => f.state !== "stored")`)
	b.keep(t, "page-zoom")
	b.do(t, chromedp.Click("#whole"))
	b.until(t, `rackfab.span.part === null && rackfab.history === rackfab.run`)
}

// refetched checks that a span gets frames that the run as a whole has lost.
func refetched(t *testing.T, b *browser, from string) {
	t.Helper()
	value[bool](t, b, `(() => {
		const { run, span } = rackfab, first = run.frames[0].at, last = run.last.at;
		window.all = run.frames;
		span.clear();
		run.frames = run.frames.filter((_, i) => i % 10 === 0 || i === run.frames.length - 1);
		span.set(first + (last - first) * 0.2, first + (last - first) * 0.5);
		return true;
	})()`)
	b.until(t, `rackfab.history !== rackfab.run && rackfab.history.frames.filter((f) => f.at >= rackfab.span.from && f.at <= rackfab.span.to).length > 4 * rackfab.run.frames.filter((f) => f.at >= rackfab.span.from && f.at <= rackfab.span.to).length`)
	if !value[bool](t, b, from) {
		t.Error("the frames of the span do not come from where they are finest")
	}
	value[bool](t, b, `(rackfab.run.frames = window.all, true)`)
}

// steps returns to the present and lets the rack run for one step.
func steps(t *testing.T, b *browser) {
	t.Helper()
	b.do(t, chromedp.Click("#live"))
	b.until(t, `rackfab.live && rackfab.index === rackfab.history.length - 1`)
	before := value[float64](t, b, `rackfab.status.at`)
	b.do(t, chromedp.Click("#next"))
	b.until(t, fmt.Sprintf(`rackfab.status.at === %.0f`, before+50e6))
}
