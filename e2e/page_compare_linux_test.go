package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/rackfab/rackfab/e2e/slowtest"
)

// nobody is an address at which nothing listens.
const nobody = "127.0.0.1:1"

// A page without a rack says what to type, in every view. The first finished run then appears
// without a restart. Compare opens on the burst of three schemes; its link restores the view,
// and its pictures have legend, time and scenario.
func TestPageComparesThreeSchemes(t *testing.T) {
	slowtest.Skip(t, "operates a page in a browser")
	browserPath(t)
	runs := filepath.Join(t.TempDir(), "runs")
	address := pageLine.FindString(serve(t, "page", "--address", nobody, "--http", "127.0.0.1:0", "--runs", runs))
	b := newBrowser(t, 1366, 900)
	b.do(t, chromedp.Navigate(address))
	for view, want := range map[string]string{"rack": "rackfab up pcn-16to2", "compare": "rackfab run pcn-16to2 --output " + runs + "/pcn-16to2-", "traces": "rackfab collector --data " + runs + "/pcn-16to2-", "table": "rackfab run pcn-16to2 --output " + runs + "/pcn-16to2-"} {
		b.do(t, chromedp.Click("#tab-"+view))
		b.until(t, fmt.Sprintf(`[...document.querySelectorAll("#view-%s code")].some((c) => c.textContent.startsWith(%q))`, view, want))
	}
	if log, err := startAt(t, filepath.Join(runs, "a"), "--bus", "memory", "--scheme", "pfc,dcqcn,pcn", "--duration", "5ms"); err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	b.do(t, chromedp.Click("#tab-compare"))
	b.until(t, `document.querySelectorAll("#compare-figures tbody tr").length === 3 && document.querySelectorAll("#view-compare .rack").length === 3`)
	if have, want := value[string](t, b, `[...document.querySelectorAll("#compare-figures tbody td:first-child")].map((c) => c.textContent).join()+" "+document.querySelector("#compare-figures th:nth-child(2)").textContent`), "pfc,dcqcn,pcn F0 in the burst, Gbit/s"; have != want {
		t.Errorf("Compare shows %q, want %q", have, want)
	}
	figures := `[...document.querySelectorAll("#compare-figures tbody td:nth-child(2)")].map((c) => Number(c.textContent))`
	if f := value[[]float64](t, b, figures); f[0] > 10 || f[2] < 25 {
		t.Errorf("the victim has %v Gbit/s in the burst", f)
	}
	if from, to := value[float64](t, b, `Number(document.querySelector("#compare-at").min)`), value[float64](t, b, `Number(document.querySelector("#compare-at").max)`); from > 300e6 || to < 3e9 || to > 5e9 {
		t.Errorf("Compare opens from %g to %g ps, but the burst lasts from 0.3 to 3.5 ms", from, to)
	}
	b.until(t, `document.querySelectorAll('#view-compare [data-lane="h0->s0"][data-state=paused]').length > 0`)
	b.keep(t, "page-compare")
	restored(t, b)
	pictures(t, b)
	b.do(t, chromedp.Click("#tab-table"))
	b.until(t, `document.querySelectorAll("#schemes tbody tr").length === 3`)
	b.keep(t, "page-table")
	fits(t, b, 1280, "#view-table .scroll")
	b.do(t, chromedp.Click("#tab-compare"))
	b.until(t, `document.querySelectorAll("#compare-figures tbody tr").length > 1`)
	fits(t, b, 800, "#view-compare .compare")
	b.quiet(t)
}

// fits checks that all columns of an element are in view on a page of a given width.
func fits(t *testing.T, b *browser, width int64, selector string) {
	t.Helper()
	b.do(t, chromedp.EmulateViewport(width, 800))
	b.until(t, fmt.Sprintf(`innerWidth === %d && document.querySelector(%q).clientWidth > 0`, width, selector))
	if cut := value[float64](t, b, fmt.Sprintf(`document.querySelector(%q).scrollWidth - document.querySelector(%[1]q).clientWidth`, selector)); cut > 0 {
		t.Errorf("%s: %g pixels are cut off at a width of %d", selector, cut, width)
	}
}

// startAt runs `rackfab run` to its end, with its results in a folder.
func startAt(t *testing.T, dir string, flags ...string) (string, error) {
	t.Helper()
	out, err := exec.Command(program, append([]string{"run", "--output", dir}, flags...)...).CombinedOutput()
	return string(out), err
}

// restored moves the cursor, removes a column and selects a node, and opens the link of this
// view: it shows the same. So does the link of an instant of a stored run.
func restored(t *testing.T, b *browser) {
	t.Helper()
	view := `document.querySelector("#compare-at").value + [...document.querySelectorAll(".column-head h3")].map((v) => " " + v.textContent).join("") + " " + document.querySelectorAll("#view-compare .node.chosen").length`
	value[bool](t, b, `(() => { const s = document.querySelector("#compare-at"); s.value = 1234567890; return s.dispatchEvent(new Event("input")) })()`)
	b.do(t, chromedp.Click(`[aria-label="Remove dcqcn"]`))
	b.until(t, `document.querySelectorAll(".column-head").length === 2`)
	b.click(t, `#view-compare [data-key="node:s0"]`)
	const want = "1234567890 pfc pcn 2"
	if have := value[string](t, b, view); have != want {
		t.Errorf("the view is %q, want %q", have, want)
	}
	b.until(t, `location.hash.includes("mark=node:s0") && location.hash.includes("cursor=1234.56789us")`)
	b.do(t, chromedp.Reload())
	b.until(t, `document.querySelectorAll("#view-compare .rack .node.chosen").length === 2`)
	if have := value[string](t, b, view); have != want {
		t.Errorf("the link restores %q, want %q", have, want)
	}
	b.do(t, chromedp.Navigate(strings.Split(value[string](t, b, `location.href`), "#")[0]+"?#source=folder:a:pfc&at=1000us&sel=flow:F0"))
	b.until(t, `window.rackfab?.stored && rackfab.snap?.at === 1e9 && rackfab.selected?.name === "F0" && rackfab.victims.has("F0")`)
	b.do(t, chromedp.Click("#tab-compare"))
	b.until(t, `document.querySelectorAll("#compare-figures tbody tr").length === 3`)
}

