package report

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/report/chart"
)

// Figure is a chart with its file name and caption.
type Figure struct {
	Name, Caption string
	chart.Figure
}

// subject describes a figure and how its lines are computed from a run's series.
type subject struct {
	name, title, unit, caption string
	whole                      bool // covers the whole run, not only the burst and its consequences
	lines                      func(view) []chart.Line
	aside                      func(*measure.Run) string // a value of the table that the lines illustrate
	only                       func(*Folder) bool        // reports whether the figure applies to a folder; nil if it applies to all
	byName                     bool                      // a panel has only some of the lines: styles are assigned over all names of the figure
}

var subjects = []subject{
	{
		"pauses", "Rate of PAUSE frames per link", "frames/ms",
		"PAUSE frames (XOFF) on the links that hold the long flows, averaged over some bins; x->y is sent by x and holds y. The paper's Fig. 2a.",
		false, pauseLines, asideTree, nil, false,
	},
	{
		"goodput-burst", "Goodput of the long flows, around the burst", "Gbit/s",
		"Payload delivered in order, in each bin. The paper's Fig. 2b.", false, goodputLines, asideGoodput, nil, false,
	},
	{
		"goodput", "Goodput of the long flows, whole run", "Gbit/s",
		"The same over all of the run, with some bins to each point: how long it takes until nothing is lost any more.", true, goodputLines, asideLoss, nil, false,
	},
	{
		"rates-burst", "Regulated and actual rate of the long flows, around the burst", "Gbit/s",
		"Regulated: what the scheme allows the flow at the end of each bin. Actual: what its NIC puts on the link in the bin, headers included; " +
			"where it stays below the regulated rate, PAUSE holds the NIC. The paper's Fig. 3.", false, rateLines, nothing, nil, false,
	},
	{"rates", "Regulated and actual rate of the long flows, whole run", "Gbit/s", "The same over all of the run, with some bins to each point.", true, rateLines, nothing, nil, false},
	{
		"workload-goodput", "Goodput of workloads", "Gbit/s",
		"Payload of all flows of a workload, delivered in order, at all receivers together.", true, workloadLines, nothing, hasWorkloads, false,
	},
	{
		"workload-pauses", "Rate of PAUSE frames, all links", "frames/ms",
		"PAUSE frames (XOFF) on all links together, averaged over some bins.", true, allPauseLines, nothing, hasWorkloads, false,
	},
	{
		"credit", "Credit granted and wasted", "Gbit/s",
		"Granted: what a receiver grants to a sender, as a rate; s->r is by r to s. Wasted: what the sender did not spend within a base RTT, or lost.",
		true, creditLines, nothing, grantsCredit, false,
	},
	{
		"tokens", "Tokens in the head buckets of the NICs", "KB",
		"What the bucket of a NIC's shaper holds at the end of each point, in 1000 bytes; in between it falls and rises with every packet. " +
			"IN: for the responses that it asks for. OUT: for what it sends. A bucket in debt counts as empty.", true, tokenLines, nothing, countsTokens, true,
	},
	{
		"stalls", "Stalls for tokens", "% of the time",
		"How long a NIC had packets that waited for nothing but tokens, as a share of the time. IN: requests for tokens for their responses. " +
			"OUT: requests and responses for tokens to be sent; where both wait, both count.", true, stallLines, asideStall, hasStalls, true,
	},
	{
		"queues", "Egress queues on the way of the long flows", "KB",
		"The longest that the egress queue was in each bin, all classes together, in 1000 bytes; x->y is the port of x that leads to y.", false, queueLines, nothing, nil, false,
	},
}

// Figures draws the spreads of variants and every subject, with a row of panels per
// scheme and a column per folder.
func Figures(runs []*Folder) (figures []Figure) {
	schemes := allSchemes(runs)
	near, whole := spans(runs)
	names := labels(runs)
	figures = spreadFigures(runs)
	for _, s := range subjects {
		if s.only != nil && !slices.ContainsFunc(runs, s.only) {
			continue
		}
		if s.only == nil && !slices.ContainsFunc(runs, func(f *Folder) bool { return !workloadsAlone(f.Scenario) }) {
			continue // it shows long flows only
		}
		window := near
		if s.whole {
			if window = whole; near == whole && s.only == nil {
				continue // the subject of the same name around the burst covers it
			}
		}
		f := Figure{Name: s.name, Caption: s.caption, Figure: chart.Figure{
			Title: s.title, XLabel: "time (ms)", YLabel: s.unit, XMin: window.From, XMax: window.To,
		}}
		for _, scheme := range schemes {
			var row []chart.Panel
			for i, folder := range runs {
				p := s.panel(folder, scheme, window)
				if len(runs) > 1 {
					p.Title += ", " + names[i]
				}
				row = append(row, p)
			}
			f.Rows = append(f.Rows, row)
		}
		if s.byName {
			styleByName(f.Rows)
		}
		figures = append(figures, f)
	}
	return figures
}

// styleByName gives lines with the same name the same style in all panels, and lines
// with different names different styles.
func styleByName(rows [][]chart.Panel) {
	var names []string
	var lines []*chart.Line
	for _, row := range rows {
		for i := range row {
			for k := range row[i].Lines {
				l := &row[i].Lines[k]
				lines = append(lines, l)
				if !slices.Contains(names, l.Name) {
					names = append(names, l.Name)
				}
			}
		}
	}
	slices.Sort(names)
	for _, l := range lines {
		l.Style = style(slices.Index(names, l.Name), len(names))
	}
}

