package e2e

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/rackfab/rackfab/fabric/scenariofile"
)

// screenshots is the folder for screenshots of the browser, or "" to write none.
var screenshots = os.Getenv("RACKFAB_SCREENSHOTS")

// browserLimit bounds the time of a test in the browser.
const browserLimit = 8 * time.Minute

// browserPath returns the path of a browser.
func browserPath(t *testing.T) string {
	t.Helper()
	return installed(t, "apt-get install chromium", "chromium", "chromium-browser", "google-chrome", "chrome")
}

// browser is a browser tab, with the errors that its console reports.
type browser struct {
	context.Context //nolint:containedctx // the tab is its context
	mu              sync.Mutex
	wrong           []string
}

func newBrowser(t *testing.T, width, height int64) *browser {
	t.Helper()
	flags := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.NoSandbox, chromedp.ExecPath(browserPath(t)), chromedp.WSURLReadTimeout(time.Minute))
	ctx, cancel := context.WithTimeout(t.Context(), browserLimit)
	t.Cleanup(cancel)
	ctx, end := chromedp.NewExecAllocator(ctx, flags...)
	t.Cleanup(end)
	ctx, end = chromedp.NewContext(ctx)
	t.Cleanup(end)
	b := &browser{Context: ctx}
	if err := chromedp.Listen(ctx, b.record); err != nil {
		t.Fatal(err)
	}
	b.do(t, chromedp.EmulateViewport(width, height))
	return b
}

// record records console output and exceptions.
func (b *browser) record(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.wrong = append(b.wrong, fmt.Sprintf("%s %v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
	case *runtime.EventConsoleAPICalled:
		b.wrong = append(b.wrong, fmt.Sprintf("console.%s", e.Type))
	case *log.EventEntryAdded:
		b.wrong = append(b.wrong, fmt.Sprintf("%s %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL))
	}
}

// quiet fails the test if the console reported anything.
func (b *browser) quiet(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.wrong) > 0 {
		t.Errorf("the browser's console:\n%s", strings.Join(b.wrong, "\n"))
	}
}

func (b *browser) do(t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(b, steps...); err != nil {
		b.quiet(t)
		t.Fatal(err)
	}
}

// until waits until a JavaScript condition holds.
func (b *browser) until(t *testing.T, condition string) {
	t.Helper()
	if _, err := chromedp.Run(b, chromedp.Poll[bool]("Boolean("+condition+")", chromedp.WithPollingTimeout(browserLimit))); err != nil {
		b.keep(t, "failed")
		b.quiet(t)
		t.Fatalf("%s: %v", condition, err)
	}
}

// click clicks the centre of a shape in a drawing, which has no CSS box.
func (b *browser) click(t *testing.T, selector string) {
	t.Helper()
	at := value[[]float64](t, b, fmt.Sprintf(`(() => { const r = document.querySelector(%q).getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] })()`, selector))
	b.do(t, chromedp.MouseClickXY(at[0], at[1]))
}

// value evaluates a JavaScript expression.
func value[T any](t *testing.T, b *browser, expression string) T {
	t.Helper()
	v, err := chromedp.Run(b, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// keep takes a screenshot and checks that it is a valid image.
func (b *browser) keep(t *testing.T, name string) {
	t.Helper()
	shot, err := chromedp.Run(b, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(bytes.NewReader(shot)); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if screenshots == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(screenshots, name+".png"), shot, 0o600); err != nil {
		t.Error(err)
	}
}

var pageLine = regexp.MustCompile(`http://\S+/`)

// page serves the page of a rack and returns its address.
func (r *rack) page(t *testing.T, args ...string) string {
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
	slow(t, "operates a page in a browser")
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
			back(t, b)
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
	b.do(t, chromedp.Click("#open-traces"))
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
	b.do(t, chromedp.Click(".trace-row"))
	b.until(t, `document.querySelectorAll("#waterfall .span").length === 1`)
	b.click(t, "#waterfall .span")
	b.until(t, `document.querySelectorAll("#waterfall .span").length > 5 && document.querySelector("#waterfall .span.chosen")`)
	b.click(t, "#waterfall .span")
	if text := value[string](t, b, `document.querySelector(".detail").textContent`); !strings.Contains(text, "h2") {
		t.Errorf("the span at h2 shows %q", text)
	}
	b.keep(t, "page-trace")
}

// views opens the other views, and plays back the run from the collector.
func views(t *testing.T, b *browser) {
	t.Helper()
	b.do(t, chromedp.Click("#tab-compare"))
	b.until(t, `document.querySelectorAll("#view-compare path.line").length > 3`)
	b.do(t, chromedp.Click("#tab-table"))
	b.until(t, `document.querySelector("#view-table .hint")?.textContent.includes("rackfab run")`)
	b.do(t, chromedp.Click("#tab-rack"), chromedp.Reload())
	b.until(t, `window.rackfab?.snap && document.querySelectorAll("#source option").length > 1`)
	value[bool](t, b, `(() => { const s = document.querySelector("#source"); s.selectedIndex = 1; return s.dispatchEvent(new Event("change")) })()`)
	b.until(t, `rackfab.stored && rackfab.history.length > 50`)
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

// steps returns to the present and lets the rack run for one step.
func steps(t *testing.T, b *browser) {
	t.Helper()
	b.do(t, chromedp.Click("#live"))
	b.until(t, `rackfab.live && rackfab.index === rackfab.history.length - 1`)
	before := value[float64](t, b, `rackfab.status.at`)
	b.do(t, chromedp.Click("#next"))
	b.until(t, fmt.Sprintf(`rackfab.status.at === %.0f`, before+50e6))
}
