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

// tally counts the commands of a node's host by their entry in the scenario.
type tally struct {
	s       *topology.Scenario
	streams []topology.Stream
	entries map[int]*rackfabv1.CommandStats // by index into the scenario's commands
}

// follow switches to a scenario that may have more commands.
func (t *tally) follow(s *topology.Scenario) {
	if t.s == s {
		return
	}
	t.s, t.streams = s, s.Streams()
}

// note counts a note if it concerns a command of the host.
func (t *tally) note(s *topology.Scenario, n *fabric.Note) {
	switch n.Kind {
	case fabric.CommandPosted, fabric.CommandDone, fabric.CommandFailed, fabric.CommandRefused:
	default:
		return
	}
	t.follow(s)
	e := t.entry(topology.CommandOf(t.streams, n.Command()))
	switch n.Kind {
	case fabric.CommandPosted:
		e.Posted++
	case fabric.CommandDone:
		e.Completed++
		e.LongestPs = max(e.GetLongestPs(), int64(n.At-n.Start()))
	default:
		e.Failed++
	}
}

func (t *tally) entry(i int) *rackfabv1.CommandStats {
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