// grantsCredit reports whether a run of the folder used receiver credit.
func grantsCredit(f *Folder) bool {
	return slices.ContainsFunc(f.Results.Runs, func(r *measure.Run) bool { return r.Credit != nil })
}

// countsTokens reports whether tokens were used in a run of the folder.
func countsTokens(f *Folder) bool {
	return slices.ContainsFunc(f.Results.Runs, func(r *measure.Run) bool { return len(r.Series.Tokens) > 0 })
}

// hasStalls reports whether a NIC waited for tokens in a run of the folder.
func hasStalls(f *Folder) bool {
	return slices.ContainsFunc(f.Results.Runs, func(r *measure.Run) bool { return len(r.Series.Stalls) > 0 })
}

// panel draws one scheme of one folder.
func (s *subject) panel(f *Folder, scheme string, window chart.Band) chart.Panel {
	p := chart.Panel{Title: scheme}
	run := f.run(scheme)
	if run == nil {
		p.Note = "not run"
		return p
	}
	p.Aside = s.aside(run)
	p.Band = chart.Band{From: milliseconds(run.Burst.Start), To: milliseconds(run.Burst.End)}
	for _, l := range s.lines(view{f, run, step(window)}) {
		p.Lines = append(p.Lines, within(l, window))
	}
	if s.only != nil && len(p.Lines) == 0 {
		p.Note = "none"
	}
	return p
}

// step returns the time per point of a line in a window. Bins may be longer.
func step(window chart.Band) unit.Time {
	return unit.Time((window.To - window.From) / mostPoints * float64(unit.Millisecond))
}

func nothing(*measure.Run) string { return "" }

func asideTree(r *measure.Run) string {
	return fmt.Sprintf("tree %s ms, paused %s ms", milli(r.Tree), milli(r.PausedOutside))
}

// asideStall returns the stalls of the NICs that post commands.
func asideStall(r *measure.Run) string {
	in, out := stallOf(r)
	return fmt.Sprintf("IN %s ms, OUT %s ms", milli(in), milli(out))
}

func asideLoss(r *measure.Run) string {
	return fmt.Sprintf("loss %s ms, recovery %s ms", lossOf(r), recoveryOf(r))
}

// asideGoodput returns the mean goodputs over the burst.
func asideGoodput(r *measure.Run) string {
	if r.Burst.Flows == 0 {
		return ""
	}
	var parts []string
	for _, f := range r.Flows[:min(len(r.Flows), mostColumns)] {
		parts = append(parts, f.Name+" "+giga(f.BurstGoodput))
	}
	return strings.Join(parts, ", ") + " Gbit/s in the burst"
}

// labels returns short names for the folders: the last elements of their paths, or the
// whole paths if two of these are equal.
func labels(runs []*Folder) []string {
	short, long := make([]string, len(runs)), make([]string, len(runs))
	for i, f := range runs {
		short[i], long[i] = filepath.Base(f.Dir), f.Dir
	}
	if sorted := slices.Sorted(slices.Values(short)); len(slices.Compact(sorted)) < len(runs) {
		return long
	}
	return short
}

// allSchemes lists the schemes of all folders without duplicates.
func allSchemes(runs []*Folder) (schemes []string) {
	for _, f := range runs {
		for _, run := range f.Results.Runs {
			if !slices.Contains(schemes, run.Scheme) {
				schemes = append(schemes, run.Scheme)
			}
		}
	}
	return schemes
}

// spans returns two windows in milliseconds: the bursts with their consequences,
// extended by a tenth before and a quarter after, and the whole run. Without a burst
// both are the same.
func spans(runs []*Folder) (near, whole chart.Band) {
	from, to := unit.Never, unit.Time(0)
	for _, f := range runs {
		links := victimLinks(f.Scenario)
		for _, run := range f.Results.Runs {
			whole.To = max(whole.To, milliseconds(run.FabricTime))
			if run.Burst.Flows == 0 {
				continue
			}
			from, to = min(from, run.Burst.Start), max(to, run.Burst.End)
			for _, p := range run.Series.Pauses {
				if slices.Contains(links, p.Link) {
					to = max(to, lastCount(p.Bins, run.Series.Bin))
				}
			}
		}
	}
	if from >= to {
		return whole, whole
	}
	length := milliseconds(to - from)
	near = chart.Band{From: max(0, milliseconds(from)-length/10), To: min(whole.To, milliseconds(to)+length/4)}
	return near, whole
}

// lastCount returns the end of the last bin that is not empty, or 0 if all are empty.
func lastCount(bins []int64, bin unit.Time) unit.Time {
	for i := len(bins) - 1; i >= 0; i-- {
		if bins[i] != 0 {
			return unit.Time(i+1) * bin
		}
	}
	return 0
}

// within clips a line to an interval of its X axis. It keeps one point on either side.
func within(l chart.Line, window chart.Band) chart.Line {
	first, _ := slices.BinarySearch(l.X, window.From)
	last, _ := slices.BinarySearch(l.X, window.To)
	first, last = max(first-1, 0), min(last+1, len(l.X))
	l.X, l.Y = l.X[first:last], l.Y[first:last]
	return l
}

func milliseconds(t unit.Time) float64 { return t.Seconds() * 1e3 }
