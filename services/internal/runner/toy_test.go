package runner

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/node"
	"github.com/rackfab/rackfab/fabric/unit"
)

// A toy header: destination, source, kind, number, the instant it was made.
const toyHeader = 62

// toy is a node that sends data at an interval, answers data with an ACK, and forwards
// frames for other nodes, one frame at a time per port.
type toy struct {
	id     uint16
	routes []int // port by destination
	ports  []Port
	delays []unit.Time // of the links at the ports

	target   uint16
	interval unit.Time // of its own data, 0 to send none
	start    unit.Time
	sent     uint64
	limit    uint64

	queues [][]frame.Frame
	free   []unit.Time
	acks   int
}

func (t *toy) enqueue(now unit.Time, f *frame.Frame) {
	p := t.routes[binary.BigEndian.Uint16(f.Header())]
	t.queues[p] = append(t.queues[p], *f)
	t.free[p] = max(t.free[p], now)
}

func (t *toy) make(now unit.Time, to uint16, kind byte, payload uint32) {
	var b [toyHeader]byte
	binary.BigEndian.PutUint16(b[0:], to)
	binary.BigEndian.PutUint16(b[2:], t.id)
	b[4] = kind
	binary.BigEndian.PutUint64(b[8:], t.sent)
	binary.BigEndian.PutUint64(b[16:], uint64(now))
	f := frame.Frame{Payload: payload, Trace: uint64(kind) * t.sent}
	f.SetHeader(b[:])
	t.enqueue(now, &f)
}

func (t *toy) Arrive(now unit.Time, _ fabric.Port, f *frame.Frame, out *fabric.Out) {
	h := f.Header()
	switch {
	case binary.BigEndian.Uint16(h) != t.id:
		t.enqueue(now, f)
	case h[4] == 0:
		t.make(now, binary.BigEndian.Uint16(h[2:]), 1, 0)
	default:
		t.acks++
	}
	t.transmit(now, out)
}

// Control sends a frame to the node whose index is the change's value.
func (t *toy) Control(now unit.Time, c *fabric.Change, out *fabric.Out) {
	t.make(now, uint16(c.Value), 0, 1000)
	t.transmit(now, out)
}

func (t *toy) Tick(now unit.Time, out *fabric.Out) {
	if at, ok := t.due(); ok && at == now {
		t.make(now, t.target, 0, 1000)
		t.sent++
	}
	t.transmit(now, out)
}

// due returns the time of the toy's next own data frame, false if there is none.
func (t *toy) due() (unit.Time, bool) {
	return t.start + unit.Time(t.sent)*t.interval, t.interval > 0 && t.sent < t.limit
}

func (t *toy) Next() (unit.Time, bool) {
	at, ok := t.due()
	if !ok {
		at = unit.Never
	}
	for p, q := range t.queues {
		if len(q) > 0 {
			at = min(at, t.free[p])
		}
	}
	return at, at != unit.Never
}

func (t *toy) transmit(now unit.Time, out *fabric.Out) {
	for p := range t.queues {
		if len(t.queues[p]) == 0 || t.free[p] > now {
			continue
		}
		f := out.Send(fabric.Port(p))
		*f = t.queues[p][0]
		t.queues[p] = t.queues[p][1:]
		t.free[p] = now + rate.Serialise(f.Len()+overhead)
		f.Arrival = t.free[p] + t.delays[p]
	}
}

// shape is a fabric of toys.
type shape struct {
	names []string
	toys  []*toy
	links int
	end   unit.Time
}

func newShape(n int, end unit.Time) *shape {
	s := &shape{end: end}
	for i := range n {
		s.names = append(s.names, fmt.Sprintf("n%02d", i))
		s.toys = append(s.toys, &toy{id: uint16(i), routes: make([]int, n), limit: 1 << 40})
	}
	return s
}

// cable joins the next ports of a and b.
func (s *shape) cable(a, b int, delay unit.Time) {
	portA, portB := len(s.toys[a].ports), len(s.toys[b].ports)
	s.toys[a].plug(s.names[b], portB, s.links, delay)
	s.toys[b].plug(s.names[a], portA, s.links, delay)
	s.links++
}