// pictures saves Compare as SVG and PNG.
func pictures(t *testing.T, b *browser) {
	t.Helper()
	value[bool](t, b, `(() => {
		window.blobs = [];
		const create = URL.createObjectURL;
		URL.createObjectURL = (blob) => { blobs.push(blob); return create(blob) };
		HTMLAnchorElement.prototype.click = () => {};
		for (const button of document.querySelectorAll("#view-compare .saves button")) if (button.textContent !== "CSV") button.click();
		return true;
	})()`)
	b.until(t, `blobs.some((v) => v.type === "image/png") && blobs.some((v) => v.type === "image/svg+xml")`)
	value[bool](t, b, `Promise.all(["image/svg+xml", "image/png"].map((type) => new Promise((done) => {
		const reader = new FileReader();
		reader.onload = () => done(reader.result.split(",")[1]);
		reader.readAsDataURL(blobs.find((v) => v.type === type));
	}))).then((all) => { window.files = all }) && true`)
	b.until(t, `window.files`)
	files := value[[]string](t, b, `files`)
	svg, err := base64.StdEncoding.DecodeString(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"pcn-16to2: pfc, dcqcn, pcn", " ms; racks at ", "F0 in the burst, Gbit/s", ">PAUSE<", ">victim<", ">queue<", "Goodput per flow", ">burst<"} {
		if !bytes.Contains(svg, []byte(want)) {
			t.Errorf("the SVG has no %q", want)
		}
	}
	if bytes.Contains(svg, []byte(" class=")) {
		t.Error("the SVG refers to styles of the page")
	}
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the SVG: %v", err)
		}
	}
	data, err := base64.StdEncoding.DecodeString(files[1])
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil || picture.Bounds().Dx() < 1600 {
		t.Fatalf("the PNG: %v", err)
	}
	if screenshots != "" {
		if err := os.WriteFile(filepath.Join(screenshots, "page-compare-saved.png"), data, 0o600); err != nil {
			t.Error(err)
		}
	}
}

// A banner says that a rack recovers from a lost node. It goes away once the rack goes on,
// which the header counts. A stopped NIC keeps the recovery from ending before the page
// shows it.
func TestPageShowsARecovery(t *testing.T) {
	slowtest.Skip(t, "operates a page in a browser")
	browserPath(t)
	r := up(t, "star-2", "--collector", "off", "--pace", "100us/s")
	b := newBrowser(t, 1366, 768)
	b.do(t, chromedp.Navigate(r.page(t)))
	b.until(t, `window.rackfab?.status?.state === "running"`)
	rack := children(t, r.Process.Pid)
	h0 := find(t, rack, "h0").pid
	for _, c := range []struct {
		pid int
		sig syscall.Signal
	}{{h0, syscall.SIGSTOP}, {find(t, rack, "h1").pid, syscall.SIGKILL}} {
		if err := syscall.Kill(c.pid, c.sig); err != nil {
			t.Fatal(err)
		}
	}
	b.until(t, `/The rack recovers[^]*since \d\d:\d\d:\d\d[^]*loss: node h1: [^]*the rack is at [\d.]+ [um]s[^]*by itself/.test(document.querySelector("#banner:not([hidden])")?.innerText ?? "")`)
	b.keep(t, "page-recovery")
	if err := syscall.Kill(h0, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	b.until(t, `document.querySelector("#banner").hidden && /running\s+1 recovery/.test(document.querySelector("#run").innerText)`)
	b.quiet(t)
	r.interrupt(t)
}

// Without recovery, the page offers to start the clock of a rack that is paused at 0. A banner says that a node
// failed, since when and why, in every view; and then that the rack is gone.
func TestPageShowsALostRack(t *testing.T) {
	slowtest.Skip(t, "operates a page in a browser")
	browserPath(t)
	r := up(t, "pcn-16to2", "--scheme", "pfc", "--paused", "--collector", "off", "--pace", "100us/s", "--recover", "0")
	b := newBrowser(t, 1366, 768)
	b.do(t, chromedp.Navigate(r.page(t)), chromedp.WaitVisible("#start-clock"), chromedp.Click("#start-clock"))
	b.until(t, `window.rackfab?.snap && document.querySelector("#banner").hidden`)
	banner := `document.querySelector("#banner:not([hidden])")?.innerText ?? ""`
	if err := syscall.Kill(find(t, children(t, r.Process.Pid), "h5").pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	b.until(t, `/The run failed[^]*since \d\d:\d\d:\d\d, for \d+ s[^]*Node h5: [^]*connection[^]*the rack is at [\d.]+ ms[^]*rackfab replay/.test(`+banner+`)`)
	b.do(t, chromedp.Click("#tab-table"))
	if text := value[string](t, b, banner); !strings.Contains(text, "The run failed") {
		t.Errorf("the banner of another view is %q", text)
	}
	b.keep(t, "page-lost-node")
	if err := r.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_, _ = io.ReadAll(r.log)
	_ = r.Wait() // reports the killed node
	b.until(t, `/The rack is gone[^]*since[^]*(nothing listens|connection)[^]*rackfab up/i.test(`+banner+`)`)
	b.quiet(t)
}
