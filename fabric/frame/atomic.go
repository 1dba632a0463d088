package frame

import "encoding/binary"

// Atomic extended transport header, IBTA volume 1 §9.3.4, which follows the BTH
// of a request, and the atomic acknowledge header of §9.5.3, which follows the
// AETH of its answer.
const (
	atomicVA      = bthEnd
	atomicRKey    = bthEnd + 8
	atomicSwap    = bthEnd + 12
	atomicCompare = bthEnd + 20
	atomicLen     = 28

	atomicAckOriginal = bthEnd + aethLen
	atomicAckLen      = 8
)

// AtomicLen is the number of bytes that an atomic operation works on.
const AtomicLen = 8

// AtomicETH says which word of the peer's memory an atomic changes, and how.
type AtomicETH struct {
	VA      uint64 // virtual address, a multiple of 8
	RKey    uint32
	Swap    uint64 // what is swapped in, or added
	Compare uint64 // what the word must hold for a swap; no part in an addition
}

// Atomic gives the header of a request, for an opcode with HasAtomic.
func (f *Frame) Atomic() AtomicETH {
	be, h := binary.BigEndian, f.head[f.shift:]
	return AtomicETH{
		VA: be.Uint64(h[atomicVA:]), RKey: be.Uint32(h[atomicRKey:]),
		Swap: be.Uint64(h[atomicSwap:]), Compare: be.Uint64(h[atomicCompare:]),
	}
}

// Original gives what the word held before, for AtomicAcknowledge.
func (f *Frame) Original() uint64 { return binary.BigEndian.Uint64(f.head[f.at(atomicAckOriginal):]) }

func (a *AtomicETH) build(f *Frame) {
	be := binary.BigEndian
	be.PutUint64(f.head[atomicVA:], a.VA)
	be.PutUint32(f.head[atomicRKey:], a.RKey)
	be.PutUint64(f.head[atomicSwap:], a.Swap)
	be.PutUint64(f.head[atomicCompare:], a.Compare)
}

func (p *Packet) buildOriginal(f *Frame) {
	binary.BigEndian.PutUint64(f.head[atomicAckOriginal:], p.Original)
}
