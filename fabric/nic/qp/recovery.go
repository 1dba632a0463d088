package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// recovery is the loss recovery of a requester: it selects the next packet, and decides what
// ACKs, NAKs, responses and timeouts mean for the packets in flight. Packets are counted in 64
// bits. A recovery moves the cursor of the requester's send queue, drops the work requests that
// are complete, reports these to the consumer, and sets the requester's deadline.
type recovery interface {
	// next returns the packet to send next, nil if there is none, or if no more may be in
	// flight. It is valid until another method is called.
	next() *packet
	// sent counts the packet that next returned as sent at now; length is that of its frame.
	sent(now unit.Time, length unit.Bytes, out *fabric.Out)
	// oldest returns the number of the oldest packet in flight, or of the next one if none is.
	oldest() int64
	// acknowledged handles a cumulative ACK: the packets below upTo have arrived. It returns
	// the payload of those that were not acknowledged before, 0 if upTo was never sent.
	acknowledged(now unit.Time, upTo int64, out *fabric.Out) unit.Bytes
	// selected handles a SACK: single packets have arrived, those of the 64 from base on whose bits are
	// set, the most significant bit first. It returns the payload of those that were not
	// acknowledged before.
	selected(base int64, set uint64) unit.Bytes
	// lost handles a NAK: the packet with the given number is missing at the peer. Those
	// before it are acknowledged already.
	lost(now unit.Time, number int64, out *fabric.Out)
	// answered handles a packet of a response.
	answered(now unit.Time, f *frame.Frame, out *fabric.Out)
	// overdue handles the requester's deadline.
	overdue(now unit.Time, out *fabric.Out)
}

// packet is a packet that a requester may send.
type packet struct {
	part    *work.Part // what it carries or asks for
	request *work.Request
	number  int64
	flight  unit.Bytes // payload that is in flight in addition once it is sent
	// turn counts packets: one in Settings.AckEvery requests an ACK, and the last of a request.
	turn  int64
	again bool // sent before
}
