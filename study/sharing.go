package study

import (
	"fmt"
	"io"
	"strings"

	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/report/table"
	"github.com/rackfab/rackfab/sweep"
)

// SharingPlan is the extent of the experiment sharing: the flows of one link, its rates, the
// number of draws of the starts, and the schemes.
type SharingPlan struct {
	Flows   []int
	Rates   []unit.Rate
	Draws   int
	Schemes []string
}

// Shared are the figures of one scheme, rate and number of flows over the draws.
type Shared struct {
	Scheme string         `json:"scheme"`
	Rate   unit.Rate      `json:"rate_bps"`
	Flows  int            `json:"flows"`
	Share  measure.Spread `json:"share"`
	Jain   measure.Spread `json:"jain"`
	Queue  measure.Spread `json:"queue"`
	runs   []*measure.Run
}

// sharing is the experiment on how the flows of each scheme share one link.
func sharing(b Bench, set []topology.Setting) (*Result, error) {
	return Sharing(b, set, SharingPlan{
		Flows: []int{2, 4, 8, 16, 32, 64},
		Rates: []unit.Rate{25 * unit.GigabitPerSec, 100 * unit.GigabitPerSec, 400 * unit.GigabitPerSec},
		Draws: 5, Schemes: cc.Names(),
	})
}

// Sharing runs sharing-N-M for each number of flows N, draw M, rate and scheme of a plan, with
// some settings applied.
func Sharing(b Bench, set []topology.Setting, plan SharingPlan) (*Result, error) {
	grids, err := sharingGrids(set, plan)
	if err != nil {
		return nil, err
	}
	sweeps, err := b.Sweep(grids...)
	if err != nil {
		return nil, err
	}
	r, all := &Result{}, []*Shared{}
	for _, rate := range plan.Rates {
		for _, flows := range plan.Flows {
			points, err := sharingPoints(sweeps[:plan.Draws], plan.Schemes, rate, flows)
			if err != nil {
				return nil, err
			}
			all, sweeps = append(all, points...), sweeps[plan.Draws:]
		}
	}
	for _, p := range all {
		r.Runs = append(r.Runs, p.runs...)
	}
	r.Table, r.JSON = sharingTable(all), sweep.JSONFile("sharing", all)
	r.Files = append(r.Files, sweep.File{Name: "sharing.md", Write: func(w io.Writer) error {
		_, err := io.WriteString(w, sharingMarkdown(plan, all))
		return err
	}})
	return r, nil
}

// sharingGrids returns a grid for each rate, number of flows and draw, in this order.
func sharingGrids(set []topology.Setting, plan SharingPlan) (grids []sweep.Grid, err error) {
	for _, rate := range plan.Rates {
		for _, flows := range plan.Flows {
			for draw := range plan.Draws {
				g, err := sharingGrid(set, plan.Schemes, rate, flows, draw+1)
				if err != nil {
					return nil, err
				}
				grids = append(grids, g)
			}
		}
	}
	return grids, nil
}

// sharingPoints returns a point per scheme from the draws of one rate and number of flows.
func sharingPoints(draws []*sweep.Sweep, schemes []string, rate unit.Rate, flows int) ([]*Shared, error) {
	points := make([]*Shared, len(schemes))
	for i, scheme := range schemes {
		p := &Shared{Scheme: scheme, Rate: rate, Flows: flows}
		for _, s := range draws {
			run, err := s.Outcome(i)
			if err != nil {
				return nil, err
			}
			p.runs = append(p.runs, run)
		}
		p.Share, p.Jain, p.Queue = measure.SettledShare.Spread(p.runs), measure.SettledJain.Spread(p.runs), measure.SettledQueue.Spread(p.runs)
		points[i] = p
	}
	return points, nil
}

