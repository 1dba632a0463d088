package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/report/chart"
)

// look is the content of a page.
type look struct {
	elements   map[string]int
	references []string   // to anything outside the page
	tables     [][]string // texts of the rows, with cells joined by |
	text       string
}

// read parses a page as a browser does.
func read(t *testing.T, page []byte) (l look) {
	t.Helper()
	l.elements = map[string]int{}
	d := xml.NewDecoder(bytes.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var cells []string
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return l
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			l.elements[e.Name.Local]++
			for _, a := range e.Attr {
				if slices.Contains([]string{"src", "href", "data", "action", "srcset"}, a.Name.Local) {
					l.references = append(l.references, a.Value)
				}
			}
			switch e.Name.Local {
			case "table":
				l.tables = append(l.tables, nil)
			case "tr":
				cells = nil
			case "td":
				cells = append(cells, "")
			}
		case xml.EndElement:
			if last := len(l.tables) - 1; e.Name.Local == "tr" && len(cells) > 0 {
				l.tables[last] = append(l.tables[last], strings.Join(cells, "|"))
			}
		case xml.CharData:
			l.text += string(e)
			if len(cells) > 0 {
				cells[len(cells)-1] += strings.TrimSpace(string(e))
			}
		}
	}
}

func pageOf(t *testing.T, runs ...*Folder) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Page(&b, runs, Figures(runs)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestPageIsSelfContained(t *testing.T) {
	text := pageOf(t, sample(t, "out", "pfc", "pcn"))
	l := read(t, text)
	for _, element := range []string{"script", "link", "img", "iframe", "object", "image"} {
		if l.elements[element] > 0 {
			t.Errorf("%d elements %s", l.elements[element], element)
		}
	}
	for _, r := range l.references {
		if !regexp.MustCompile(`^[a-z-]+\.(svg|png)$`).MatchString(r) {
			t.Errorf("a reference to %q", r)
		}
	}
	if regexp.MustCompile(`@import|url\(`).Match(text) {
		t.Error("the style loads a resource")
	}
	if l.elements["svg"] != 7 || l.elements["figure"] != 7 {
		t.Errorf("%d drawings in %d figures, want a tree and 6 plots", l.elements["svg"], l.elements["figure"])
	}
}

func TestPageContainsTheTables(t *testing.T) {
	l := read(t, pageOf(t, paperSample(t, "pfc", "pcn")))
	want := [][]string{
		{
			"pfc|0.25paper 3.1|0.12|0.50|0.33|0|10|0|1100|1.00|2.00|223/224|>0.32|>0.65|6|0000000000000001",
			"pcn|0.50paper 0|0.25|1.00|0.67|0paper few|20paper 0|0paper 0|2200|2.00paper 37.5|4.00paper 2.5|223/224|>0.32|>0.65|7|0000000000000002",
		},
		{"pfc|0.00|1.10|0.00|0.30", "pcn|0.00|1.10|0.00|0.30"},
		{"pfc|0.50|0.25|1000|0.00|71|0|0", "pcn|0.50|0.25|2000|0.00|72|0|0"},
	}
	if diff := cmp.Diff(want, l.tables); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"rackfab run out/scenario.yaml --bus memory --scheme pfc,pcn", "v1.2.3", "seed 1", "tree", "throughput dip"} {
		if !strings.Contains(l.text, text) {
			t.Errorf("no %q", text)
		}
	}
}

func TestPageContainsTheFigures(t *testing.T) {
	f := sample(t, "out", "pfc", "pcn")
	page := pageOf(t, f)
	for _, figure := range Figures([]*Folder{f}) {
		if !bytes.Contains(page, figure.Inline()) {
			t.Errorf("figure %s is not on the page", figure.Name)
		}
	}
	f.Results.Runs[1].Series.Goodput[0].Bins[12] += 90
	if bytes.Equal(page, pageOf(t, f)) {
		t.Error("a changed series did not change the page")
	}
}

func TestPageShowsSeveralRuns(t *testing.T) {
	l := read(t, pageOf(t, sample(t, "runs/a", "pfc"), sample(t, "runs/b", "pcn")))
	if len(l.tables) != 6 || !strings.Contains(l.text, "a: pcn-16to2") || !strings.Contains(l.text, "b: pcn-16to2") {
		t.Errorf("%d tables in %q", len(l.tables), l.text)
	}
}

