package nodeservice

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// maxCommands bounds the entries of commands that a node lists.
const maxCommands = 64

// tally counts the events of a node, and the commands of its host by their entry in the
// scenario.
type tally struct {
	events  [1 << 8]int64 // by fabric.Kind, without events of every frame
	s       *topology.Scenario
	streams []topology.Stream
	entries map[int]*rackfabv1.CommandStats // by index into the scenario's commands
}

// observe counts notes of a run of s.
func (t *tally) observe(s *topology.Scenario, notes []fabric.Note) {
	for i := range notes {
		n := &notes[i]
		if n.Kind.PerFrame() { // exists only for sampled messages
			continue
		}
		t.events[n.Kind]++
		switch n.Kind {
		case fabric.CommandPosted:
			t.entry(s, n).Posted++
		case fabric.CommandDone:
			e := t.entry(s, n)
			e.Completed++
			e.LongestPs = max(e.GetLongestPs(), int64(n.At-n.Start()))
		case fabric.CommandFailed, fabric.CommandRefused:
			t.entry(s, n).Failed++
		default: // only counted
		}
	}
}

// entry returns the entry of the command that a note concerns.
func (t *tally) entry(s *topology.Scenario, n *fabric.Note) *rackfabv1.CommandStats {
	if t.s != s { // s may have more commands
		t.s, t.streams = s, s.Streams()
	}
	i := topology.CommandOf(t.streams, n.Command())
	if t.entries == nil {
		t.entries = map[int]*rackfabv1.CommandStats{}
	}
	e := t.entries[i]
	if e == nil {
		e = &rackfabv1.CommandStats{Name: t.s.Commands[i].Name, Verb: t.s.Commands[i].Verb}
		t.entries[i] = e
	}
	return e
}

// list returns the latest entries, at most maxCommands, in the order of the
// scenario.
func (t *tally) list() (list []*rackfabv1.CommandStats) {
	if t.s == nil {
		return nil
	}
	for i := len(t.s.Commands) - 1; i >= 0 && len(list) < maxCommands; i-- {
		if e := t.entries[i]; e != nil {
			list = append(list, proto.CloneOf(e))
		}
	}
	slices.Reverse(list)
	return list
}
