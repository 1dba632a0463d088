package controller

import (
	"sync/atomic"

	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/services/internal/vitals"
)

// pulse counts what the controller exports as vitals; a nil pulse counts nothing.
type pulse struct {
	runs, grants, reached atomic.Int64
}

// begin counts a run.
func (p *pulse) begin() {
	if p != nil {
		p.runs.Add(1)
		p.reached.Store(0)
	}
}

// grant counts a grant.
func (p *pulse) grant() {
	if p != nil {
		p.grants.Add(1)
	}
}

// reach sets the fabric time that the run has reached, in picoseconds.
func (p *pulse) reach(at int64) {
	if p != nil {
		p.reached.Store(at)
	}
}

// vitals exports the counters; it is a vitals.Source.
func (p *pulse) vitals(put func(id vitals.ID, value float64, labels ...string)) {
	put(vitals.Runs, float64(p.runs.Load()))
	put(vitals.Grants, float64(p.grants.Load()))
	put(vitals.FabricTime, float64(p.reached.Load())/float64(unit.Second))
}
