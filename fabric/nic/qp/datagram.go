package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Queue pairs for unreliable datagrams (UD, IBTA volume 1 §9.8). A send is one packet, which
// is neither acknowledged nor sent again: the sender has completed it when its last byte is
// on the wire, and the receiver accepts packets in any order.

// QKey is the Q_Key of all datagram queue pairs: that of the Linux connection manager
// (rdma_cm.h, RDMA_UDP_QKEY).
const QKey = 0x01234567

// DatagramStats counts received datagrams, if a connection for them ends at this NIC.
type DatagramStats struct {
	On       bool
	Received uint64
	Missing  uint64 // PSNs that were passed over and have not arrived since
}

// asDatagram adds what only a datagram has to a packet, and removes what it does not have.
func (c *initiator) asDatagram(p *frame.Packet) {
	p.DETH = frame.DETH{QKey: QKey, SourceQP: frame.SenderQP(uint32(c.ID))}
	p.BTH.AckReq, p.Timestamped = false, false
}

// departing sets the deadline to the end of the transmission that begins now.
func (c *initiator) departing(now unit.Time, f *frame.Frame) {
	c.deadline = now + c.engine.Rate.Serialise(f.Len()+c.engine.Overhead)
	c.engine.timers.Set(int(c.flow), c.deadline)
}

// departed completes the send whose transmission has ended. The link carries one frame at a
// time, so that no other send of the connection is in flight.
func (c *initiator) departed(now unit.Time, out *fabric.Out) {
	c.deadline = unit.Never
	c.engine.timers.Set(int(c.flow), unit.Never)
	r := c.sent.Front()
	c.sender.Fly(-r.Bytes)
	c.finish(now, r, out)
	c.settle()
	c.engine.offer(c.place)
}

// count counts a datagram, and returns the PSN that is expected after it. Only the PSNs show
// that datagrams are lost.
func (d *DatagramStats) count(psn, expected uint32) uint32 {
	d.Received++
	ahead := frame.PSNDiff(psn, expected)
	if ahead < 0 {
		d.Missing = max(d.Missing, 1) - 1
		return expected
	}
	d.Missing += uint64(ahead)
	return frame.NextPSN(psn, 1)
}
