// Package qp implements the queue pairs of a NIC: packet sequence numbers, packets in
// flight, completion, loss recovery (this is where a NAK is answered), and the reaction point
// with its pacer. A queue pair knows neither the link nor the other queue pairs; what all of a
// NIC's queue pairs share is a Device. Engine connects the queue pairs of connections with the
// command queues of package work and the units of package shaper.
package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
)

// MaxUnacked is the maximum number of unacknowledged packets: half of the PSN space, so
// that an acknowledged PSN identifies one packet (IBTA volume 1 §9.7.2).
const MaxUnacked = 1<<23 - 1

// PSN returns the PSN of a packet, which counts from 0 in 64 bits.
func PSN(packet int64) uint32 { return uint32(packet) & (1<<24 - 1) }

// nearest returns the packet with the PSN p that is nearest to the given one.
func nearest(packet int64, p uint32) int64 {
	return packet + int64(frame.PSNDiff(p, PSN(packet)))
}

// Trace returns the trace ID of a message of a flow; it is never 0.
func Trace(flow fabric.FlowID, message int64) uint64 {
	return (uint64(flow)+1)<<32 | uint64(uint32(message))
}
