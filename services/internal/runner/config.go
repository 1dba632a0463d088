package runner

import (
	"time"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// silence is how long a peer may be silent while the node waits for it, in wall time.
const silence = 30 * time.Second

// Config configures a Runner. The names and links are those of a valid scenario.
type Config struct {
	Run     string // name of the run; a token of a subject
	Node    string // name of the node; a token of a subject
	Machine fabric.Machine
	Ports   []Port // in the order of the node's ports
	Conn    bus.Conn
	Quiet   bool // omit the notes of every frame
	// Follow selects the messages whose frames have notes even if Quiet is set.
	Follow *fabric.Selection
	// Observe, if not nil, is called from the loop with the notes of the events, in
	// order. The slice is reused.
	Observe func(notes []fabric.Note)
	// Progress, if not nil, is called from the loop at most every 100 ms of wall time,
	// with the instant of the earliest pending event, at most the grant.
	Progress func(next unit.Time, r *Result)
	// Reached, if not nil, is called from the loop each time every event before the
	// grant has been handled. The loop continues to serve the peers.
	Reached func(grant unit.Time, r *Result)
}

// Port is the far end of the link at a port, and the link's settings.
type Port struct {
	Peer     string
	PeerPort fabric.Port
	Rate     unit.Rate
	Delay    unit.Time // propagation, above 0
	Overhead unit.Bytes
}

// lookahead returns the least time from the start of a frame's transmission to its
// arrival.
func (p Port) lookahead() unit.Time {
	return p.Delay + p.Rate.Serialise(frame.MinLen+p.Overhead)
}

// Result holds the digest and counters of a node.
type Result struct {
	Digest    uint64 // over all arrivals, see node.Node.Digest
	FrameHops int64  // frames that arrived and were handled
	bus.Counts
	// Unpublished counts envelopes that the bus refused. They were resent.
	Unpublished int64
	// Wakeups counts the rounds of the loop.
	Wakeups int64
}