// sharingGrid returns the cells of one draw, one per scheme. The thresholds of RED are those of
// the HPCC simulator for the rate (run.py: 100·bw/25 KB, 400·bw/25 KB, 0.2).
func sharingGrid(set []topology.Setting, schemes []string, rate unit.Rate, flows, draw int) (sweep.Grid, error) {
	name := fmt.Sprintf("sharing-%d-%d", flows, draw)
	text, ok := scenariofile.Builtin(name)
	if !ok {
		return sweep.Grid{}, fmt.Errorf("study: no scenario %s", name)
	}
	perKB := rate / (25 * unit.GigabitPerSec)
	g := sweep.Grid{File: name, Data: text, Axes: []sweep.Axis{
		{Key: "link.rate", Values: []string{rate.String()}},
		{Key: "switch.kmin", Values: []string{fmt.Sprintf("%dKB", 100*perKB)}},
		{Key: "switch.kmax", Values: []string{fmt.Sprintf("%dKB", 400*perKB)}},
	}}
	for _, s := range set {
		g.Axes = append(g.Axes, sweep.Axis{Key: s.Key, Values: []string{s.Value}})
	}
	g.Axes = append(g.Axes, sweep.Axis{Key: "scheme", Values: schemes})
	return g, g.Validate()
}

// sharingTable has a row per point.
func sharingTable(all []*Shared) *table.Table {
	t := table.New(1, "scheme", "flows").Group("% of rate", "median", "min", "max").Group("Jain", "median", "min", "max").Group("queue KB", "median", "min", "max")
	t.Title = "sharing: flows of each scheme into one link, second half of 8 ms"
	last := unit.Rate(0)
	for _, p := range all {
		if p.Rate != last {
			last = p.Rate
			t.Row(p.Rate.String())
		}
		t.Row("  "+p.Scheme, p.Flows,
			one(p.Share.Median.Value), one(p.Share.Min.Value), one(p.Share.Max.Value),
			three(p.Jain.Median.Value), three(p.Jain.Min.Value), three(p.Jain.Max.Value),
			one(p.Queue.Median.Value), one(p.Queue.Min.Value), one(p.Queue.Max.Value))
	}
	return t
}

func one(v float64) string { return fmt.Sprintf("%.1f", v) }

func three(v float64) string { return fmt.Sprintf("%.3f", v) }

// sharingMarkdown writes the tables of docs/guide/sharing.md: for each rate and figure a row per
// scheme and a column per number of flows.
func sharingMarkdown(plan SharingPlan, all []*Shared) string {
	var b strings.Builder
	for _, rate := range plan.Rates {
		for _, figure := range []struct {
			title string
			of    func(*Shared) *measure.Spread
			text  func(float64) string
		}{
			{"goodput, % of the link's payload rate", func(p *Shared) *measure.Spread { return &p.Share }, func(v float64) string { return fmt.Sprintf("%.0f", v) }},
			{"Jain's index", func(p *Shared) *measure.Spread { return &p.Jain }, decimals},
			{"queue, KB", func(p *Shared) *measure.Spread { return &p.Queue }, func(v float64) string { return fmt.Sprintf("%.0f", v) }},
		} {
			fmt.Fprintf(&b, "**%s: %s**\n\n| scheme |", rate, figure.title)
			for _, n := range plan.Flows {
				fmt.Fprintf(&b, " %d |", n)
			}
			b.WriteString("\n| --- |" + strings.Repeat(" --: |", len(plan.Flows)) + "\n")
			for _, scheme := range plan.Schemes {
				fmt.Fprintf(&b, "| `%s` |", scheme)
				for _, p := range all {
					if p.Scheme == scheme && p.Rate == rate {
						b.WriteString(" " + spreadText(figure.of(p), figure.text) + " |")
					}
				}
				b.WriteString("\n")
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// spreadText is the median, with the range unless it rounds to the median.
func spreadText(s *measure.Spread, text func(float64) string) string {
	median, least, most := text(s.Median.Value), text(s.Min.Value), text(s.Max.Value)
	if least == median && most == median {
		return median
	}
	return fmt.Sprintf("%s (%s to %s)", median, least, most)
}
