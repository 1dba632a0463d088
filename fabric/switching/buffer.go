package switching

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

// buffer accounts the shared buffer per (ingress port, class):
//
//	Buffer = reserves of all accounts + headrooms of all lossless accounts + pool
//
//	account:  |-- reserve --|------ shared ------:--- headroom ---|
//	                                             threshold
//
// A frame fills the reserve, then the shared part up to the threshold; a
// lossless frame that would pass the threshold goes whole into the headroom.
// Frames leave in the opposite order, as in the buffer model of the HPCC
// simulator (switch-mmu.cc).
//
// Invariant: shared is the sum over the accounts of their shared parts, and
// 0 <= shared <= pool.
type buffer struct {
	classes  *[fabric.Priorities]ClassConfig // of the switch's Config
	pool     unit.Bytes                      // the shared part of the whole buffer
	shared   unit.Bytes                      // how much of the pool is in use
	accounts [][fabric.Priorities]account
}

// account is what the frames of one ingress port and class hold.
type account struct {
	used     unit.Bytes // reserve and shared part
	headroom unit.Bytes
}

// newBuffer makes an empty buffer that follows cfg.Classes as they change.
func newBuffer(cfg *Config) buffer {
	return buffer{
		classes:  &cfg.Classes,
		pool:     cfg.Buffer - cfg.set(),
		accounts: make([][fabric.Priorities]account, len(cfg.Ports)),
	}
}

// set gives the bytes that are set aside for reserves and headrooms.
func (c *Config) set() unit.Bytes {
	var perPort unit.Bytes
	for i := range c.Classes {
		perPort += c.Classes[i].Reserve
		if c.Classes[i].Lossless {
			perPort += c.Classes[i].Headroom
		}
	}
	return perPort * unit.Bytes(len(c.Ports))
}

// admit makes room for a frame. It gives 0, or the reason why there is none, and
// then changes nothing.
func (b *buffer) admit(at fabric.Port, class fabric.Priority, length unit.Bytes) fabric.DropReason {
	a, c := &b.accounts[at][class], &b.classes[class]
	before := max(a.used-c.Reserve, 0)
	after := max(a.used+length-c.Reserve, 0)
	switch {
	case after <= b.threshold(class) && after-before <= b.pool-b.shared:
		a.used += length
		b.shared += after - before
	case !c.Lossless:
		return fabric.DropBuffer
	case a.headroom+length <= c.Headroom:
		a.headroom += length
	default:
		return fabric.DropHeadroom
	}
	return 0
}

// release takes a frame out: of the headroom first, then of the shared part,
// then of the reserve.
func (b *buffer) release(at fabric.Port, class fabric.Priority, length unit.Bytes) {
	a := &b.accounts[at][class]
	fromHeadroom := min(a.headroom, length)
	a.headroom -= fromHeadroom
	before := b.sharedPart(at, class)
	a.used -= length - fromHeadroom
	b.shared -= before - b.sharedPart(at, class)
}

// sharedPart is what an account holds of the pool.
func (b *buffer) sharedPart(at fabric.Port, class fabric.Priority) unit.Bytes {
	return max(b.accounts[at][class].used-b.classes[class].Reserve, 0)
}

// occupancy is all that an account holds.
func (b *buffer) occupancy(at fabric.Port, class fabric.Priority) unit.Bytes {
	a := &b.accounts[at][class]
	return a.used + a.headroom
}

// threshold bounds the shared part of each account of the class.
func (b *buffer) threshold(class fabric.Priority) unit.Bytes {
	return b.classes[class].threshold(b.pool - b.shared)
}

// threshold gives the static threshold, or a share of what is free in the pool
// (Choudhury and Hahne, ToN 1998), with alpha = 2^-AlphaShift.
func (c *ClassConfig) threshold(free unit.Bytes) unit.Bytes {
	switch {
	case c.XOFF != 0:
		return c.XOFF
	case c.AlphaShift < 0:
		return free << -c.AlphaShift
	default:
		return free >> c.AlphaShift
	}
}

// congested tells that the peer must be paused: the shared part is above the
// threshold, or the headroom is in use.
func (b *buffer) congested(at fabric.Port, class fabric.Priority) bool {
	return b.accounts[at][class].headroom > 0 || b.sharedPart(at, class) > b.threshold(class)
}

// relieved tells that a paused peer may send again: the headroom is empty, and
// the shared part is XON below the threshold. An empty shared part is always
// low enough, so that a small threshold cannot hold the peer for ever.
func (b *buffer) relieved(at fabric.Port, class fabric.Priority) bool {
	if b.accounts[at][class].headroom > 0 {
		return false
	}
	shared := b.sharedPart(at, class)
	return shared == 0 || shared+b.classes[class].XON <= b.threshold(class)
}
