package runner

import (
	"errors"
	"fmt"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// DefaultSilence is how long a peer may be silent while it is waited on.
const DefaultSilence = 30 * time.Second

// Config is what a Runner is made from.
type Config struct {
	Run     string // names the run; a token of a subject
	Node    string // names the node; a token of a subject
	Epoch   uint32 // the same at all nodes of the run; 0 is a hash of Run
	Machine fabric.Machine
	Ports   []Port    // in the order of the node's ports
	End     unit.Time // no event at or after it is handled, until Grant moves it
	Conn    bus.Conn
	Quiet   bool // leaves out the notes of every frame
	// Follow says for which messages they are made all the same.
	Follow *fabric.Selection
	// Observe is called from the loop with what has happened, in order; nil is
	// no observer. The slice is reused.
	Observe func(notes []fabric.Note)
	// Progress is called from the loop at most every 100 ms of wall time; nil is
	// none.
	Progress func(Progress)
	// Reached is called from the loop each time every event before the grant has
	// been handled; nil is none. The loop goes on serving the peers.
	Reached func(grant unit.Time, r Result)
	// Silence limits how long a peer may be silent while it is waited on, in
	// wall time; 0 is DefaultSilence.
	Silence time.Duration
}

// Port is the far end of the link at a port, and the link's settings.
type Port struct {
	Peer     string
	PeerPort fabric.Port
	Rate     unit.Rate
	Delay    unit.Time // propagation, above 0
	Overhead unit.Bytes
}

// lookahead is the least time from the start of a frame's transmission to its
// arrival.
func (p Port) lookahead() unit.Time {
	return p.Delay + p.Rate.Serialise(frame.MinLen+p.Overhead)
}

// Progress is how far a node has come.
type Progress struct {
	Next   unit.Time // the earliest event that it knows of, at most the grant
	Result Result    // so far
}

// Result is what a node has done so far.
type Result struct {
	Digest    uint64 // over what arrived, see node.Node.Digest
	FrameHops int64  // frames that arrived and were handled
	bus.Counts
	// Unpublished counts envelopes that the bus refused; they were sent again.
	Unpublished int64
	// Wakeups counts the rounds of the loop.
	Wakeups int64
}

// validate reports all faults at once.
func (c *Config) validate() error {
	var faults []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	token := func(what, name string) {
		if err := bus.CheckToken(name); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", what, err))
		}
	}
	token("run", c.Run)
	token("node", c.Node)
	check(c.Machine != nil, "no machine")
	check(c.Conn != nil, "no connection to a bus")
	check(c.End >= 0, "end %s, must not be negative", c.End)
	check(c.Silence >= 0, "limit of silence %s, must not be negative", c.Silence)
	for i, p := range c.Ports {
		token(fmt.Sprintf("port %d: peer", i), p.Peer)
		check(p.Delay > 0, "port %d: propagation %s, must be above 0", i, p.Delay)
		check(p.Rate > 0 && p.Overhead > -frame.MinLen, "port %d: rate %s, overhead %s", i, p.Rate, p.Overhead)
	}
	return errors.Join(faults...)
}

// epoch gives the number that keeps envelopes of another run out.
func (c *Config) epoch() uint32 {
	if c.Epoch != 0 {
		return c.Epoch
	}
	return uint32(xxhash.Sum64String(c.Run)) | 1
}
