package frame

import "encoding/binary"

// RDMA extended transport header, IBTA volume 1 §9.3.3. It follows the BTH.
const (
	rethVA     = bthEnd
	rethRKey   = bthEnd + 8
	rethLength = bthEnd + 12
	rethLen    = 16
)

// RETH locates the data of a WRITE or READ in the peer's memory.
type RETH struct {
	VA     uint64 // virtual address
	RKey   uint32
	Length uint32 // of the whole message, in bytes
}

// DMALength returns the length of the whole message in bytes, for an opcode
// with HasRETH.
func (f *Frame) DMALength() uint32 { return binary.BigEndian.Uint32(f.head[f.at(rethLength):]) }

// DMAAddress returns the virtual address of the message's data, for an opcode with
// HasRETH.
func (f *Frame) DMAAddress() uint64 { return binary.BigEndian.Uint64(f.head[f.at(rethVA):]) }

func (r *RETH) build(f *Frame) {
	binary.BigEndian.PutUint64(f.head[rethVA:], r.VA)
	binary.BigEndian.PutUint32(f.head[rethRKey:], r.RKey)
	binary.BigEndian.PutUint32(f.head[rethLength:], r.Length)
}

func (r *RETH) parse(f *Frame) {
	r.VA = f.DMAAddress()
	r.RKey = binary.BigEndian.Uint32(f.head[rethRKey:])
	r.Length = f.DMALength()
}
