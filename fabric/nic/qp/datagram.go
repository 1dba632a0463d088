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

// onDeparture completes each send when its transmission ends. The link carries one frame at a
// time, so that one send of the queue pair is in flight at most.
type onDeparture struct{ byRequest }

func (d *onDeparture) sent(now unit.Time, length unit.Bytes, _ *fabric.Out) {
	d.take(now)
	d.r.expire(now + d.r.Rate.Serialise(length+d.r.Overhead))
}

func (d *onDeparture) overdue(now unit.Time, out *fabric.Out) {
	r := d.table.Front()
	d.r.Fly(-r.Bytes)
	d.finish(now, r, out)
	d.table.Drop(1)
	d.r.queue.Settle()
	d.r.expire(unit.Never)
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
