package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/rackfab/rackfab/e2e/slowtest"
)

// leafSpineRack returns a scenario file with leaves, hosts below each of them, and spines. An
// incast at the last host pauses the flow V of h1.
func leafSpineRack(t testing.TB, leaves, hosts, spines int) string {
	t.Helper()
	last := leaves*hosts - 1
	text := fmt.Sprintf(`name: rack-%d
duration: 20ms
scheme: pfc
topology: {template: leaf-spine, leaves: %d, hosts: %d, spines: %d, rate: 40Gbps, uplink_rate: 200Gbps}
defaults: {switch: {buffer: 64MB, xoff: 50KB}}
flows:
  - {name: V, from: h1, to: h%d, size: endless}
bursts:
  - {name: incast, from: "h1..h9", to: h%d, flows_per_sender: 2, size: 64KB, at: 1us}
`, leaves*hosts+leaves+spines, leaves, hosts, spines, last-1, last)
	path := filepath.Join(t.TempDir(), "rack.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// wheel turns the wheel over the centre of the drawing.
func (b *browser) wheel(t *testing.T, by float64) {
	t.Helper()
	at := b.centre(t, "#rack")
	value[bool](t, b, fmt.Sprintf(`document.querySelector("#rack svg").dispatchEvent(new WheelEvent("wheel", { clientX: %g, clientY: %g, deltaY: %g, bubbles: true, cancelable: true }))`, at[0], at[1], by))
}

// find types a name into the search, which the key / opens, and takes the first result.
func (b *browser) find(t *testing.T, name string) {
	t.Helper()
	b.do(t, chromedp.KeyEvent("/"))
	b.until(t, `document.activeElement.id === "find"`)
	value[string](t, b, `document.activeElement.value = ""`) // DevTools types the / as well
	b.do(t, chromedp.KeyEvent(name))
	b.until(t, fmt.Sprintf(`document.querySelector("#found-0")?.textContent === "%sNIC"`, name))
	b.do(t, chromedp.KeyEvent("\r"))
	b.until(t, fmt.Sprintf(`document.querySelector('[data-key="node:%s"].chosen')`, name))
}

// centre returns the centre of an element.
func (b *browser) centre(t *testing.T, selector string) []float64 {
	t.Helper()
	return value[[]float64](t, b, fmt.Sprintf(`(() => { const r = document.querySelector(%q).getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] })()`, selector))
}

// JavaScript expressions about the drawing.
const (
	drawnNICs = `document.querySelectorAll(".node.nic").length`
	shift     = `document.querySelector("g.world").getAttribute("transform")`
	elements  = `document.querySelectorAll("#rack svg *").length`
)

// collapsedPage starts a rack, paused at an instant, and returns it with its page, which shows its leaves.
func collapsedPage(t *testing.T, leaves, hosts, spines int, at string) (r *rack, b *browser) {
	t.Helper()
	r = up(t, leafSpineRack(t, leaves, hosts, spines), "--paused", "--processes", "1")
	r.do(t, "step", at)
	b = newBrowser(t, 1366, 768)
	b.do(t, chromedp.Navigate(r.page(t)))
	b.until(t, fmt.Sprintf(`window.rackfab?.snap && document.querySelectorAll(".node.group").length === %d`, leaves))
	return r, b
}

// A user looks at a rack of 128 nodes, whose leaves are collapsed: opens one, zooms with the
// wheel, moves the drawing, finds a host of a closed leaf by its name, and reads why a link
// is paused, and that one is cut.
func TestPageShowsALargeRack(t *testing.T) {
	slowtest.Skip(t, "operates a page in a browser")
	browserPath(t)
	r, b := collapsedPage(t, 4, 30, 4, "60us")
	b.until(t, drawnNICs+` === 0`)
	r.do(t, "step", "5us")
	b.until(t, `document.querySelector(".node.group .dots.paused").getAttribute("d")?.length > 20 && rackfab.victims.has("V") && rackfab.trees[0].root === rackfab.model.byName.get("leaf3")`)
	words(t, b)
	b.click(t, `[data-key="group:leaf0"]`)
	b.until(t, drawnNICs+` === 30 && document.querySelectorAll(".node.group").length === 3`)
	b.click(t, `[data-key="node:leaf0"] .handle`)
	b.until(t, drawnNICs+` === 0`)
	whole := value[string](t, b, shift)
	b.wheel(t, -300)
	b.until(t, shift+` !== `+fmt.Sprintf("%q", whole))
	zoomed, at := value[string](t, b, shift), b.centre(t, "#rack")
	b.do(t, chromedp.DragAndDropXY(at[0], at[1], at[0]+150, at[1]+20))
	b.until(t, shift+` !== `+fmt.Sprintf("%q", zoomed))
	if chosen := value[bool](t, b, `rackfab.selected !== null`); chosen {
		t.Error("the drag selected something")
	}
	b.do(t, chromedp.Click("#zoom-fit"))
	b.until(t, shift+` === `+fmt.Sprintf("%q", whole))
	b.find(t, "h77")
	within := `(() => { const a = document.querySelector("#rack").getBoundingClientRect(), b = document.querySelector('[data-key="node:h77"]').getBoundingClientRect(); return b.x >= a.x && b.right <= a.right && b.y >= a.y && b.bottom <= a.bottom && b.height > 8 })()`
	if !value[bool](t, b, within) {
		t.Error("h77 is not in view, or too small to read")
	}
	r.do(t, "link", "down", "leaf1--spine2")
	r.do(t, "step", "20us")
	b.do(t, chromedp.KeyEvent("\x1b"), chromedp.KeyEvent("0"))
	b.until(t, `document.querySelector(".marks .cut") && document.querySelector('[data-lane="leaf1->spine2"]').dataset.state === "down"`)
	b.do(t, chromedp.KeyEvent("?"))
	b.until(t, `document.querySelector("dialog.help").open`)
	b.keep(t, "page-128")
	b.quiet(t)
	r.interrupt(t)
}

// words checks what the page says about the paused link of the victim.
func words(t *testing.T, b *browser) {
	t.Helper()
	at := b.centre(t, `[data-key="group:leaf0"]`)
	b.do(t, chromedp.MouseEvent("mouseMoved", at[0], at[1]))
	b.until(t, `/h0\.\.h29 at leaf0: TX .*[0-9]+ of 30 recently paused: h1.*victims: .*V/s.test(document.querySelector(".tip:not([hidden])")?.textContent)`)
	port := `rackfab.model.lanes[rackfab.model.flows.get("V").paths[0][1]]`
	value[bool](t, b, `(rackfab.choose({ kind: "lane", lane: `+port+`.index }), true)`)
	b.until(t, `/leaf0->spine\d carries .* of 200 Gbit\/s/.test(document.querySelector("#selected .words").textContent)`)
	value[bool](t, b, `(rackfab.choose({ kind: "flow", name: "V" }), true)`)
	b.until(t, `/V is a victim: it crosses (\S+)->(\S+), which \2 pauses, but not leaf3->h119, where the congestion is/.test(document.querySelector("#selected .words").textContent)`)
	value[bool](t, b, `(rackfab.choose(null), true)`)
}

// A rack of 1,008 nodes is usable: its leaves fit on the page, and after all are opened, only
// what is in view has elements.
func TestPageShowsAThousandNodes(t *testing.T) {
	slowtest.Skip(t, "operates a page in a browser")
	browserPath(t)
	r, b := collapsedPage(t, 30, 32, 18, "2us")
	collapsed := value[float64](t, b, elements)
	b.do(t, chromedp.KeyEvent("o"))
	b.until(t, drawnNICs+` === 960`)
	b.find(t, "h500")
	b.until(t, drawnNICs+` < 100`)
	open := value[float64](t, b, elements)
	if open > collapsed {
		t.Errorf("%.0f elements for what is in view of the open rack, %.0f for the collapsed rack", open, collapsed)
	}
	r.do(t, "step", "1us")
	b.until(t, `rackfab.snap.at === 3e6`)
	t.Logf("%.0f elements collapsed, %.0f in view", collapsed, open)
	b.keep(t, "page-1008")
	b.quiet(t)
	r.interrupt(t)
}