// The links of toys.
const (
	rate     = 40 * unit.GigabitPerSec
	overhead = unit.Bytes(20)
)

func (t *toy) plug(peer string, port, link int, delay unit.Time) {
	t.ports = append(t.ports, Port{
		Peer: peer, PeerPort: fabric.Port(port), Group: peer, Link: link, Lookahead: delay + rate.Serialise(frame.MinLen+overhead),
	})
	t.queues, t.free, t.delays = append(t.queues, nil), append(t.free, 0), append(t.delays, delay)
}

// groups returns the groups of a cut, which has the group of each toy, and the toys of
// each.
func (s *shape) groups(cut []int) (groups [][]Node, toys [][]int) {
	first := map[int]string{}
	for i, g := range cut {
		if _, ok := first[g]; !ok {
			first[g] = s.names[i]
		}
	}
	for g := range s.toys {
		if _, ok := first[g]; !ok {
			continue
		}
		var nodes []Node
		var list []int
		for i, t := range s.toys {
			for p := range t.ports {
				t.ports[p].Group = first[cut[slices.Index(s.names, t.ports[p].Peer)]]
			}
			if cut[i] == g {
				nodes, list = append(nodes, Node{s.names[i], t, t.ports}), append(list, i)
			}
		}
		groups, toys = append(groups, nodes), append(toys, list)
	}
	return groups, toys
}

// single is the cut into a group per toy.
func (s *shape) single() []int {
	cut := make([]int, len(s.toys))
	for i := range cut {
		cut[i] = i
	}
	return cut
}

// star joins senders and receivers to node 0; every sender that is active sends
// to the receivers in turn. Nodes 1 and up are the receivers, then the senders.
func star(receivers, senders, active int, delay, interval, end unit.Time) *shape { //nolint:unparam // a shape states the delay of its links
	s := newShape(1+receivers+senders, end)
	for i := 1; i < len(s.toys); i++ {
		s.cable(0, i, delay)
		s.toys[0].routes[i] = i - 1
	}
	for i := range active {
		t := s.toys[1+receivers+i]
		t.target, t.interval, t.start = uint16(1+i%receivers), interval, unit.Time(i)*137*unit.Nanosecond
	}
	return s
}

// ring joins n nodes in a ring; each sends to the node across, the shorter way.
func ring(n int, delay, interval, end unit.Time, active ...int) *shape { //nolint:unparam // a shape states the delay of its links
	s := newShape(n, end)
	for i := range n {
		s.cable(i, (i+1)%n, delay+unit.Time(i)*311*unit.Nanosecond)
	}
	for i, t := range s.toys {
		clockwise, counter := 1, 0 // node 0 is cabled in the opposite order
		if i == 0 {
			clockwise, counter = 0, 1
		}
		for d := range n {
			t.routes[d] = counter
			if (d-i+n)%n <= n/2 {
				t.routes[d] = clockwise
			}
		}
	}
	for k, i := range active {
		s.toys[i].target, s.toys[i].interval = uint16((i+n/2)%n), interval
		s.toys[i].start = unit.Time(k) * 613 * unit.Nanosecond
	}
	return s
}

// drive runs the shape in one process, always with the earliest event next. It returns
// the digest of every node and the number of frame-hops. It is the simple reference
// for the rest of this package.
func drive(s *shape) (digests []uint64, hops int64) {
	nodes := make([]*node.Node, len(s.toys))
	index := make(map[string]int)
	for i, t := range s.toys {
		nodes[i], index[s.names[i]] = node.New(t, len(t.ports), nil), i
	}
	for {
		first := 0
		for i := range nodes {
			if nodes[i].Next() < nodes[first].Next() {
				first = i
			}
		}
		at := nodes[first].Next()
		if at >= s.end {
			break
		}
		var out fabric.Out
		nodes[first].Run(at+1, &out)
		for i := range out.Sends {
			p := s.toys[first].ports[out.Sends[i].Port]
			nodes[index[p.Peer]].Push(p.PeerPort, out.Sends[i].Frame)
		}
	}
	for _, n := range nodes {
		digests = append(digests, n.Digest())
		hops += n.Arrivals()
	}
	return digests, hops
}