// The page begins with the findings and the tree; the tables follow.
func TestPageBeginsWithTheFinding(t *testing.T) {
	f := sample(t, "out", "pfc", "pcn")
	page := string(pageOf(t, f))
	last := 0
	for _, part := range []string{"<h1>pcn-16to2</h1>", "<li>pfc: F0 ", "<li>pcn: F0 ", `<figure id="tree">`, `<table class="compared">`, "<h2>Plots</h2>"} {
		at := strings.Index(page, part)
		if at < last {
			t.Errorf("%q is missing or too early", part)
		}
		last = at
	}
	f.Results.Runs[0].Pauses, f.Results.Runs[1].Pauses = nil, nil
	if strings.Contains(string(pageOf(t, f)), `id="tree"`) {
		t.Error("a tree without a paused link")
	}
}

// On a dark page every colour of the plots has another value.
func TestPageIsDarkWhereTheBrowserIs(t *testing.T) {
	page := string(pageOf(t, sample(t, "out", "pfc")))
	style, _, _ := strings.Cut(page, "</style>")
	_, dark, found := strings.Cut(style, "@media (prefers-color-scheme: dark)")
	if !found {
		t.Fatal("no dark style")
	}
	for _, c := range chart.Colours() {
		if !strings.Contains(dark, "--"+c.Name+": "+c.Dark) || c.Dark == c.Light {
			t.Errorf("%s has no dark colour", c.Name)
		}
	}
	if fixed := regexp.MustCompile(`(fill|stroke):#\w+`).FindString(page); fixed != "" {
		t.Errorf("a drawing has the fixed colour %s", fixed)
	}
}

// Names come from files; the page shows them as text.
func TestPageEscapesNames(t *testing.T) {
	f := sample(t, "out", "pfc")
	f.Manifest.Rackfab = `<script src="http://example.org/x.js"></script>`
	l := read(t, pageOf(t, f))
	if l.elements["script"] > 0 || !strings.Contains(l.text, f.Manifest.Rackfab) {
		t.Error("a version became an element of the page")
	}
}

// A throughput dip that continues at the end of the run is longer than its observed
// part.
func TestUnfinishedDipIsALowerBound(t *testing.T) {
	f := sample(t, "out", "pfc")
	run := f.Results.Runs[0]
	for loss, want := range map[unit.Time]string{0: "0.00", 1600 * us: "1.60", 1650 * us: "1.65", 1700 * us: ">1.70"} {
		if run.Loss = loss; measure.Dip.Text(run) != want {
			t.Errorf("dip of %s in a run of %s, burst at %s: %s, want %s", loss, run.FabricTime, run.Burst.Start, measure.Dip.Text(run), want)
		}
	}
}

func TestMissingRecoveryIsALowerBound(t *testing.T) {
	f := sample(t, "out", "pfc")
	run := f.Results.Runs[0]
	for recovery, want := range map[unit.Time]string{0: "0.00", 700 * us: "0.70", 750 * us: ">0.75", 1700 * us: ">1.70"} {
		if run.Recovery = recovery; measure.Recovery.Text(run) != want {
			t.Errorf("recovery %s in a run of %s, burst at %s: %s, want %s", recovery, run.FabricTime, run.Burst.Start, measure.Recovery.Text(run), want)
		}
	}
}

// A table of a large rack has few columns, and counts every PAUSE frame.
func TestTableOfALargeRack(t *testing.T) {
	text, _ := scenariofile.Builtin("dumbbell-32-8")
	s, err := scenariofile.Parse("dumbbell-32-8", text)
	if err != nil {
		t.Fatal(err)
	}
	f := sample(t, "out", "pfc")
	r := *f.Results
	r.Scenario = s.Name
	c := TableOf(s, &r)
	if n := len(c.Columns); n > 18 {
		t.Errorf("%d columns", n)
	}
	frames, _ := pauseFigures(s, r.Runs)
	total := 0.0
	for _, f := range frames {
		total += f.Of(r.Runs[0])
	}
	if total != 1110 {
		t.Errorf("%v PAUSE frames in the table, 1110 were sent", total)
	}
}

// Plots without a burst have no shaded part, and the page does not define it.
func TestPageDefinesTheShadedPart(t *testing.T) {
	f := sample(t, "out", "pfc")
	for _, burst := range []measure.Burst{f.Results.Runs[0].Burst, {}} {
		f.Results.Runs[0].Burst = burst
		var b strings.Builder
		if err := Page(&b, []*Folder{f}, nil); err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Contains(b.String(), "The shaded part"), burst.Flows > 0; got != want {
			t.Errorf("%+v: %t, want %t", burst, got, want)
		}
	}
}
