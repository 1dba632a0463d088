package runner

import (
	"time"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

// silence is how long a peer may be silent while the group waits for it, in wall time.
const silence = 30 * time.Second

// Config configures a Runner. The names and links are those of a valid scenario.
type Config struct {
	Run   string // name of the run; a token of a subject
	Group string // name of the group; a token of a subject
	Nodes []Node // of the group
	Conn  bus.Conn
	// Tick is the wall time between two calls of bus.Sync.Tick, 0 for 50 ms. After two
	// ticks, the receiver detects a lost envelope.
	Tick  time.Duration
	Quiet bool // omit the notes of every frame
	// Follow selects the messages whose frames have notes even if Quiet is set.
	Follow *fabric.Selection
	// Observe, if not nil, is called from the loop with the notes of the events of a node,
	// by its index, in order. The slice is reused.
	Observe func(node int, notes []fabric.Note)
	// Progress, if not nil, is called from the loop at most every 100 ms of wall time,
	// with the instant of the earliest pending event, at most the grant.
	Progress func(next unit.Time, r *Result)
	// Reached, if not nil, is called from the loop each time every event before the
	// grant has been handled. The loop continues to serve the peers.
	Reached func(grant unit.Time, r *Result)
}

// Node is a node of a group.
type Node struct {
	Name    string // a token of a subject
	Machine fabric.Machine
	Ports   []Port // in the order of the node's ports
}

// Port is the far end of the link at a port, and the link.
type Port struct {
	Peer      string
	PeerPort  fabric.Port
	Group     string    // the group that contains the peer
	Link      int       // index of the link in the scenario
	Lookahead unit.Time // least time from the start of a transmission to the arrival, above 0
}

// Result holds the digests and counters of a group.
type Result struct {
	Nodes     []NodeResult // in the order of Config.Nodes
	FrameHops int64        // of all nodes
	bus.Counts
	// Unpublished counts envelopes that the bus refused. They were resent.
	Unpublished int64
	// Wakeups counts the rounds of the loop.
	Wakeups int64
	// WaitsFor is the group whose promise the group waits for, "" for none.
	WaitsFor string
	// Waited is how long it has waited for an envelope from there, in wall time.
	Waited time.Duration
}

// NodeResult holds the digest and counter of a node.
type NodeResult struct {
	Digest    uint64 // over all arrivals, see node.Node.Digest
	FrameHops int64  // frames that arrived and were handled
}
