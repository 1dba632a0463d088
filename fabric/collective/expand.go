package collective

import (
	"slices"

	"github.com/rackfab/rackfab/fabric/nic/program"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Expand returns the programs of the ranks of a valid collective. A step that sends data which the rank
// has received, or added to its own, waits for the last message with that data. Steps without a
// condition begin with the collective. A message has the same tag at both ends, and no two have one.
func (c *Spec) Expand() []program.Program {
	e := expansion{Spec: c, ranks: make([]rank, c.Ranks), rings: c.railRings()}
	if c.Kind != AllToAll && c.Kind != AllToAllV { // no rank sends data of another one
		for i := range e.ranks {
			e.ranks[i].last = make([]int32, c.pieces())
		}
	}
	for channel := range c.Channels {
		switch c.Kind {
		case AllToAll, AllToAllV:
			e.allToAll(channel)
		case Broadcast:
			e.broadcast(channel)
		case Barrier:
			e.barrier()
		case AllGather:
			e.allGather(channel)
		case ReduceScatter:
			e.reduceScatter(channel)
		case AllReduce:
			e.reduceScatter(channel)
			e.allGather(channel)
		}
	}
	programs := make([]program.Program, c.Ranks)
	for i := range e.ranks {
		programs[i] = e.ranks[i].Program
	}
	return programs
}

// expansion is a collective whose steps are being written.
type expansion struct {
	*Spec
	ranks []rank
	rings []ring // by rail, nil for rings in the order of ranks
	tag   uint32
}

// rank is the program of a rank. last is the step that received each piece last, plus 1; 0 for none.
type rank struct {
	program.Program
	last []int32
}

// move is a message: the segments from lo to hi-1 of a channel, from a rank to another one. The receiver
// adds them to its own if sum is set.
type move struct {
	from, to, lo, hi int
	sum              bool
}

// round lets messages go that do not depend on each other, each in chunks.
func (e *expansion) round(channel int, moves []move) {
	first := e.tag
	for i := range moves {
		for chunk := range e.Chunks {
			if n := e.bytes(&moves[i], channel, chunk); n > 0 {
				e.send(&moves[i], channel, chunk, n)
			}
		}
	}
	e.tag = first
	for i := range moves {
		for chunk := range e.Chunks {
			if e.bytes(&moves[i], channel, chunk) > 0 {
				e.receive(&moves[i], channel, chunk)
			}
		}
	}
}

func (e *expansion) send(m *move, channel, chunk int, n unit.Bytes) {
	r := &e.ranks[m.from]
	s := program.Step{Kind: program.Send, Peer: int32(m.to), Tag: e.tag, Amount: int64(n)}
	r.Add(s, r.after(e.piecesOf(m, channel, chunk))...)
	e.tag++
}

// receive adds a receive. One that adds to data waits for the messages that did so before, so that a step
// that sends the sum has one message to wait for.
func (e *expansion) receive(m *move, channel, chunk int) {
	r := &e.ranks[m.to]
	pieces := e.piecesOf(m, channel, chunk)
	var after []program.Condition
	if m.sum {
		after = r.after(pieces)
	}
	step := r.Add(program.Step{Kind: program.Receive, Peer: int32(m.from), Tag: e.tag}, after...)
	e.tag++
	if r.last != nil {
		for _, p := range pieces {
			r.last[p] = int32(step + 1)
		}
	}
}

// after returns the conditions that a rank has received pieces, each once.
func (r *rank) after(pieces []int) (list []program.Condition) {
	if r.last == nil {
		return nil
	}
	for _, p := range pieces {
		if at := r.last[p]; at > 0 && !slices.Contains(list, program.Done(int(at-1))) {
			list = append(list, program.Done(int(at-1)))
		}
	}
	return list
}

// pieces returns the number of pieces: a chunk of a segment of a channel.
func (c *Spec) pieces() int { return c.segments() * c.Channels * c.Chunks }

// piecesOf returns the pieces of a message, by number.
func (e *expansion) piecesOf(m *move, channel, chunk int) []int {
	list := make([]int, 0, m.hi-m.lo)
	for segment := m.lo; segment < m.hi; segment++ {
		list = append(list, (segment*e.Channels+channel)*e.Chunks+chunk)
	}
	return list
}

// bytes returns the size of a message, 0 for none. A barrier's messages have one byte, the least that RDMA
// delivers with a tag.
func (e *expansion) bytes(m *move, channel, chunk int) (sum unit.Bytes) {
	switch e.Kind {
	case Barrier:
		return 1
	case AllToAllV:
		return partOf(e.Sizes[m.from][m.to], channel*e.Chunks+chunk, e.Channels*e.Chunks)
	default:
		for segment := m.lo; segment < m.hi; segment++ {
			sum += partOf(e.Size, (segment*e.Channels+channel)*e.Chunks+chunk, e.pieces())
		}
		return sum
	}
}

// partOf returns the bytes of one of n pieces of a size: the size divided by n, rounded such that all pieces
// together have the size.
func partOf(size unit.Bytes, piece, n int) unit.Bytes {
	whole, rest, p := int64(size)/int64(n), int64(size)%int64(n), int64(piece)
	return unit.Bytes(whole + rest*(p+1)/int64(n) - rest*p/int64(n))
}
