// Package export turns the output of a run into tables for other programs: CSV and
// Parquet with units in the column names, and the text files of the HPCC simulator and htsim. It
// does not invent data: what a folder lacks comes from a repetition of the same run in
// memory.
package export

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/rackfab/rackfab/cores"
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
	Steps []Step       // in time order, then by node
}

// Completion is a flow whose last byte was acknowledged at its sender.
type Completion struct {
	Flow  fabric.FlowID
	Start unit.Time
	At    unit.Time
	Size  unit.Bytes
}

// Step is a step of a program that is done.
type Step struct {
	Node int // index in the scenario
	Step int
	At   unit.Time
}

// PFC is one class of a PFC frame at its ingress port.
type PFC struct {
	At     unit.Time
	Node   int // index in the scenario
	Port   fabric.Port
	Class  fabric.Priority
	Quanta uint16 // 0 means RESUME
}

// Replay repeats a run on a fixed number of cores, or on as many as make it faster if
// fixed is 0, and returns its events, which do not depend on the cores. It returns an
// error unless the run has the given digest; the digest of another version of rackfab may
// differ. If ctx ends, Replay returns its error.
func Replay(ctx context.Context, s *topology.Scenario, digest string, fixed int) (*Events, error) {
	l, err := lab.New(s)
	if err != nil {
		return nil, err
	}
	e, frames := &Events{}, make([][]PFC, len(s.Nodes)) // by node, because nodes run in parallel
	for i := range s.Nodes {
		l.Look(i, &node.Tap{Frame: func(at unit.Time, port fabric.Port, way node.Way, f *frame.Frame) {
			if way == node.In && f.Class() == frame.ClassPFC {
				frames[i] = appendPFC(frames[i], at, i, port, f)
			}
		}})
	}
	l.Listen = func(index int, notes []fabric.Note) {
		for i := range notes {
			switch n := &notes[i]; n.Kind {
			case fabric.Completed:
				e.Flows = append(e.Flows, Completion{n.Flow, n.Start(), n.At, n.Bytes()})
			case fabric.StepDone:
				e.Steps = append(e.Steps, Step{index, int(n.Command()), n.At})
			default:
			}
		}
	}
	run, err := cores.Measure(ctx, l, cores.NewPool(runtime.GOMAXPROCS(0)), fixed, nil)
	if err != nil {
		return nil, err
	}
	e.PFC = slices.Concat(frames...)
	e.sort()
	if run.Digest != digest {
		err = fmt.Errorf("%s under %s: digest %s in memory, but %s in its folder: another version of rackfab made the folder", s.Name, s.Scheme, run.Digest, digest)
	}
	return e, err
}

// appendPFC appends an event for each class of a PFC frame.
func appendPFC(list []PFC, at unit.Time, index int, port fabric.Port, f *frame.Frame) []PFC {
	var p frame.PFC
	if p.Parse(f) != nil {
		return list
	}
	for class, quanta := range p.Quanta {
		if p.Enable>>class&1 != 0 {
			list = append(list, PFC{at, index, port, fabric.Priority(class), quanta})
		}
	}
	return list
}

// FCT returns a table of the flows' completion times.
func (e *Events) FCT(s *topology.Scenario) *sweep.Table {
	alone := measure.NewStandalone(s)
	var rows [][]any
	for _, c := range e.Flows {
		f := s.Flows[c.Flow]
		rows = append(rows, []any{
			f.Name, s.Nodes[f.From].Name, s.Nodes[f.To].Name, int64(c.Size), int64(c.Start), int64(c.At - c.Start), int64(alone.FCT(f, c.Size)),
		})
	}
	return sweep.NewTable("fct", append(sweep.Text.Columns("flow", "from", "to"), sweep.Integer.Columns("size_bytes", "start_ps", "fct_ps", "standalone_fct_ps")...), rows)
}

// Frames returns a table of the PFC frames.
func (e *Events) Frames(s *topology.Scenario) *sweep.Table {
	ends := s.PortMap()
	var rows [][]any
	for _, p := range e.PFC {
		peer := s.PeerName(ends[p.Node][p.Port])
		rows = append(rows, []any{int64(p.At), s.Nodes[p.Node].Name, int64(p.Port), peer, int64(p.Class), int64(p.Quanta)})
	}
	columns := slices.Concat(sweep.Integer.Columns("at_ps"), sweep.Text.Columns("node"), sweep.Integer.Columns("port"),
		sweep.Text.Columns("sent_by"), sweep.Integer.Columns("class", "quanta"))
	return sweep.NewTable("pfc", columns, rows)
}

// Nodes returns a table of the node numbers in the HPCC simulator's files.
func Nodes(s *topology.Scenario) *sweep.Table {
	var rows [][]any
	for i, n := range s.Nodes {
		rows = append(rows, []any{int64(i), n.Name, string(n.Kind)})
	}
	return sweep.NewTable("nodes", append(sweep.Integer.Columns("id"), sweep.Text.Columns("name", "kind")...), rows)
}
