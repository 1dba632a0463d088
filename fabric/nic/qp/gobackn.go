package qp

// goBackN is the loss recovery of RoCEv2 (IBTA volume 1 §9.7): ACKs are cumulative, and
// after a loss the sender sends again from the oldest missing packet on. Packets are
// counted in 64 bits from 0; the PSN on the wire is the lower 24, 32 under UET.
//
//	0 ........ acked ........ next ........ high ........ packets
//	  done          in flight      to resend     not yet sent
//
// Invariant: acked <= next <= high.
type goBackN struct {
	acked, next, high int64
}

// acknowledge marks the packets below upTo as acknowledged. It returns false and changes
// nothing if they are already, or if they were never sent.
func (g *goBackN) acknowledge(upTo int64) bool {
	if upTo <= g.acked || upTo > g.high {
		return false
	}
	g.acked = upTo
	g.next = max(g.next, upTo)
	return true
}

// sent counts the next packet as sent and reports whether it was sent for the first time.
func (g *goBackN) sent() bool {
	g.next++
	if g.high >= g.next {
		return false
	}
	g.high = g.next
	return true
}

// missing reports whether the packet that a NAK names is the oldest one in flight, so that
// the sender must go back.
func (g *goBackN) missing(packet int64) bool { return packet == g.acked && packet < g.next }

// goBack makes the oldest unacknowledged packet the next one to send. It returns the number
// of packets to send again.
func (g *goBackN) goBack() int64 {
	again := g.next - g.acked
	g.next = g.acked
	return again
}

// resending reports whether the next packet was sent before.
func (g *goBackN) resending() bool { return g.next < g.high }

// idle reports whether no packet is in flight.
func (g *goBackN) idle() bool { return g.next == g.acked }

// stop makes nothing in flight and nothing left to send again.
func (g *goBackN) stop() { g.acked, g.high = g.next, g.next }
