package report

import (
	"slices"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/report/chart"
)

// pauseGroup is the time over which PAUSE frames are averaged: a pause lasts
// longer than most bins, so that a bin holds one frame or none.
const pauseGroup = 250 * unit.Microsecond

// pauseLines are PAUSE frames per millisecond on the links of the victims, in
// steps.
func pauseLines(f *Folder, run *measure.Run) (lines []chart.Line) {
	group := int(max(1, pauseGroup/run.Series.Bin))
	width := milliseconds(unit.Time(group) * run.Series.Bin)
	links := first(measure.VictimLinks(f.Scenario))
	for i, link := range links {
		l := chart.Line{Name: link, Style: style(i, len(links))}
		var bins []int64
		for _, p := range run.Series.Pauses {
			if p.Link == link {
				bins = p.Bins
			}
		}
		for at := 0; at < int(run.FabricTime/run.Series.Bin); at += group {
			rate := float64(sum(bins, at, at+group)) / width
			from := milliseconds(unit.Time(at) * run.Series.Bin)
			l.X, l.Y = append(l.X, from, from+width), append(l.Y, rate, rate)
		}
		lines = append(lines, l)
	}
	return lines
}

// sum adds up bins[from:to], as far as there are any.
func sum(bins []int64, from, to int) (total int64) {
	for _, v := range bins[min(from, len(bins)):min(to, len(bins))] {
		total += v
	}
	return total
}

// style is that of line i of n, each over those before it.
func style(i, n int) chart.Style { return chart.Style{Colour: i, Dash: i, Over: n - 1 - i} }

// goodputLines are Gbit/s of payload.
func goodputLines(f *Folder, run *measure.Run) (lines []chart.Line) {
	names := first(f.longFlows())
	for i, name := range names {
		for _, s := range run.Series.Goodput {
			if s.Name == name && s.Flow >= 0 {
				lines = append(lines, line(name, style(i, len(names)), run, s.Bins, middle, gigabits(run)))
			}
		}
	}
	return lines
}

// rateLines are Gbit/s on the link: what each flow may send, and what it sends.
func rateLines(f *Folder, run *measure.Run) (lines []chart.Line) {
	for i, name := range first(f.longFlows()) {
		for _, s := range run.Series.Sent {
			if s.Name == name {
				wide := chart.Style{Colour: i, Dash: 2 * i, Over: 2}
				lines = append(lines, line(name+" actual", wide, run, s.Bins, middle, gigabits(run)))
			}
		}
		for _, s := range run.Series.Rates {
			if s.Name == name {
				narrow := chart.Style{Colour: i, Dash: 2*i + 1}
				lines = append(lines, line(name+" regulated", narrow, run, s.Bins, end, 1e-9))
			}
		}
	}
	return lines
}

// queueLines are thousands of bytes, the most of each bin.
func queueLines(f *Folder, run *measure.Run) (lines []chart.Line) {
	ports := first(measure.VictimPorts(f.Scenario))
	for i, port := range ports {
		for _, q := range run.Series.Queues {
			if q.Port == port {
				lines = append(lines, line(port, style(i, len(ports)), run, q.Peak, middle, 1e-3))
			}
		}
	}
	return lines
}

// Where in its bin a value stands: counts and peaks in the middle, snapshots at
// the end.
const (
	middle = 0.5
	end    = 1.0
)

// line makes a line of one point per bin, each value times factor. A last bin
// that the end of the run cuts short is left out: it would look like a fall.
func line[V ~int64](name string, style chart.Style, run *measure.Run, bins []V, place, factor float64) chart.Line {
	l := chart.Line{Name: name, Style: style}
	for i, v := range bins[:min(len(bins), int(run.FabricTime/run.Series.Bin))] {
		l.X = append(l.X, (float64(i)+place)*milliseconds(run.Series.Bin))
		l.Y = append(l.Y, float64(v)*factor)
	}
	return l
}

// gigabits turns bytes per bin into Gbit/s.
func gigabits(run *measure.Run) float64 { return 8e-9 * float64(unit.Second) / float64(run.Series.Bin) }

// first gives as many names as a figure has lines.
func first(names []string) []string { return slices.Clip(names[:min(len(names), mostLines)]) }
