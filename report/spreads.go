package report

import (
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/report/chart"
)

// spreads are the figures of the median and the range over variants, each with the
// figures of a run that it shows.
var spreads = []struct {
	name, title, label string
	names, suffixes    []string // of figures
}{
	{"spread-tree", "Congestion tree, and how long senders outside the burst were paused", "time (ms)", []string{"tree_ms", "paused_outside_ms"}, nil},
	{"spread-recovery", "Throughput dip and recovery", "time (ms)", []string{"loss_ms", "recovery_ms"}, nil},
	{"spread-goodput", "Goodput of the long flows in the burst", "goodput (Gbit/s)", nil, []string{".burst_goodput_gbps"}},
	{"spread-fct", "Completion times of the burst's flows", "completion time (ms)", []string{"burst.fct_p50_ms", "burst.fct_p99_ms"}, nil},
	{"spread-slowdown", "Slowdown of the flows of workloads", "slowdown", nil, []string{".slowdown_p50", ".slowdown_p99"}},
	{"spread-commands", "Completion times of commands", "completion time (ms)", nil, []string{".p50_ms", ".p99_ms"}},
}

const spreadCaption = "Median, minimum and maximum over the variants of each scheme. A run that ended before the value was reached counts with its lower bound."

// spreadFigures draws the spreads of the folders with variants, one panel per folder.
func spreadFigures(runs []*Folder) (figures []Figure) {
	schemes, names := allSchemes(runs), labels(runs)
	for _, s := range spreads {
		f := Figure{Name: s.name, Caption: spreadCaption, Figure: chart.Figure{
			Title: s.title, YLabel: s.label, XLabel: "scheme", XNames: schemes, XMin: 0.5, XMax: float64(len(schemes)) + 0.5,
			Rows: [][]chart.Panel{nil}, PanelHeight: 200,
		}}
		drawn := false
		for i, folder := range runs {
			p := chart.Panel{Lines: spreadLines(folder.Results.Repeats, schemes, func(figure string) bool {
				return slices.Contains(s.names, figure) || slices.ContainsFunc(s.suffixes, func(end string) bool { return strings.HasSuffix(figure, end) })
			})}
			if len(runs) > 1 {
				p.Title = names[i]
			}
			if p.Lines == nil {
				p.Note = "none"
			}
			drawn = drawn || p.Lines != nil
			f.Rows[0] = append(f.Rows[0], p)
		}
		if drawn {
			figures = append(figures, f)
		}
	}
	return figures
}

// spreadLines returns a bar per scheme for each figure that show picks. The bars of one
// scheme are adjacent.
func spreadLines(r *measure.Repeats, schemes []string, show func(figure string) bool) (lines []chart.Line) {
	if r == nil {
		return nil
	}
	var shown []string // names of the figures
	for _, s := range r.Schemes[0].Figures {
		if show(s.Name) && len(lines) < maxLines {
			i := len(lines)
			shown = append(shown, s.Name)
			lines = append(lines, chart.Line{Name: legendOf(s.Name), Style: chart.Style{Colour: i}, Dots: true, Apart: true})
		}
	}
	const beside = 0.12
	for i := range lines {
		l := &lines[i]
		for _, one := range r.Schemes {
			at := slices.IndexFunc(one.Figures, func(s measure.Spread) bool { return s.Name == shown[i] })
			s := one.Figures[at]
			x := float64(slices.Index(schemes, one.Scheme)+1) + beside*(float64(i)-float64(len(lines)-1)/2)
			l.Add(x, s.Median.Value)
			l.Low, l.High = append(l.Low, s.Min.Value), append(l.High, s.Max.Value)
		}
	}
	return lines
}

// titles are the names of figures in tables and legends.
var titles = map[string]string{
	measure.Tree.Name: measure.Tree.Title, measure.PausedOutside.Name: measure.PausedOutside.Title,
	measure.Dip.Name: measure.Dip.Title, measure.Recovery.Name: measure.Recovery.Title,
}

// legendOf returns the name of a figure in a legend: without the quantity and the unit of the axis.
func legendOf(figure string) string {
	if title, ok := titles[figure]; ok {
		return title
	}
	for _, end := range []string{"_ms", ".burst_goodput_gbps"} {
		figure = strings.TrimSuffix(figure, end)
	}
	return strings.NewReplacer("burst.fct_", "", "slowdown_", "", ".", " ").Replace(figure)
}
