// Package export turns the output of a run into tables for other programs: CSV and
// Parquet with units in the column names, and the text files of the HPCC simulator. It
// does not invent data: what a folder lacks comes from a repetition of the same run in
// memory.
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

// Events are the events of a run that have exact instants.
type Events struct {
	Flows []Completion // in order of completion
	PFC   []PFC        // in time order, then by node
}

// Completion is a flow whose last byte was acknowledged at its sender.
type Completion struct {
	Flow  fabric.FlowID
	Start unit.Time
	At    unit.Time
	Size  unit.Bytes
}

// PFC is one class of a PFC frame at its ingress port.
type PFC struct {
	At     unit.Time
	Node   int // index in the scenario
	Port   fabric.Port
	Class  fabric.Priority
	Quanta uint16 // 0 means RESUME
}

// Replay repeats a run and returns its events. It returns an error unless the run has
// the given digest; the digest of another version of rackfab may differ. Replay calls
// keep now and then and stops if keep returns false; a nil keep always continues.
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
				e.Flows = append(e.Flows, Completion{n.Flow, n.Start(), n.At, n.Bytes()})
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

// pfc adds an event for each class of a PFC frame.
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

// rows returns the rows of a table whose values are in memory.
func rows(yieldAll func(yield func(...any) bool)) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		yieldAll(func(values ...any) bool { return yield(values, nil) })
	}
}

// FCT returns a table of the flows' completion times.
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

// Frames returns a table of the PFC frames.
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
