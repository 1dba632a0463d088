package nodeservice

import (
	"context"
	"sync/atomic"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/bus/faulty"
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/rack"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/services/health"
	"github.com/rackfab/rackfab/services/internal/notes"
	"github.com/rackfab/rackfab/services/internal/runner"
)

// run is the part of the process in one run of the rack: a group of nodes. It receives on
// their links until close. A batch run is a live run with one grant, its end.
type run struct {
	name     string                            // of the group
	nodes    []*hosted                         // at least one
	scenario atomic.Pointer[topology.Scenario] // with all changes so far
	runner   *runner.Runner
	conn     bus.Conn
	faults   atomic.Pointer[faulty.Conn] // nil until the process is impaired
	export   *exporter
	runs     *health.Runs // of the process
	live     bool
	before   usage // at the start

	// The goroutine of drive owns these.
	granted unit.Time          // end of the latest grant of a live run
	stop    context.CancelFunc // ends the loop; nil before start
	stopped bool               // the controller has ended the run
	ended   chan error         // receives the error of the loop, and is closed

	// The loop owns these.
	reached unit.Time

	answers chan answer // holds the answer to the latest grant
}

// hosted is a node in a run.
type hosted struct {
	name    string
	index   int // in the scenario
	links   int
	machine fabric.Machine
	batch   *batch // nil in a live run
	tally   tally  // the loop owns it

	// The loop writes these, others read them.
	latest     atomic.Pointer[Snapshot]
	recordings atomic.Pointer[[]*recording]
}

// batch is what only a node in a batch run has.
type batch struct {
	recorder *measure.Recorder
	excerpt  *notes.Excerpt // the notes that the config requests
}

// node returns a node of the run by its name, nil if it is not in the run. "" is the name
// of the only node.
func (r *run) node(name string) *hosted {
	for _, n := range r.nodes {
		if n.name == name || name == "" && len(r.nodes) == 1 {
			return n
		}
	}
	return nil
}

// group returns the nodes with their links, for the loop. of has the name of the group of
// each node of the scenario.
func (r *run) group(s *topology.Scenario, of []string) []runner.Node {
	all, list := s.PortMap(), make([]runner.Node, len(r.nodes))
	for i, n := range r.nodes {
		list[i] = runner.Node{Name: n.name, Machine: n.machine}
		for _, end := range all[n.index] {
			list[i].Ports = append(list[i].Ports, runner.Port{
				Peer: s.Nodes[end.Peer].Name, PeerPort: end.PeerPort, Group: of[end.Peer], Link: end.Link, Lookahead: s.Links[end.Link].Lookahead(),
			})
		}
	}
	return list
}

// plan sets the changes of s from an instant on.
func (r *run) plan(s *topology.Scenario, from unit.Time) {
	indices := make([]int, len(r.nodes))
	for i, n := range r.nodes {
		indices[i] = n.index
	}
	for i, changes := range rack.Plan(s, from, indices...) {
		r.runner.Plan(i, changes)
	}
}

// start runs the loop until ctx ends or the run is closed. A batch run is granted its
// end.
func (r *run) start(ctx context.Context) {
	ctx, r.stop = context.WithCancel(ctx)
	if !r.live {
		r.before = used()
		r.runner.Grant(r.scenario.Load().Duration)
	}
	go func() {
		r.ended <- r.runner.Run(ctx)
		close(r.ended)
	}()
}

// close ends the loop and unsubscribes from the links.
func (r *run) close() {
	if r.stop != nil {
		r.stop()
		for range r.ended { // until the loop has ended
		}
		if r.live && r.stopped {
			r.export.finish(r.reached)
		}
	}
	r.runner.Close()
	r.export.close()
	r.runs.End()
}

// observe processes the notes of a node. The loop calls it.
func (r *run) observe(node int, notes []fabric.Note) {
	s, n := r.scenario.Load(), r.nodes[node]
	if n.batch != nil {
		n.batch.recorder.Observe(notes)
		n.batch.excerpt.Observe(notes)
	}
	n.tally.observe(s, notes)
	r.export.observe(node, s, notes)
}
