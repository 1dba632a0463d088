package main

import (
	"fmt"
	"strings"
	"sync"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
)

// advance is the progress of a run.
type advance struct {
	fabric unit.Time
	hops   int64
}

// progress shows the progress of several concurrent runs.
type progress struct {
	*cli.Meter
	mu   sync.Mutex
	runs []*topology.Scenario
	at   []advance // of each run
}

func newProgress(runs []*topology.Scenario) *progress {
	total := unit.Time(0)
	for _, s := range runs {
		total += s.Duration
	}
	return &progress{Meter: cli.NewMeter(total), runs: runs, at: make([]advance, len(runs))}
}

// show records that a run has advanced to a.
func (p *progress) show(run int, a advance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at[run] = a
	done, hops := unit.Time(0), int64(0)
	for i, a := range p.at {
		done += min(a.fabric, p.runs[i].Duration)
		hops += a.hops
	}
	p.Show(done, hops, p.running())
}

// running returns the progress of the unfinished runs, such as "pfc 1.0, pcn 3.5 of
// 80.0 ms".
func (p *progress) running() string {
	var b strings.Builder
	before := unit.Time(0) // the length of the run listed last, 0 for none
	for i, a := range p.at {
		s := p.runs[i]
		if a.fabric == 0 || a.fabric >= s.Duration {
			continue
		}
		switch before {
		case 0:
		case s.Duration:
			b.WriteString(", ")
		default:
			fmt.Fprintf(&b, " of %.1f ms, ", milliseconds(before))
		}
		fmt.Fprintf(&b, "%s %.1f", s.Scheme, milliseconds(a.fabric))
		before = s.Duration
	}
	if before > 0 {
		fmt.Fprintf(&b, " of %.1f ms", milliseconds(before))
	}
	return b.String()
}

func milliseconds(t unit.Time) float64 { return t.Seconds() * 1e3 }
