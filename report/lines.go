package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/report/chart"
)

// maxLines is the largest number of links, ports or flows in a figure.
const maxLines = 6

// view is a run as shown in a figure.
type view struct {
	*Folder
	*measure.Run
	step unit.Time // time per point; at least a bin
}

// maxPoints is the largest number of points of a line. With more, the lines would
// merge into an area.
const maxPoints = 200

// group returns the number of bins per point.
func (v *view) group() int { return int(max(1, (v.step+v.Series.Bin-1)/v.Series.Bin)) }

// pauseLines returns step lines of PAUSE frames per millisecond on the victims' links.
func pauseLines(v view) (lines []chart.Line) {
	v = v.finePauses()
	width := milliseconds(unit.Time(v.group()) * v.Series.Bin)
	links := victimLinks(v.Scenario, v.Results.Runs, maxLines)
	for i, link := range links {
		bins := make([]int64, int(v.FabricTime/v.Series.Bin))
		for _, p := range v.Series.Pauses {
			if p.Link == link {
				bins = p.Bins
			}
		}
		l := line(link, style(i, len(links)), v, bins, mean, 1/milliseconds(v.Series.Bin))
		var stairs chart.Line
		for k, x := range l.X {
			stairs.Add(x-width/2, l.Y[k])
			stairs.Add(x+width/2, l.Y[k])
		}
		l.X, l.Y = stairs.X, stairs.Y
		lines = append(lines, l)
	}
	return lines
}

// finePauses returns the view with the PAUSE frames per measure.PauseBin, if they were
// counted per PauseBin.
func (v view) finePauses() view {
	if !slices.ContainsFunc(v.Series.Pauses, func(p measure.PauseSeries) bool { return p.Fine != nil }) {
		return v
	}
	run, series := *v.Run, *v.Series
	series.Bin, series.Pauses = measure.PauseBin, nil
	for _, p := range v.Series.Pauses {
		series.Pauses = append(series.Pauses, measure.PauseSeries{Link: p.Link, Bins: p.Fine})
	}
	run.Series = &series
	v.Run = &run
	return v
}

// goodputLines returns the payload rate in Gbit/s.
func goodputLines(v view) (lines []chart.Line) {
	names := v.shownFlows()
	for i, name := range names {
		for _, s := range v.Series.Goodput {
			if s.Name == name && s.Flow >= 0 {
				lines = append(lines, line(name, style(i, len(names)), v, s.Bins, mean, v.gigabits()))
			}
		}
	}
	return lines
}

// rateLines returns rates on the link in Gbit/s: the CC rate limit of each flow, and
// its actual rate.
func rateLines(v view) (lines []chart.Line) {
	for i, name := range v.shownFlows() {
		for _, s := range v.Series.Sent {
			if s.Name == name {
				wide := chart.Style{Colour: i, Dash: 2 * i, Over: 2}
				lines = append(lines, line(name+" TX rate", wide, v, s.Bins, mean, v.gigabits()))
			}
		}
		for _, s := range v.Series.Rates {
			if s.Name == name {
				narrow := chart.Style{Colour: i, Dash: 2*i + 1}
				lines = append(lines, line(name+" CC rate limit", narrow, v, s.Bins, last, 1e-9))
			}
		}
	}
	return lines
}

// creditLines returns credit rates in Gbit/s: granted to each pair of hosts, and
// wasted.
func creditLines(v view) (lines []chart.Line) {
	for i, s := range v.Series.Granted[:min(len(v.Series.Granted), maxLines)] {
		lines = append(lines, line(s.Name+" granted", chart.Style{Colour: i, Over: 1}, v, s.Bins, mean, v.gigabits()))
	}
	for i, s := range v.Series.Wasted[:min(len(v.Series.Wasted), maxLines)] {
		lines = append(lines, line(s.Name+" wasted", chart.Style{Colour: i, Dash: 2}, v, s.Bins, mean, v.gigabits()))
	}
	return lines
}

// tokenLines returns the bucket levels in units of 1000 bytes.
func tokenLines(v view) []chart.Line {
	return shaperLines(v, v.Series.Tokens, last, 1e-3)
}

