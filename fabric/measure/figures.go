package measure

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Figure is one number that describes a run. Tables, reports, sweeps and results.json
// take their figures from this catalogue.
type Figure struct {
	Name         string // in files; ends with the unit, if any: "tree_ms"
	Group, Title string // headings of its column in tables
	Meaning      string // a definition for the reader of a table, or ""
	Whole        bool   // integer count of at most 2^53
	Of           func(*Run) float64
	// Beyond reports whether the run ended before it reached the figure, so that the
	// true value is at least that of the run. It is nil for a figure that every run
	// reaches.
	Beyond   func(*Run) bool
	missing  func(*Run) bool // no value at all: "-" in tables
	partial  func(*Run) bool // covers only the flows or commands that are done, and some are not
	total    func(*Run) int  // tables show "completed/total"
	decimals int             // in tables
}

// Unreached reports whether the run ended before it reached the figure.
func (f *Figure) Unreached(r *Run) bool { return f.Beyond != nil && f.Beyond(r) }

// Missing reports whether the run has no value of the figure, such as the bandwidth of a collective that has not
// ended.
func (f *Figure) Missing(r *Run) bool { return f.missing != nil && f.missing(r) }

// Partial reports whether the figure covers only the flows or commands that are done, while others of the run are
// not. It is no bound then: those that began shortly before the end may be faster.
func (f *Figure) Partial(r *Run) bool { return f.partial != nil && !f.Missing(r) && f.partial(r) }

// Text formats the figure of a run for a table. A lower bound begins with ">".
func (f *Figure) Text(r *Run) string { return f.text(r, f.Unreached(r)) }

func (f *Figure) text(r *Run, atLeast bool) string {
	if f.Missing(r) {
		return "-"
	}
	text := fmt.Sprintf("%.*f", f.decimals, f.Of(r))
	if f.total != nil {
		text += fmt.Sprintf("/%d", f.total(r))
	}
	if atLeast {
		text = ">" + text
	}
	return text
}

// TextSpread formats the minimum, the median and the maximum of several runs for a
// table.
func (f *Figure) TextSpread(runs []*Run) (least, median, most string) {
	at := func(perMille int) string { return f.text(f.ranked(runs, perMille)) }
	return at(0), at(500), at(1000)
}

// Ranked returns the nearest-rank percentile of several runs, 0 to 1000 per mille. ok is false if that
// run has no value.
func (f *Figure) Ranked(runs []*Run, perMille int) (b Bound, ok bool) {
	r, atLeast := f.ranked(runs, perMille)
	return Bound{f.Of(r), atLeast}, !f.Missing(r)
}

func (f *Figure) ranked(runs []*Run, perMille int) (r *Run, atLeast bool) {
	values, beyond := f.values(runs)
	i, atLeast := Rank(values, beyond, perMille)
	return runs[i], atLeast
}

// Label returns the name with its unit set apart: "tree [ms]".
func (f *Figure) Label() string {
	for _, u := range []struct{ suffix, unit string }{{"_ms", "ms"}, {"_gbps", "Gbit/s"}} {
		if name, ok := strings.CutSuffix(f.Name, u.suffix); ok {
			return name + " [" + u.unit + "]"
		}
	}
	return f.Name
}

// Figures lists the figures of every run of the scenario, as files have them. The PAUSE
// figures of a link are in PauseFigures.
func Figures(s *topology.Scenario) []Figure {
	all := Catalogue(s)
	list := append([]Figure{Tree, PausedOutside, Dip, Recovery}, OtherPauses(nil)...)
	list = append(list, Drops, LinkLost, LinkDamaged, LinkReplayed, Retransmits, RetransmittedBytes, TrimmedFrames, TrimmedBytes, OutOfOrder, Imbalance, FrameHops)
	if Sharing(s) {
		list = append(list, SettledFigures...)
	}
	if Failing(s) {
		list = append(list, FailureFigures...)
	}
	for _, flow := range all.Flows {
		list = append(list, flow.Goodput, flow.BurstGoodput)
	}
	for _, w := range all.Workloads {
		list = append(list, w.Flows, w.Completed, w.FCTMean, w.SlowdownMean)
		for _, c := range w.Classes {
			list = append(list, c.Slowdown[:]...)
		}
	}
	for _, c := range all.Commands {
		list = append(list, c.Goodput, c.Completed, c.P50, c.P99)
	}
	for i, c := range all.Collectives {
		list = append(list, c.List(&s.Collectives[i])...)
	}
	if len(s.Steps) > 0 {
		list = append(list, ProgramTime, ProgramSteps)
	}
	if len(all.Commands) > 0 {
		list = append(list, InitiatorQueue, InitiatorPAUSE, StallIn, StallOut)
	}
	if slices.ContainsFunc(s.Flows, endless) {
		list = append(list, EndlessGoodputs[:]...)
	}
	if s.HasBursts() {
		list = append(list, BurstFlows, BurstCompleted, BurstP50, BurstP99)
	}
	return list
}

func count(name, group, title string, of func(*Run) int64) Figure {
	return Figure{Name: name, Group: group, Title: title, Whole: true, Of: func(r *Run) float64 { return float64(of(r)) }}
}

func number(name, group, title string, of func(*Run) float64) Figure {
	return Figure{Name: name, Group: group, Title: title, Of: of, decimals: 2}
}

func span(name, group, title string, of func(*Run) unit.Time) Figure {
	return number(name, group, title, func(r *Run) float64 { return milliseconds(of(r)) })
}

func rateFigure(name, group, title string, of func(*Run) unit.Rate) Figure {
	return number(name, group, title, func(r *Run) float64 { return gigabits(of(r)) })
}

// means sets the figure's definition.
func (f Figure) means(text string) Figure {
	f.Meaning = text
	return f
}

// until sets the condition under which a run ended before the figure was reached.
func (f Figure) until(beyond func(*Run) bool) Figure {
	f.Beyond = beyond
	return f
}

// of sets the total of which the figure is a part.
func (f Figure) of(total func(*Run) int) Figure {
	f.total = total
	return f
}

// without sets the condition under which a run has no value.
func (f Figure) without(missing func(*Run) bool) Figure {
	f.missing = missing
	return f
}

// ofDone sets the number of flows or commands that a figure covers, and of all.
func (f Figure) ofDone(done, all func(*Run) int) Figure {
	f.partial = func(r *Run) bool { return done(r) < all(r) }
	return f
}

// with sets the number of decimals.
func (f Figure) with(decimals int) Figure {
	f.decimals = decimals
	return f
}

func milliseconds(t unit.Time) float64 { return float64(t) / float64(unit.Millisecond) }

func gigabits(r unit.Rate) float64 { return float64(r) / float64(unit.GigabitPerSec) }
