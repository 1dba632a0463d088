package study

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/report/chart"
	"github.com/rackfab/rackfab/report/table"
	"github.com/rackfab/rackfab/sweep"
)

// Names in the scenario fig5.
const (
	fig5Victim = "F0"
	fig5Flow   = "F1"
	fig5Link   = "s1->s0"
)

// fig5Steps are the step sizes of the search in Mbit/s. The first round covers the
// paper's whole range, from 20 Gbit/s down. Later rounds search between the highest
// rate without PAUSE and the next rate tried.
var fig5Steps = []int{1000, 100, 20}

const fig5First = 20_000 // Mbit/s

// fig5Step is the outcome at one rate of F1. Rates are in Gbit/s.
type fig5Step struct {
	Wire    float64 `json:"f1_wire_gbps"`    // TX rate of F1, with headers
	Payload float64 `json:"f1_payload_gbps"` // TX rate of F1, payload only
	Flow    float64 `json:"f1_goodput_gbps"`
	Victim  float64 `json:"f0_goodput_gbps"`
	PAUSE   int64   `json:"pause_frames"` // on s1->s0
	PerMs   float64 `json:"pause_frames_per_ms"`
	Paused  float64 `json:"paused_share"` // of the run, 0 to 1
	Digest  string  `json:"digest"`
	run     *measure.Run
}

// fig5Result is the outcome of the experiment.
type fig5Result struct {
	Bus string `json:"bus"`
	// Payload and Wire are the highest rate of F1 without PAUSE on s1->s0, in Gbit/s.
	// Both are 0 if every rate causes PAUSE.
	Payload float64    `json:"threshold_payload_gbps"`
	Wire    float64    `json:"threshold_wire_gbps"`
	Steps   []fig5Step `json:"steps"` // from the highest rate down
}

// fig5 is the experiment of PCN §4.2 and fig. 5. It searches for the rate of F1 at
// which s1 begins to pause s0.
func fig5(b Bench, set []topology.Setting) (*Result, error) {
	found, err := searchFig5(b, set)
	if err != nil {
		return nil, err
	}
	r := &Result{JSON: sweep.JSONFile("fig5", found), Table: found.table(), Claim: found.claim()}
	for i := range found.Steps {
		r.Runs = append(r.Runs, found.Steps[i].run)
	}
	r.Files = append(r.Files, sweep.TableFiles("fig5", found.data())...)
	r.addFigure("fig5-pauses", found.figure("Fig. 5: PAUSE on s1->s0", "PAUSE frames per ms",
		found.line("s1->s0", 0, func(s *fig5Step) float64 { return s.PerMs })))
	r.addFigure("fig5-goodput", found.figure("Fig. 5: goodput of the flows", "goodput [Gbit/s]",
		found.line("F0", 0, func(s *fig5Step) float64 { return s.Victim }),
		found.line("F1", 1, func(s *fig5Step) float64 { return s.Flow })))
	return r, nil
}

// searchFig5 steps F1 down, then searches in smaller steps around the rate at which
// PAUSE begins.
func searchFig5(b Bench, set []topology.Setting) (*fig5Result, error) {
	result := &fig5Result{Bus: b.Bus()}
	quiet, next := 0, fig5First+fig5Steps[0] // the highest rate without PAUSE, and the next one tried
	for _, by := range fig5Steps {
		var rates []int // from the highest down
		for rate := next - by; rate > quiet; rate -= by {
			rates = append(rates, rate)
		}
		if len(rates) == 0 {
			break
		}
		steps, err := fig5Round(b, set, rates)
		if err != nil {
			return nil, err
		}
		result.Steps = append(result.Steps, steps...)
		for i, rate := range rates {
			if steps[i].PAUSE == 0 {
				quiet, result.Wire, result.Payload = rate, steps[i].Wire, steps[i].Payload
				break
			}
			next = rate
		}
	}
	slices.SortFunc(result.Steps, func(a, b fig5Step) int { return cmp.Compare(b.Wire, a.Wire) })
	return result, nil
}

