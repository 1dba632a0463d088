package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/rackfab/rackfab/e2e/slowtest"
)

// parallelRack is a rack whose leaf has two links to each of two spines.
const parallelRack = `name: parallel
duration: 20ms
scheme: mrc
defaults: {link: {rate: 40Gbps, delay: 1us}}
nics: {h0..h3: , r0..r3: }
switches: {leaf0..leaf1: , spine0..spine1: }
links:
  - {endpoints: [h0..h3, leaf0]}
  - {endpoints: [r0..r3, leaf1]}
  - {endpoints: [leaf0..leaf1, spine0..spine1], parallel: 2}
flows: [{name: F, from: h0..h3, to: r0..r3, size: endless}]
`

// The page draws parallel links side by side, each with its own load, and the panel of a NIC
// shows its entropy moves.
func TestPageShowsPaths(t *testing.T) {
	slowtest.Skip(t, "operates a page in a browser")
	browserPath(t)
	file := filepath.Join(t.TempDir(), "parallel.yaml")
	if err := os.WriteFile(file, []byte(parallelRack), 0o600); err != nil {
		t.Fatal(err)
	}
	r := up(t, file, "--paused", "--processes", "2")
	b := newBrowser(t, 1366, 768)
	b.do(t, chromedp.Navigate(r.page(t)))
	r.do(t, "step", "300us")
	b.until(t, `window.rackfab?.snap`)
	r.do(t, "step", "200us")
	b.until(t, `rackfab.snap?.at >= 500e6`)
	lines := value[string](t, b, `["leaf0->spine0", "leaf0->spine0#2"].map((id) => {
		const lane = rackfab.snap.lanes[rackfab.model.laneById.get(id)];
		return document.querySelector('[data-lane="' + id + '"]').getAttribute("d") + (lane.load > 0.5 ? " loaded" : " idle")
	}).join("|")`)
	first, second, _ := strings.Cut(lines, "|")
	if first == second || !strings.HasSuffix(first, " loaded") || !strings.HasSuffix(second, " loaded") {
		t.Errorf("the lanes are %s", lines)
	}
	b.click(t, `[data-key="node:h0"]`)
	b.until(t, `/entropies: \d+ skipped, [1-9]\d* recycled/.test(document.querySelector("#selected .facts").textContent)`)
	b.until(t, `[...document.querySelectorAll("#selected figcaption")].some((c) => c.textContent.startsWith("entropy moves per ms"))`)
	b.keep(t, "page-paths")
	b.quiet(t)
	r.interrupt(t)
}
