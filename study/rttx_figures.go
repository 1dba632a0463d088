package study

import (
	"fmt"

	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/switching/rttx"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/report/chart"
)

// Figure is a chart with its file name.
type Figure struct {
	Name string
	chart.Figure
}

// rttxFigures draws the results of rttx-compare: for each path the rate of the long flow
// around its first event, and when and by how much an increment of the RTT changes
// TIMELY's rate (RTTX-55).
func rttxFigures(answers []Answer) []Figure {
	var figures []Figure
	for _, path := range RTTXPaths {
		figures = append(figures, reactionFigure(path, answers))
	}
	return append(figures, effectByTLow(), effectByMinRTT(), effectInTime())
}

// Window of the reaction figures, in base RTTs from the first event.
const (
	before = -0.5
	after  = 3.0
)

// reactionFigure draws the rate of a path's long flow, with a panel per sender.
func reactionFigure(path string, answers []Answer) Figure {
	f := Figure{Name: "reaction-" + path, Figure: chart.Figure{
		Title:  fmt.Sprintf("%s: rate of the long flow around its first marked packet", path),
		XLabel: "time from the first marked packet (base RTT)", YLabel: "Gbit/s", XMin: before, XMax: after,
	}}
	for i := range answers {
		a := &answers[i]
		if a.Path != path {
			continue
		}
		p := chart.Panel{Title: a.Sender.Name, Lines: []chart.Line{
			a.line("without the burst", chart.Style{Colour: 1, Dash: 1}, a.Calm),
			a.line("with the burst", chart.Style{}, a.Steps),
		}}
		if r, ok := a.Reaction(); ok {
			p.Title = fmt.Sprintf("%s: slower after %.3f RTT", a.Sender.Name, r)
		}
		if n := len(f.Rows); n > 0 && len(f.Rows[n-1]) < 2 {
			f.Rows[n-1] = append(f.Rows[n-1], p)
		} else {
			f.Rows = append(f.Rows, []chart.Panel{p})
		}
	}
	return f
}

// Rate steps that are smaller than both limits are merged into one.
const (
	narrow = 0.005 // base RTTs
	low    = 250 * unit.MegabitPerSec
)

// line draws a rate as a step line.
func (a *Answer) line(name string, style chart.Style, steps []measure.RateStep) chart.Line {
	l := chart.Line{Name: name, Style: style}
	at := func(t unit.Time) float64 { return float64(t-a.Event) / float64(a.BaseRTT) }
	rate := a.Initial
	put := func(x float64, r unit.Rate) { l.Add(x, gigabits(r)) }
	drawn, last := rate, before
	for _, s := range steps {
		if x := at(s.At); x > after {
			break
		} else if x >= before && (x-last >= narrow || max(s.Rate-drawn, drawn-s.Rate) >= low) {
			if len(l.X) == 0 {
				put(before, rate)
			}
			put(x, rate)
			put(x, s.Rate)
			drawn, last = s.Rate, x
		}
		rate = s.Rate
	}
	if len(l.X) == 0 {
		put(before, rate)
	}
	put(after, rate)
	return l
}

// The effect figures use the RTT of the 16-to-2 rack and the D of [0060].
const (
	idleRTT = 31 * unit.Microsecond
	settled = 1000 // samples after which the EWMA has settled
)

// cut returns the rate reduction of TIMELY for a permanent increment of the RTT, in per
// cent of the rate.
func cut(p cc.TIMELYParams, increment unit.Time) float64 {
	p.Delta = 0 // excludes rate increases in the meantime
	const line = 40 * unit.GigabitPerSec
	c := cc.NewTIMELY(p, line, line)
	sample := cc.Signal{Kind: cc.Ack, Bytes: unit.Kilobyte, RTT: idleRTT}
	c.Handle(0, sample)
	sample.RTT += increment
	for range settled {
		c.Handle(0, sample)
	}
	return 100 * (1 - float64(c.Rate())/float64(line))
}

// increments draws the increments of table 1.
func increments(draw func(name string, style chart.Style, increment unit.Time) chart.Line) (lines []chart.Line) {
	p := cc.DefaultTIMELYRTTX()
	d := rttx.EqualD(p.Beta, p.MinRTT)
	for i, name := range []string{"D/8", "D/4", "D/2", "D"} {
		increment := d >> (rttx.TableLevels - 1 - i)
		lines = append(lines, draw(fmt.Sprintf("%s = %s", name, increment), chart.Style{Colour: i, Dash: i}, increment))
	}
	return lines
}

// effect draws the rate cut by each increment over a time parameter of TIMELY, from
// one value to another in steps.
func effect(f Figure, panel string, from, to, step unit.Time, set func(*cc.TIMELYParams, unit.Time)) Figure {
	f.YLabel, f.XMax = "rate cut, per cent", micros(to)
	f.Rows = [][]chart.Panel{{{Title: panel, Lines: increments(func(name string, style chart.Style, increment unit.Time) chart.Line {
		l := chart.Line{Name: name, Style: style}
		for t := from; t <= to; t += step {
			p := cc.DefaultTIMELYRTTX()
			set(&p, t)
			l.Add(micros(t), cut(p, increment))
		}
		return l
	})}}}
	return f
}

func effectByTLow() Figure {
	f := Figure{Name: "effect-t-low", Figure: chart.Figure{
		Title: "Rate cut by an increment, by T_low: none while the RTT is below T_low", XLabel: "T_low (us); the idle RTT is 31 us",
	}}
	return effect(f, "TIMELY, preset rack, minRTT 20 us", 0, 60*unit.Microsecond, 250*unit.Nanosecond,
		func(p *cc.TIMELYParams, t unit.Time) { p.TLow = t })
}

func effectByMinRTT() Figure {
	f := Figure{Name: "effect-min-rtt", Figure: chart.Figure{
		Title: "Rate cut by an increment, by minRTT: D has to grow with the path", XLabel: "minRTT (us)",
	}}
	return effect(f, "TIMELY, preset rack, T_low 0", 5*unit.Microsecond, 200*unit.Microsecond, unit.Microsecond,
		func(p *cc.TIMELYParams, t unit.Time) { p.MinRTT = t })
}

// effectInTime keeps the level constant from one ACK to the next.
func effectInTime() Figure {
	const from, to, end = 100, 600, 1000
	const line = 40 * unit.GigabitPerSec
	p := cc.DefaultTIMELYRTTX()
	p.Delta = 0 // excludes rate increases in the meantime
	return Figure{Name: "effect-in-time", Figure: chart.Figure{
		Title:  "A flow at a constant level: an increment cuts the rate once",
		XLabel: "ACKs", YLabel: "rate cut, per cent", XMin: 0, XMax: end,
		Rows: [][]chart.Panel{{{Title: "TIMELY, preset rack, without increase; constant level in the shaded part", Band: chart.Band{From: from, To: to}, Lines: increments(
			func(name string, style chart.Style, increment unit.Time) chart.Line {
				c := cc.NewTIMELY(p, line, line)
				l := chart.Line{Name: name, Style: style}
				for n := range end {
					sample := cc.Signal{Kind: cc.Ack, Bytes: unit.Kilobyte, RTT: idleRTT}
					if from <= n && n < to {
						sample.RTT += increment
					}
					c.Handle(0, sample)
					l.Add(float64(n), 100*(1-float64(c.Rate())/float64(line)))
				}
				return l
			})}}},
	}}
}
