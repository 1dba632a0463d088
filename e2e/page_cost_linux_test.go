package e2e

import (
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/systeminfo"
	"github.com/chromedp/chromedp"
)

// BenchmarkPage measures what the page costs a browser, with racks of 20, 128 and 1,008 nodes in an
// incast: the times from the request to the first paint and to the first drawing of the rack, and
// the processor time per drawing of an instant (docs/guide/page.md).
func BenchmarkPage(b *testing.B) {
	for _, c := range []struct {
		name, scenario, start string
		open                  bool // the leaves
	}{
		{"20", "pcn-16to2", "300us", false},
		{"128", leafSpineRack(b, 4, 30, 4), "1us", false},
		{"128/open", leafSpineRack(b, 4, 30, 4), "1us", true},
		{"1008", leafSpineRack(b, 30, 32, 18), "1us", false},
		{"1008/open", leafSpineRack(b, 30, 32, 18), "1us", true},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := up(b, c.scenario, "--scheme", "pfc", "--paused", "--processes", "1")
			r.do(b, "step", c.start)
			tab := newBrowser(b, 1366, 768)
			tab.do(b, chromedp.Navigate(r.page(b)))
			tab.until(b, drawnRack)
			for range 40 {
				r.do(b, "step", "2us")
			}
			for b.Loop() {
				opens(b, tab)
				if c.open {
					tab.do(b, chromedp.KeyEvent("o"))
					tab.until(b, drawnNICs+` > 100`)
				}
				draws(b, tab)
			}
			r.interrupt(b)
		})
	}
}

const drawnRack = `document.querySelector("#rack .node") !== null`

// opens reloads the page, and reports how long it takes to appear.
func opens(b *testing.B, tab *browser) {
	tab.do(b, chromedp.Reload())
	drawn, err := chromedp.Run(tab, chromedp.Poll[float64](drawnRack+` && performance.now()`))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(drawn, "first-drawing-ms")
	b.ReportMetric(value[float64](b, tab, `performance.getEntriesByName("first-paint")[0].startTime`), "first-paint-ms")
}

// redraw shows the instants of the run one after the other for five seconds, as fast as the browser
// draws them, and returns how many they were.
const redraw = `(async () => {
	const start = performance.now(), length = rackfab.history.length;
	let shown = 0;
	while (performance.now() - start < 5000) {
		rackfab.go(shown++ % length);
		await new Promise(requestAnimationFrame);
	}
	return shown;
})()`

// draws reports the processor time per drawing, and how many drawings there are per second.
func draws(b *testing.B, tab *browser) {
	mainBefore, allBefore := processorTime(b, tab)
	shown, err := chromedp.Run(tab, chromedp.Evaluate[float64](redraw, chromedp.EvalAwaitPromise))
	if err != nil {
		b.Fatal(err)
	}
	mainAfter, allAfter := processorTime(b, tab)
	b.ReportMetric(1000*(mainAfter-mainBefore)/shown, "main-ms/drawing")
	b.ReportMetric(1000*(allAfter-allBefore)/shown, "browser-ms/drawing")
	b.ReportMetric(shown/5, "drawings/s")
	b.ReportMetric(value[float64](b, tab, `rackfab.history.length`), "instants")
}

// processorTime returns that of the page's main thread, and of all processes of the browser, in
// seconds.
func processorTime(b *testing.B, tab *browser) (thread, all float64) {
	if _, err := chromedp.Call(tab, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks}); err != nil {
		b.Fatal(err)
	}
	metrics, err := chromedp.Call(tab, performance.GetMetrics, cdp.Empty{})
	if err != nil {
		b.Fatal(err)
	}
	for _, m := range metrics.Metrics {
		if m.Name == "TaskDuration" {
			thread = m.Value
		}
	}
	processes, err := chromedp.CallBrowser(tab, systeminfo.GetProcessInfo, cdp.Empty{})
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range processes.ProcessInfo {
		all += p.CPUTime
	}
	return thread, all
}
