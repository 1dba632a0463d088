package e2e

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// screenshots is the folder for screenshots of the browser, or "" to write none.
var screenshots = os.Getenv("RACKFAB_SCREENSHOTS")

// browserLimit bounds the time of a test in the browser.
const browserLimit = 8 * time.Minute

// conditionLimit bounds the wait for one condition of the page, so that a failure can still be
// described.
const conditionLimit = 2 * time.Minute

// browserPath returns the path of a browser.
func browserPath(t testing.TB) string {
	t.Helper()
	return installed(t, "apt-get install chromium", "chromium", "chromium-browser", "google-chrome", "chrome")
}

// browser is a browser tab, with the errors that its console reports.
type browser struct {
	context.Context //nolint:containedctx // the tab is its context
	mu              sync.Mutex
	wrong           []string
}

func newBrowser(t testing.TB, width, height int64) *browser {
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
func (b *browser) quiet(t testing.TB) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.wrong) > 0 {
		t.Errorf("the browser's console:\n%s", strings.Join(b.wrong, "\n"))
	}
}

func (b *browser) do(t testing.TB, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(b, steps...); err != nil {
		b.quiet(t)
		t.Fatal(err)
	}
}

// until waits until a JavaScript condition holds.
func (b *browser) until(t testing.TB, condition string) {
	t.Helper()
	if _, err := chromedp.Run(b, chromedp.Poll[bool]("Boolean("+condition+")", chromedp.WithPollingTimeout(conditionLimit))); err != nil {
		t.Errorf("%s: %v", condition, err)
		b.keep(t, "failed")
		b.quiet(t)
		t.FailNow()
	}
}

// tap clicks an element that the page may replace by a new one at any time.
func (b *browser) tap(t *testing.T, selector string) {
	t.Helper()
	for {
		err := chromedp.Do(b, chromedp.Click(selector))
		switch {
		case err == nil:
			return
		case !strings.Contains(err.Error(), "Could not find node with given id"):
			b.quiet(t)
			t.Fatalf("%s: %v", selector, err)
		}
	}
}

// click clicks the centre of a shape in a drawing, which has no CSS box.
func (b *browser) click(t *testing.T, selector string) {
	t.Helper()
	at := value[[]float64](t, b, fmt.Sprintf(`(() => { const r = document.querySelector(%q).getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] })()`, selector))
	b.do(t, chromedp.MouseClickXY(at[0], at[1]))
}

// value evaluates a JavaScript expression.
func value[T any](t testing.TB, b *browser, expression string) T {
	t.Helper()
	v, err := chromedp.Run(b, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// keep takes a screenshot and checks that it is a valid image.
func (b *browser) keep(t testing.TB, name string) {
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
