package main

import (
	"fmt"
	"strings"
	"sync"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// advance is how far a run has come.
type advance struct {
	fabric unit.Time
	hops   int64
}

// progress shows several runs, which may advance at the same time.
type progress struct {
	*meter
	mu   sync.Mutex
	runs []*topology.Scenario
	at   []advance // of each run
}

func newProgress(runs []*topology.Scenario) *progress {
	total := unit.Time(0)
	for _, s := range runs {
		total += s.Duration
	}
	return &progress{meter: newMeter(total), runs: runs, at: make([]advance, len(runs))}
}

// show notes that a run has come to a.
func (p *progress) show(run int, a advance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at[run] = a
	done, hops := unit.Time(0), int64(0)
	for i, a := range p.at {
		done += min(a.fabric, p.runs[i].Duration)
		hops += a.hops
	}
	p.meter.show(done, hops, p.running())
}

// running lists how far the runs under way have come.
func (p *progress) running() string {
	var parts []string
	for i, a := range p.at {
		if s := p.runs[i]; a.fabric > 0 && a.fabric < s.Duration {
			parts = append(parts, fmt.Sprintf("%s %.3f of %.3f ms", s.Scheme, a.fabric.Seconds()*1e3, s.Duration.Seconds()*1e3))
		}
	}
	return strings.Join(parts, ", ")
}