// fig5Round runs the scenario once per rate of F1, in Mbit/s.
func fig5Round(b Bench, set []topology.Setting, rates []int) ([]fig5Step, error) {
	text, _ := scenariofile.Builtin("fig5")
	grid := sweep.Grid{File: "fig5", Data: text}
	for _, s := range set {
		grid.Axes = append(grid.Axes, sweep.Axis{Key: s.Key, Values: []string{s.Value}})
	}
	flow := sweep.Axis{Key: fig5Flow + ".initial_rate"}
	for _, rate := range rates {
		flow.Values = append(flow.Values, (unit.Rate(rate) * unit.MegabitPerSec).String())
	}
	grid.Axes = append(grid.Axes, flow)
	if err := grid.Validate(); err != nil {
		return nil, err
	}
	sweeps, err := b.Sweep(grid)
	if err != nil {
		return nil, err
	}
	s := sweeps[0]
	steps := make([]fig5Step, s.Cells())
	for cell := range steps {
		scenario, err := s.Scenario(cell)
		if err != nil {
			return nil, err
		}
		run, err := s.Outcome(cell)
		if err != nil {
			return nil, err
		}
		steps[cell] = newFig5Step(scenario, run)
	}
	return steps, nil
}

func newFig5Step(s *topology.Scenario, run *measure.Run) fig5Step {
	f := s.Flows[s.FlowsNamed(fig5Flow)[0]]
	wire, pauses := gigabits(f.Initial), run.PausesOn(fig5Link)
	return fig5Step{
		Wire: wire, Payload: wire * measure.PayloadShare(s, f),
		Flow: gigabits(run.Flow(fig5Flow).Goodput), Victim: gigabits(run.Flow(fig5Victim).Goodput),
		PAUSE: pauses.XOFF, PerMs: float64(pauses.XOFF) / (run.FabricTime.Seconds() * 1e3),
		Paused: pauses.Paused.Seconds() / run.FabricTime.Seconds(), Digest: run.Digest, run: run,
	}
}

// data returns the steps as a table of numbers. Names end with their units.
func (r *fig5Result) data() *sweep.Table {
	var rows [][]any
	for _, s := range r.Steps {
		rows = append(rows, []any{s.Wire, s.Payload, s.Flow, s.Victim, s.PAUSE, s.PerMs, s.Paused})
	}
	return sweep.NewTable("", slices.Concat(
		sweep.Real.Columns("F1.sent_wire_gbps", "F1.sent_payload_gbps", "F1.goodput_gbps", "F0.goodput_gbps"),
		sweep.Integer.Columns(fig5Link+".pause_frames"),
		sweep.Real.Columns(fig5Link+".pause_frames_per_ms", fig5Link+".paused_share"),
	), rows)
}

func (r *fig5Result) table() *table.Table {
	t := table.New(2).Group("F1 TX, Gbit/s", "wire", "payload").Group("goodput, Gbit/s", "F1", "F0")
	t.Group("PAUSE on "+fig5Link, "frames", "per ms", "s0 paused").Title = "fig5: F1 stepped down"
	for _, s := range r.Steps {
		t.Row(decimals(s.Wire), decimals(s.Payload), decimals(s.Flow), decimals(s.Victim), s.PAUSE, decimals(s.PerMs), fmt.Sprintf("%.1f %%", s.Paused*100))
	}
	return t
}

func (r *fig5Result) figure(title, y string, lines ...chart.Line) *chart.Figure {
	return &chart.Figure{
		Title: title, XLabel: "TX rate of F1, payload [Gbit/s]", YLabel: y,
		XMin: 0, XMax: r.Steps[0].Payload + 0.2, PanelHeight: 200,
		Rows: [][]chart.Panel{{{Lines: lines}}},
	}
}

func (r *fig5Result) line(name string, style int, y func(*fig5Step) float64) chart.Line {
	l := chart.Line{Name: name, Style: chart.Style{Colour: style, Dash: style}, Dots: true}
	for i := range slices.Backward(r.Steps) {
		l.X = append(l.X, r.Steps[i].Payload)
		l.Y = append(l.Y, y(&r.Steps[i]))
	}
	return l
}

// claim compares the rate at which PAUSE begins with the paper's value, which is a
// payload rate: 40 Gbit/s shared by four flows, without headers.
func (r *fig5Result) claim() string {
	switch {
	case r.Wire == 0:
		return "s1 pauses s0 at every tested rate of F1"
	case r.Steps[0].PAUSE == 0:
		return "s1 pauses s0 at no tested rate of F1"
	}
	return fmt.Sprintf("PAUSE on s1->s0 begins when F1 sends more than %.2f Gbit/s of payload, %.2f on the wire (the paper: 9.5)", r.Payload, r.Wire)
}
