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
	return append(figures, effectFigures()...)
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
		XLabel: "time from the first marked packet (base RTT)", YLabel: "rate (Gbit/s)", XMin: before, XMax: after,
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

// sender returns TIMELY at line rate and a function that passes it an ACK with an
// increment of the RTT. The function returns the rate cut so far, in per cent.
func sender(p cc.TIMELYParams) func(increment unit.Time) float64 {
	const line = 40 * unit.GigabitPerSec
	p.Delta = 0 // excludes rate increases in the meantime
	c := cc.NewTIMELY(p, line, line)
	return func(increment unit.Time) float64 {
		c.Handle(0, cc.Signal{Kind: cc.Ack, Bytes: unit.Kilobyte, RTT: idleRTT + increment})
		return 100 * (1 - float64(c.Rate())/float64(line))
	}
}

// cut returns the rate cut by a permanent increment of the RTT, in per cent.
func cut(p cc.TIMELYParams, increment unit.Time) (percent float64) {
	ack := sender(p)
	ack(0)
	for range settled {
		percent = ack(increment)
	}
	return percent
}

// increments returns a panel with a line for each increment of table 1.
func increments(title string, draw func(l *chart.Line, increment unit.Time)) chart.Panel {
	panel, p := chart.Panel{Title: title}, cc.DefaultTIMELYRTTX()
	d := rttx.EqualD(p.Beta, p.MinRTT)
	for i, name := range []string{"D/8", "D/4", "D/2", "D"} {
		increment := d >> (rttx.TableLevels - 1 - i)
		l := chart.Line{Name: fmt.Sprintf("%s = %s", name, increment), Style: chart.Style{Colour: i, Dash: i}}
		draw(&l, increment)
		panel.Lines = append(panel.Lines, l)
	}
	return panel
}

// effects draw the rate cut by each increment over a time parameter of TIMELY, from one
// value to another in steps.
var effects = []struct {
	name, title, x, panel string
	from, to, step        unit.Time
	set                   func(*cc.TIMELYParams, unit.Time)
}{
	{
		"effect-t-low", "Rate cut by an increment, by T_low: none while the RTT is below T_low", "T_low (us); the idle RTT is 31 us",
		"TIMELY, preset rack, minRTT 20 us", 0, 60 * unit.Microsecond, 250 * unit.Nanosecond,
		func(p *cc.TIMELYParams, t unit.Time) { p.TLow = t },
	},
	{
		"effect-min-rtt", "Rate cut by an increment, by minRTT: D has to grow with the path", "minRTT (us)",
		"TIMELY, preset rack, T_low 0", 5 * unit.Microsecond, 200 * unit.Microsecond, unit.Microsecond,
		func(p *cc.TIMELYParams, t unit.Time) { p.MinRTT = t },
	},
}

// effectFigures draws the effects, and a flow whose level stays constant from one ACK to
// the next.
func effectFigures() (figures []Figure) {
	figure := func(name, title, x string, xMax float64, p chart.Panel) {
		figures = append(figures, Figure{Name: name, Figure: chart.Figure{
			Title: title, XLabel: x, YLabel: "rate cut (%)", XMax: xMax, Rows: [][]chart.Panel{{p}},
		}})
	}
	for _, e := range effects {
		figure(e.name, e.title, e.x, micros(e.to), increments(e.panel, func(l *chart.Line, increment unit.Time) {
			for t := e.from; t <= e.to; t += e.step {
				p := cc.DefaultTIMELYRTTX()
				e.set(&p, t)
				l.Add(micros(t), cut(p, increment))
			}
		}))
	}
	const from, to, end = 100, 600, 1000
	constant := increments("TIMELY, preset rack, without increase; constant level in the shaded part", func(l *chart.Line, increment unit.Time) {
		ack := sender(cc.DefaultTIMELYRTTX())
		for n := range end {
			now := unit.Time(0)
			if from <= n && n < to {
				now = increment
			}
			l.Add(float64(n), ack(now))
		}
	})
	constant.Band = chart.Band{From: from, To: to}
	figure("effect-in-time", "A flow at a constant level: an increment cuts the rate once", "ACKs", end, constant)
	return figures
}
