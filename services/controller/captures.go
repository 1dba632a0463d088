package controller

import (
	"slices"

	"github.com/rackfab/rackfab/fabric/tap"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// Limits of the captures of a live run.
const (
	mostCaptures = 8
	batchPackets = 1 << 12 // in one message
	mostBatches  = 64      // queued for a client
)

// capturing is an active capture. The loop owns it. The call reads
// batches, and reads the other fields only after batches is closed.
type capturing struct {
	id      int64
	request *rackfabv1.CaptureRequest
	points  []tap.Point
	index   map[place]int // of points
	from    unit.Time
	to      unit.Time                   // unit.Never for no end
	present []*rackfabv1.CapturedPacket // in the current grant, those of a node in order
	batches chan *rackfabv1.CapturedPackets
	at      unit.Time
	refused []int64 // by point: packets dropped because batches was full
	missed  []int64 // by point: packets dropped at their node
}

// place is a port of a node.
type place struct{ node, port int32 }

// captures are the captures of a live run.
type captures struct {
	active  []*capturing
	count   int64 // of captures so far
	changed bool  // since the nodes received them
}

// add adds a capture and numbers it.
func (l *captures) add(c *capturing) {
	l.count++
	c.id = l.count
	l.active, l.changed = append(l.active, c), true
}

// remove ends a capture; it does nothing if the capture has ended already.
func (l *captures) remove(c *capturing) {
	if i := slices.Index(l.active, c); i >= 0 {
		l.active, l.changed = slices.Delete(l.active, i, i+1), true
		close(c.batches)
	}
}

// end ends all captures immediately.
func (l *captures) end() {
	for len(l.active) > 0 {
		l.remove(l.active[0])
	}
}

// update returns the captures that nodes record from the next grant on, nil if they are
// those of the current grant.
func (l *captures) update(nodes []*hosted) *rackfabv1.NodeCaptures {
	if !l.changed {
		return nil
	}
	list := &rackfabv1.NodeCaptures{}
	for _, c := range l.active {
		for _, n := range nodes {
			if mine := c.part(n); mine.Ports != nil {
				list.Captures = append(list.Captures, mine)
			}
		}
	}
	return list
}

// part returns the part of the capture at a node.
func (c *capturing) part(n *hosted) *rackfabv1.NodeCapture {
	mine := &rackfabv1.NodeCapture{Id: c.id, Node: n.name, FromPs: int64(c.from), Kinds: c.request.GetKinds()}
	if c.to != unit.Never {
		mine.ToPs = int64(c.to)
	}
	for _, p := range c.points {
		if p.Node == n.index {
			mine.Ports = append(mine.Ports, int32(p.Port))
		}
	}
	return mine
}

// record adds the packets that a node has recorded in the current grant.
func (l *captures) record(node int, m *rackfabv1.NodeCaptured) {
	i := slices.IndexFunc(l.active, func(c *capturing) bool { return c.id == m.GetId() })
	if i < 0 {
		return
	}
	c := l.active[i]
	for _, p := range m.GetPackets() {
		p.Node = int32(node)
		if _, requested := c.index[place{p.GetNode(), p.GetPort()}]; requested {
			c.present = append(c.present, p)
		}
	}
	for i, p := range c.points {
		if p.Node == node && int(p.Port) < len(m.GetLost()) {
			c.missed[i] = m.GetLost()[p.Port]
		}
	}
}

// deliver passes to each capture the packets that all nodes have recorded up to the
// grant they have reached, and ends the captures that are complete.
func (l *captures) deliver(reached, end unit.Time) {
	for _, c := range slices.Clone(l.active) {
		c.at = min(reached, c.to)
		tap.Sort(c.present, func(p *rackfabv1.CapturedPacket) (unit.Time, int) { return unit.Time(p.GetAtPs()), int(p.GetNode()) })
		c.offer(c.present)
		c.present = nil
		if c.to <= reached || reached == end {
			l.remove(c)
		}
	}
}

// offer queues packets for the call, and counts those dropped because the queue is
// full.
func (c *capturing) offer(packets []*rackfabv1.CapturedPacket) {
	for batch := range slices.Chunk(packets, batchPackets) {
		select {
		case c.batches <- &rackfabv1.CapturedPackets{Packets: batch, AtPs: int64(c.at), Lost: c.lost()}:
		default:
			for _, p := range batch {
				c.refused[c.index[place{p.GetNode(), p.GetPort()}]]++
			}
		}
	}
}

// lost returns the number of packets dropped so far, by point.
func (c *capturing) lost() []int64 {
	sum := slices.Clone(c.refused)
	for i, n := range c.missed {
		sum[i] += n
	}
	return sum
}
