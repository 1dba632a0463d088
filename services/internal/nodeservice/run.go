package nodeservice

import (
	"context"
	"sync/atomic"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/bus/faulty"
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/services/health"
	"github.com/rackfab/rackfab/services/internal/notes"
	"github.com/rackfab/rackfab/services/internal/runner"
)

// run is the node's part in one run of the rack. It receives on the node's links until
// close. A batch run is a live run with one grant, its end.
type run struct {
	machine  fabric.Machine
	index    int // of the node in the scenario
	links    int
	scenario atomic.Pointer[topology.Scenario] // with all changes so far
	runner   *runner.Runner
	conn     bus.Conn
	faults   atomic.Pointer[faulty.Conn] // nil until the node is impaired
	export   *exporter
	runs     *health.Runs // of the process
	batch    *batch       // nil in a live run

	// The goroutine of drive owns these.
	granted unit.Time          // end of the latest grant of a live run
	stop    context.CancelFunc // ends the loop; nil before start
	ended   chan error         // receives the error of the loop, and is closed

	// The loop owns these.
	reached unit.Time
	tally   tally

	// The loop writes these, others read them.
	latest     atomic.Pointer[snapshot]
	recordings atomic.Pointer[[]*recording]
	answers    chan answer // holds the answer to the latest grant
}

// batch is what only a batch run has.
type batch struct {
	recorder *measure.Recorder
	excerpt  *notes.Excerpt // the notes that the config requests
	before   usage          // at the start
}

// ports returns the links and peers at the node's ports. Every node is a group.
func ports(s *topology.Scenario, node int) []runner.Port {
	ends := s.PortMap()[node]
	list := make([]runner.Port, len(ends))
	for i, end := range ends {
		l, peer := s.Links[end.Link], s.Nodes[end.Peer].Name
		list[i] = runner.Port{
			Peer: peer, PeerPort: end.PeerPort, Group: peer, Link: end.Link,
			Lookahead: l.Lookahead(),
		}
	}
	return list
}

// start runs the loop until ctx ends or the run is closed. A batch run is granted its
// end.
func (r *run) start(ctx context.Context) {
	ctx, r.stop = context.WithCancel(ctx)
	if r.batch != nil {
		r.batch.before = used()
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
		if r.batch == nil {
			r.export.finish(r.reached)
		}
	}
	r.runner.Close()
	r.export.close()
	r.runs.End()
}

// observe processes notes. The loop calls it.
func (r *run) observe(_ int, notes []fabric.Note) {
	s := r.scenario.Load()
	if r.batch != nil {
		r.batch.recorder.Observe(notes)
		r.batch.excerpt.Observe(notes)
	}
	r.tally.observe(s, notes)
	r.export.observe(s, notes)
}