// stallLines returns the stalls as a percentage of time.
func stallLines(v view) []chart.Line {
	return shaperLines(v, v.Series.Stalls, mean, 100/float64(v.Series.Bin))
}

// shaperLines returns a line per NIC and direction. Negative values are shown as 0.
func shaperLines(v view, all []measure.ShaperSeries, how summary, factor float64) (lines []chart.Line) {
	for _, s := range all[:min(len(all), maxLines)] {
		l := line(s.Node+" "+strings.ToUpper(s.Direction), chart.Style{}, v, s.Bins, how, factor)
		for k := range l.Y {
			l.Y[k] = max(0, l.Y[k])
		}
		lines = append(lines, l)
	}
	return lines
}

// queueLines returns the queue lengths in units of 1000 bytes.
func queueLines(v view) (lines []chart.Line) {
	ports := first(measure.VictimPorts(v.Scenario))
	for i, port := range ports {
		for _, q := range v.Series.Queues {
			if q.Port == port {
				lines = append(lines, line(port, style(i, len(ports)), v, q.Peak, peak, 1e-3))
			}
		}
	}
	return lines
}

// style returns the style of line i of n, where each line is drawn over the previous
// ones and is narrower. The last of several is solid: it would not show over dashes
// otherwise, and its width tells it from the first.
func style(i, n int) chart.Style {
	s := chart.Style{Colour: i, Dash: i, Over: n - 1 - i}
	if n > 2 && i == n-1 {
		s.Dash = 0
	}
	return s
}

// summary says how a point summarizes its bins.
type summary int

const (
	mean summary = iota // at their middle
	peak                // at their middle
	last                // at their end
)

// line returns a line with one point per group of bins, each value multiplied by
// factor. A last group that is cut short by the end of the run is left out because it
// would look like a drop.
func line[V ~int64](name string, style chart.Style, v view, bins []V, how summary, factor float64) chart.Line {
	l := chart.Line{Name: name, Style: style}
	group, place := v.group(), 0.5
	if how == last {
		place = 1
	}
	whole := min(len(bins), int(v.FabricTime/v.Series.Bin))
	for at := 0; at+group <= whole; at += group {
		l.Add((float64(at)+place*float64(group))*milliseconds(v.Series.Bin), summarise(bins[at:at+group], how)*factor)
	}
	return l
}

func summarise[V ~int64](bins []V, how summary) float64 {
	switch how {
	case peak:
		return float64(slices.Max(bins))
	case last:
		return float64(bins[len(bins)-1])
	default:
		sum := 0.0
		for _, b := range bins {
			sum += float64(b)
		}
		return sum / float64(len(bins))
	}
}

// gigabits returns the factor from bytes per bin to Gbit/s.
func (v *view) gigabits() float64 { return 8e-9 * float64(unit.Second) / float64(v.Series.Bin) }

// shownFlows returns the names of the long flows in charts: all, or the maxLines slowest
// of the first run.
func (f *Folder) shownFlows() (names []string) {
	if len(f.Results.Runs[0].Flows) <= maxLines {
		return f.longFlows()
	}
	for _, flow := range f.Results.Runs[0].Slowest(maxLines) {
		names = append(names, flow.Name)
	}
	return names
}

// someFlows, someLinks and somePorts say which of many are in a chart, "" if all are.
func someFlows(f *Folder) string {
	return some(len(f.Results.Runs[0].Flows), "flows, the slowest under "+f.Results.Runs[0].Scheme)
}

func someLinks(f *Folder) string {
	return some(len(measure.VictimLinks(f.Scenario)), "links, those with the most PAUSE frames")
}

func somePorts(f *Folder) string {
	return some(len(measure.VictimPorts(f.Scenario)), "ports, those nearest to the receivers")
}

func some(all int, what string) string {
	if all <= maxLines {
		return ""
	}
	return fmt.Sprintf(" Shown are %d of %d %s; %s has all.", maxLines, all, what, seriesFile)
}

// first returns at most maxLines names.
func first(names []string) []string { return names[:min(len(names), maxLines)] }
