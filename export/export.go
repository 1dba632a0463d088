// Package export turns what a run has left behind into tables that other programs
// read: CSV and Parquet with units in the names of columns, and the text files of
// the HPCC simulator. It makes nothing up: what a folder does not hold comes from
// the same run once more, in memory.
package export

import (
	"fmt"
	"iter"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/node"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/sweep"
)

// Events are what happened in a run at instants of its own.
type Events struct {
	Flows []Completion // in the order in which they completed
	PFC   []PFC        // in the order of time, then of nodes
}

// Completion is a flow whose last byte was acknowledged at its sender.
type Completion struct {
	Flow  fabric.FlowID
	Start unit.Time
	At    unit.Time
	Size  unit.Bytes
}

// PFC is a class of a PFC frame at the port that it came in by.
type PFC struct {
	At     unit.Time
	Node   int // index in the scenario
	Port   fabric.Port
	Class  fabric.Priority
	Quanta uint16 // 0 is RESUME
}

// Replay runs a scenario once more and gives its events. The run must have that
// digest: one of another version of rackfab is refused. keep is asked now and then
// whether to go on; nil is always.
func Replay(s *topology.Scenario, digest string, keep func() bool) (*Events, error) {
	l, err := lab.New(s)
	if err != nil {
		return nil, err
	}
	e := &Events{}
	for i := range s.Nodes {
		l.Look(i, &node.Tap{Frame: func(at unit.Time, port fabric.Port, way node.Way, f *frame.Frame) {
			if way == node.In && f.Class() == frame.ClassPFC {
				e.pfc(at, i, port, f)
			}
		}})
	}
	l.Listen = func(_ int, notes []fabric.Note) {
		for i := range notes {
			if n := &notes[i]; n.Kind == fabric.Completed {
				e.Flows = append(e.Flows, Completion{n.Flow, unit.Time(n.B), n.At, unit.Bytes(n.A)})
			}
		}
	}
	for range l.Steps(200) {
		if keep != nil && !keep() {
			return nil, nil
		}
	}
	e.sort()
	run, err := l.Outcome()
	if err == nil && run.Digest != digest {
		err = fmt.Errorf("%s under %s has the digest %s now, and %s in its folder: it was run by another version of rackfab", s.Name, s.Scheme, run.Digest, digest)
	}
	return e, err
}

// pfc takes a PFC frame apart.
func (e *Events) pfc(at unit.Time, index int, port fabric.Port, f *frame.Frame) {
	var p frame.PFC
	if p.Parse(f) != nil {
		return
	}
	for class, quanta := range p.Quanta {
		if p.Enable>>class&1 != 0 {
			e.PFC = append(e.PFC, PFC{at, index, port, fabric.Priority(class), quanta})
		}
	}
}

// rows makes the rows of a table of values that are there.
func rows(yieldAll func(yield func(...any) bool)) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		yieldAll(func(values ...any) bool { return yield(values, nil) })
	}
}

// FCT gives the completion times of flows as a table.
func (e *Events) FCT(s *topology.Scenario) *sweep.Table {
	alone := measure.NewStandalone(s)
	return &sweep.Table{
		Name: "fct",
		Columns: []sweep.Column{
			{Name: "flow"},
			{Name: "from"},
			{Name: "to"},
			{Name: "size_bytes", Kind: sweep.Integer},
			{Name: "start_ps", Kind: sweep.Integer},
			{Name: "fct_ps", Kind: sweep.Integer},
			{Name: "standalone_fct_ps", Kind: sweep.Integer},
		},
		Rows: rows(func(yield func(...any) bool) {
			for _, c := range e.Flows {
				f := s.Flows[c.Flow]
				if !yield(f.Name, s.Nodes[f.From].Name, s.Nodes[f.To].Name, int64(c.Size), int64(c.Start), int64(c.At-c.Start), int64(alone.FCT(f, c.Size))) {
					return
				}
			}
		}),
	}
}

// Frames gives the PFC frames as a table.
func (e *Events) Frames(s *topology.Scenario) *sweep.Table {
	ends := s.PortMap()
	return &sweep.Table{
		Name: "pfc",
		Columns: []sweep.Column{
			{Name: "at_ps", Kind: sweep.Integer},
			{Name: "node"},
			{Name: "port", Kind: sweep.Integer},
			{Name: "sent_by"},
			{Name: "class", Kind: sweep.Integer},
			{Name: "quanta", Kind: sweep.Integer},
		},
		Rows: rows(func(yield func(...any) bool) {
			for _, p := range e.PFC {
				peer := s.Nodes[ends[p.Node][p.Port].Peer].Name
				if !yield(int64(p.At), s.Nodes[p.Node].Name, int64(p.Port), peer, int64(p.Class), int64(p.Quanta)) {
					return
				}
			}
		}),
	}
}
