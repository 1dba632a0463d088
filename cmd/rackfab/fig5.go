package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/sweep"
)

// fig5 is the experiment of PCN §4.2 and fig. 5. It searches for the rate of F1 at
// which s1 begins to pause s0.
const fig5 = "fig5"

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
	Pauses  int64   `json:"pause_frames"` // on s1->s0
	PerMs   float64 `json:"pause_frames_per_ms"`
	Held    float64 `json:"paused_share"` // of the run, 0 to 1
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

func runFig5(c *cobra.Command, b *bench, f runFlags) error {
	if c.Flags().Changed("scheme") {
		return errors.New("--scheme: fig5 is an experiment with fixed rates; it has no scheme")
	}
	data, err := scenarioFile(fig5)
	if err != nil {
		return err
	}
	var fixed []sweep.Axis
	if f.duration != "" {
		fixed = append(fixed, sweep.Axis{Key: "duration", Values: []string{f.duration}})
	}
	if c.Flags().Changed("seed") {
		fixed = append(fixed, sweep.Axis{Key: "seed", Values: []string{fmt.Sprint(f.seed)}})
	}
	result, err := searchFig5(c.Context(), b, f.out, sweep.Grid{File: fig5, Data: data, Axes: fixed})
	if err != nil {
		return err
	}
	if err := writeFig5(f.out, result); err != nil {
		return err
	}
	if f.json {
		return writeJSON(c.OutOrStdout(), result)
	}
	if err := printFig5(c.OutOrStdout(), result); err != nil {
		return err
	}
	var runs []*measure.Run
	for i := range result.Steps {
		runs = append(runs, result.Steps[i].run)
	}
	if err := b.printDigest(c.OutOrStdout(), runs); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "table and plots: %s\n", f.out)
	return err
}

// searchFig5 steps F1 down, then searches in smaller steps around the rate at which
// PAUSE begins.
func searchFig5(ctx context.Context, b *bench, dir string, grid sweep.Grid) (*fig5Result, error) {
	result := &fig5Result{Bus: b.flags.bus}
	quiet, next := 0, fig5First+fig5Steps[0] // the highest rate without PAUSE, and the next one tried
	for _, by := range fig5Steps {
		rates := between(quiet, next, by)
		if len(rates) == 0 {
			break
		}
		steps, err := fig5Round(ctx, b, dir, grid, rates)
		if err != nil {
			return nil, err
		}
		result.Steps = append(result.Steps, steps...)
		for i, rate := range rates { // from the highest rate down
			if steps[i].Pauses == 0 {
				quiet, result.Wire, result.Payload = rate, steps[i].Wire, steps[i].Payload
				break
			}
			next = rate
		}
	}
	slices.SortFunc(result.Steps, func(a, b fig5Step) int {
		if a.Wire > b.Wire {
			return -1
		}
		return 1
	})
	return result, nil
}

// between returns the rates between quiet and next, both excluded, in descending order.
func between(quiet, next, by int) (rates []int) {
	for rate := next - by; rate > quiet; rate -= by {
		rates = append(rates, rate)
	}
	return rates
}

// fig5Round runs the scenario once per rate of F1, in Mbit/s.
func fig5Round(ctx context.Context, b *bench, dir string, grid sweep.Grid, rates []int) ([]fig5Step, error) {
	values := make([]string, len(rates))
	for i, rate := range rates {
		values[i] = (unit.Rate(rate) * unit.MegabitPerSec).String()
	}
	grid.Axes = append(slices.Clone(grid.Axes), sweep.Axis{Key: fig5Flow + ".initial_rate", Values: values})
	if err := grid.Validate(); err != nil {
		return nil, err
	}
	s, _, err := runGrid(ctx, grid, dir, b.lanes(), b.cell)
	if err != nil {
		return nil, err
	}
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
	step := fig5Step{Digest: run.Digest, run: run}
	for i, f := range run.Flows {
		switch f.Name {
		case fig5Victim:
			step.Victim = gigabits(f.Goodput)
		case fig5Flow:
			from := s.Flows[i].From
			link := s.Links[s.PortMap()[from][0].Link]
			step.Wire = gigabits(s.Flows[i].Initial)
			step.Payload = step.Wire * measure.PayloadShare(s, link, from)
			step.Flow = gigabits(f.Goodput)
		}
	}
	for _, p := range run.Pauses {
		if p.Link == fig5Link {
			step.Pauses = p.XOFF
			step.Held = p.Paused.Seconds() / run.FabricTime.Seconds()
		}
	}
	step.PerMs = float64(step.Pauses) / (run.FabricTime.Seconds() * 1e3)
	return step
}

func gigabits(r unit.Rate) float64 { return float64(r) / float64(unit.GigabitPerSec) }
