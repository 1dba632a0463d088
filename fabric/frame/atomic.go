package frame

import "encoding/binary"

// Atomic extended transport header, IBTA volume 1 §9.3.4, which follows the BTH
// of a request, and the atomic acknowledge header of §9.5.3, which follows the
// AETH of its response.
const (
	atomicVA      = bthEnd
	atomicRKey    = bthEnd + 8
	atomicSwap    = bthEnd + 12
	atomicCompare = bthEnd + 20
	atomicLen     = 28

	atomicAckOriginal = bthEnd + aethLen
	atomicAckLen      = 8
)

// AtomicLen is the size in bytes of the operand of an atomic operation.
const AtomicLen = 8

// AtomicETH identifies the word of the peer's memory that an atomic operation
// changes, and holds its operands.
type AtomicETH struct {
	VA      uint64 // virtual address, a multiple of 8
	RKey    uint32
	Swap    uint64 // new value, or addend
	Compare uint64 // expected value for a swap; not used by an addition
}

// Atomic returns the header of a request, for an opcode with HasAtomic.
func (f *Frame) Atomic() AtomicETH {
	be, h := binary.BigEndian, f.head[f.shift:]
	return AtomicETH{
		VA: be.Uint64(h[atomicVA:]), RKey: be.Uint32(h[atomicRKey:]),
		Swap: be.Uint64(h[atomicSwap:]), Compare: be.Uint64(h[atomicCompare:]),
	}
}

// Original returns the previous value of the word, for AtomicAcknowledge.
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
