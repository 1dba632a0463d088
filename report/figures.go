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
	quantity                   string // on the Y axis; with the unit
	whole                      bool   // covers the whole run, not only the burst and its consequences
	lines                      func(view) []chart.Line
	aside                      func(*measure.Run) string // a value of the table that the lines illustrate; nil for none
	only                       func(*Folder) bool        // reports whether the figure applies to a folder; nil if it applies to all with long flows
	some                       func(*Folder) string      // which of many lines are shown; nil if all are
	byName                     bool                      // a panel has only some of the lines: styles are assigned over all names of the figure
}

// wholeRun is the caption of a figure that repeats the previous one over the whole run.
const wholeRun = "The same over the whole run; a point averages several bins."

var subjects = []subject{
	{
		name: "pauses", title: "PAUSE frames per link", quantity: "PAUSE frames", unit: "per ms", lines: pauseLines, some: someLinks, aside: asideTree,
		caption: "PAUSE frames (XOFF) on the links that pause the long flows; x->y is sent by x and pauses y. PCN, fig. 2a.",
	},
	{
		name: "goodput-burst", title: "Goodput of the long flows" + nearBurst, quantity: "goodput", unit: "Gbit/s", lines: goodputLines, some: someFlows, aside: asideGoodput,
		caption: "Payload delivered in order (by schemes that spray, in any order), per bin. PCN, fig. 2b.",
	},
	{name: "goodput", title: "Goodput of the long flows, whole run", quantity: "goodput", unit: "Gbit/s", whole: true, lines: goodputLines, some: someFlows, aside: asideDip, caption: wholeRun},
	{
		name: "rates-burst", title: "CC rate limit and TX rate of the long flows" + nearBurst, quantity: "rate", unit: "Gbit/s", lines: rateLines, some: someFlows,
		caption: "CC rate limit: the rate that the scheme allows at the end of each bin. TX rate: sent on the link in the bin, headers included; " +
			"it is below the limit where PAUSE blocks the NIC. PCN, fig. 3.",
	},
	{name: "rates", title: "CC rate limit and TX rate of the long flows, whole run", quantity: "rate", unit: "Gbit/s", whole: true, lines: rateLines, some: someFlows, caption: wholeRun},
	{
		name: "workload-goodput", title: "Goodput of workloads", quantity: "goodput", unit: "Gbit/s", whole: true, lines: workloadLines, only: hasWorkloads,
		caption: "Payload delivered in order (by schemes that spray, in any order), summed over all flows and receivers of a workload.",
	},
	{
		name: "workload-pauses", title: "PAUSE frames, all links", quantity: "PAUSE frames", unit: "per ms", whole: true, lines: allPauseLines, only: hasWorkloads,
		caption: "PAUSE frames (XOFF), summed over all links.",
	},
	{
		name: "credit", title: "Credit granted and wasted", quantity: "credit", unit: "Gbit/s", whole: true, lines: creditLines,
		only:    anyRun(func(r *measure.Run) bool { return r.Credit != nil }),
		caption: "Granted: credit from a receiver to a sender, as a rate; s->r is granted by r to s. Wasted: credit not spent within a base RTT, or lost.",
	},
	{
		name: "tokens", title: "Tokens in the head buckets of the NICs", quantity: "tokens", unit: "KB", whole: true, lines: tokenLines, byName: true,
		only: anyRun(func(r *measure.Run) bool { return len(r.Series.Tokens) > 0 }),
		caption: "Level of the bucket at the end of each point, in 1000 bytes; it changes with every packet in between. " +
			"IN: for requested responses. OUT: for sent packets. A negative level is drawn as 0.",
	},
	{
		name: "stalls", title: "Stalls for tokens", quantity: "stalled", unit: "% of the time", whole: true, lines: stallLines, aside: asideStall, byName: true,
		only: anyRun(func(r *measure.Run) bool { return len(r.Series.Stalls) > 0 }),
		caption: "Share of the time in which a NIC had packets that waited for tokens alone. IN: requests waiting for the tokens of their responses. " +
			"OUT: requests and responses waiting to be sent; if both wait, both count.",
	},
	{
		name: "queues", title: "Egress queues on the path of the long flows", quantity: "queue", unit: "KB", lines: queueLines, some: somePorts,
		caption: "Maximum length of the egress queue in each bin, all classes together, in 1000 bytes; x->y is the port of x that leads to y.",
	},
}

// anyRun returns a function that reports whether is holds for a run of a folder.
func anyRun(is func(*measure.Run) bool) func(*Folder) bool {
	return func(f *Folder) bool { return slices.ContainsFunc(f.Results.Runs, is) }
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
			Title: s.titleOf(runs), XLabel: "time (ms)", YLabel: fmt.Sprintf("%s (%s)", s.quantity, s.unit), XMin: window.From, XMax: window.To,
		}}
		if s.some != nil {
			f.Caption += s.some(runs[0])
		}
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

// nearBurst is the end of the titles of figures that cover the burst and its consequences.
const nearBurst = " around the burst"

// titleOf returns the title of the figure of folders, which may have no burst.
func (s *subject) titleOf(runs []*Folder) string {
	if slices.ContainsFunc(runs, bursting) {
		return s.title
	}
	return strings.TrimSuffix(s.title, nearBurst)
}

// bursting reports whether a folder has a run with a burst, the time of which is shaded in plots.
var bursting = anyRun(func(r *measure.Run) bool { return r.Burst.Flows > 0 })

// styleByName assigns the same style to lines with the same name in all panels, and lines
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

// panel draws one scheme of one folder.
func (s *subject) panel(f *Folder, scheme string, window chart.Band) chart.Panel {
	p := chart.Panel{Title: scheme}
	run := f.run(scheme)
	if run == nil {
		p.Note = "not run"
		return p
	}
	if s.aside != nil {
		p.Aside = s.aside(run)
	}
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
	return unit.Time((window.To - window.From) / maxPoints * float64(unit.Millisecond))
}

func asideTree(r *measure.Run) string {
	return fmt.Sprintf("tree %s ms, paused %s ms", measure.Tree.Text(r), measure.PausedOutside.Text(r))
}

// asideStall returns the stalls of the NICs that post commands.
func asideStall(r *measure.Run) string {
	return fmt.Sprintf("IN %s ms, OUT %s ms", measure.StallIn.Text(r), measure.StallOut.Text(r))
}

func asideDip(r *measure.Run) string {
	return fmt.Sprintf("dip %s ms, recovery %s ms", measure.Dip.Text(r), measure.Recovery.Text(r))
}

// asideGoodput returns the mean goodputs over the burst.
func asideGoodput(r *measure.Run) string {
	if r.Burst.Flows == 0 {
		return ""
	}
	var parts []string
	for _, f := range r.Flows[:min(len(r.Flows), maxColumns)] {
		parts = append(parts, fmt.Sprintf("%s %.2f", f.Name, float64(f.BurstGoodput)/1e9))
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
		links := victimLinks(f.Scenario, f.Results.Runs, maxColumns)
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
