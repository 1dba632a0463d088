package topology

import (
	"sort"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// FirstConnection is the FlowID of the first connection, above the IDs of all flows.
const FirstConnection fabric.FlowID = MaxFlows

// Command describes commands of one kind that hosts post to their NICs: Count of them
// from each NIC of From to each of To.
type Command struct {
	Name      string
	Verb      string // a verb of package work, or Append or Search
	From, To  []int  // indices into Nodes; a command of the target has no To
	Size      unit.Bytes
	At, Every unit.Time
	Count     int
	// Posts has the instants, counted from At, and the sizes of the commands of each pair. Count is then
	// their number, Size that of the largest, and Every is 0.
	Posts    []work.Post
	Class    fabric.Priority
	Datagram bool // over UD queue pairs, see fabric.Connection; only for sends
	Address  uint64
	Operand  uint64
	Expected uint64
	Urgency  int
	After    string // name of the commands that must complete first at the same NIC
	// Change reports whether a change posts them.
	Change bool
}

// Verbs of commands to the lists of the NIC itself.
const (
	Append = "append"
	Search = "search"
)

// OfTarget reports whether the commands are for the NIC's own lists.
func (c *Command) OfTarget() bool { return c.Verb == Append || c.Verb == Search }

// Total returns the number of the commands, at all NICs.
func (c *Command) Total() int { return len(c.From) * max(len(c.To), 1) * c.Count }

// Bytes returns the size of all commands of one pair of NICs together.
func (c *Command) Bytes() (sum unit.Bytes) {
	if len(c.Posts) == 0 {
		return unit.Bytes(c.Count) * c.Size
	}
	for _, p := range c.Posts {
		sum += p.Size
	}
	return sum
}

// Connection is a pair of queue pairs between two NICs, for the commands of a class and a
// transport.
type Connection struct {
	ID       fabric.FlowID
	From, To int // indices into Nodes: initiator and target
	Class    fabric.Priority
	Datagram bool   // as in fabric.Connection
	Source   uint16 // UDP source port, by a seeded hash of the ID
}

// Stream holds the commands of one Command from one NIC to one other.
type Stream struct {
	Command    int    // index into Commands
	Connection int    // index into Connections; -1 for commands of the target
	From       int    // index into Nodes
	First      uint32 // ID of its first command; the IDs are consecutive
}

// InitialStreams returns the connections that the commands posted from the start need, in
// the order in which they are needed, and the streams of these commands.
func (s *Scenario) InitialStreams() ([]Connection, []Stream) {
	founding := *s
	founding.Commands = s.Commands[:s.InitialCommands()]
	return founding.connect()
}

// Connections returns the connections that all commands need: those of InitialStreams, then
// those of changes.
func (s *Scenario) Connections() []Connection {
	list, _ := s.connect()
	return list
}

// Streams returns the streams of all commands. IDs are unique in the scenario.
func (s *Scenario) Streams() []Stream {
	_, streams := s.connect()
	return streams
}

func (s *Scenario) connect() (list []Connection, streams []Stream) {
	type key struct {
		from, to int
		class    fabric.Priority
		datagram bool
	}
	index := map[key]int{}
	next := uint32(0)
	add := func(st Stream) {
		st.First = next
		next += uint32(s.Commands[st.Command].Count)
		streams = append(streams, st)
	}
	for i := range s.Commands {
		c := &s.Commands[i]
		for _, from := range c.From {
			if c.OfTarget() {
				add(Stream{Command: i, Connection: -1, From: from})
			}
			for _, to := range c.To {
				k := key{from, to, c.Class, c.Datagram}
				if _, ok := index[k]; !ok {
					index[k] = len(list)
					id := FirstConnection + fabric.FlowID(len(list))
					list = append(list, Connection{id, from, to, c.Class, c.Datagram, SourcePort(s.Seed, id)})
				}
				add(Stream{Command: i, Connection: index[k], From: from})
			}
		}
	}
	return list, streams
}

// CommandOf returns the index of the Command that the command with this ID belongs
// to, or -1 if there is none. streams are the scenario's.
func CommandOf(streams []Stream, id uint32) int {
	i := sort.Search(len(streams), func(i int) bool { return streams[i].First > id })
	if i == 0 {
		return -1
	}
	return streams[i-1].Command
}
