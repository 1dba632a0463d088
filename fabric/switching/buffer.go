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
// A frame fills the reserve, then the shared part up to the threshold. A lossless
// frame that would exceed the threshold goes whole into the headroom.
// Frames leave in the opposite order, as in the buffer model of the HPCC
// simulator (switch-mmu.cc).
//
// Invariant: shared is the sum of the shared parts of all accounts, and
// 0 <= shared <= pool.
type buffer struct {
	classes  *[fabric.Priorities]ClassConfig // of the switch's Config
	pool     unit.Bytes                      // the buffer without reserves and headrooms
	shared   unit.Bytes                      // bytes of the pool in use
	accounts [][fabric.Priorities]account
}

// account is the buffer use of one ingress port and class.
type account struct {
	used     unit.Bytes // reserve and shared part
	headroom unit.Bytes
}

// newBuffer returns an empty buffer that follows changes of cfg.Classes.
func newBuffer(cfg *Config) buffer {
	return buffer{
		classes:  &cfg.Classes,
		pool:     cfg.Buffer - cfg.set(),
		accounts: make([][fabric.Priorities]account, len(cfg.Ports)),
	}
}

// set returns the bytes set aside for reserves and headrooms.
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

// admit allocates buffer for a frame and returns 0. If there is no room, it changes
// nothing and returns the reason.
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

// release frees the buffer of a frame: headroom first, then the shared part, then
// the reserve.
func (b *buffer) release(at fabric.Port, class fabric.Priority, length unit.Bytes) {
	a := &b.accounts[at][class]
	fromHeadroom := min(a.headroom, length)
	a.headroom -= fromHeadroom
	before := b.sharedPart(at, class)
	a.used -= length - fromHeadroom
	b.shared -= before - b.sharedPart(at, class)
}

// sharedPart returns the bytes of the pool that an account uses.
func (b *buffer) sharedPart(at fabric.Port, class fabric.Priority) unit.Bytes {
	return max(b.accounts[at][class].used-b.classes[class].Reserve, 0)
}

// occupancy returns all bytes that an account uses.
func (b *buffer) occupancy(at fabric.Port, class fabric.Priority) unit.Bytes {
	a := &b.accounts[at][class]
	return a.used + a.headroom
}

// threshold returns the bound on the shared part of each account of the class.
func (b *buffer) threshold(class fabric.Priority) unit.Bytes {
	return b.classes[class].threshold(b.pool - b.shared)
}

// threshold returns the static threshold, or else alpha times the free pool
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

// congested reports whether the peer must be paused: the shared part is above the
// threshold, or the headroom is in use.
func (b *buffer) congested(at fabric.Port, class fabric.Priority) bool {
	return b.accounts[at][class].headroom > 0 || b.sharedPart(at, class) > b.threshold(class)
}

// relieved reports whether a paused peer may be resumed: the headroom is empty, and
// the shared part is at least XON below the threshold. An empty shared part always
// resumes, so that a small threshold cannot pause the peer for ever.
func (b *buffer) relieved(at fabric.Port, class fabric.Priority) bool {
	if b.accounts[at][class].headroom > 0 {
		return false
	}
	shared := b.sharedPart(at, class)
	return shared == 0 || shared+b.classes[class].XON <= b.threshold(class)
}
