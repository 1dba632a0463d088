package credit

import "github.com/rackfab/rackfab/fabric/unit"

// Quantum is the unit of credit on the wire: 256 bytes (UEC; credit-nic-facts
// B2.1).
const Quantum = 256 * unit.Byte

// Quanta returns the number of whole quanta in n bytes, rounded down.
func Quanta(n unit.Bytes) int64 { return int64(n / Quantum) }

// Counter is the width in bits of a cumulative count on the wire. This package
// counts in 64 bits without wrapping; counts on the wire wrap.
type Counter uint

// Widths of the field target_pull. UET 1.0 carries 24 bits (facts B3), EQDS 16.
const (
	UETCounter  Counter = 24
	EQDSCounter Counter = 16
)

// ControlCounter is the width of the credit field in a control packet of UET.
const ControlCounter Counter = 32

func (c Counter) mask() uint32 { return 1<<c - 1 }

// Truncate returns the bits of a credit. No value is reserved.
func (c Counter) Truncate(count int64) uint32 { return uint32(count) & c.mask() }

// Encode returns the bits of a target. All zeros and all ones are reserved for
// the excess signal. A count that would encode as one of them is moved by one
// quantum: up from zeros, down from ones (CBRC-23).
func (c Counter) Encode(count int64) uint32 {
	switch v := uint32(count) & c.mask(); v {
	case 0:
		return 1
	case c.mask():
		return v - 1
	default:
		return v
	}
}

// Decode returns the count nearest to near whose bits are wire, in
// serial-number arithmetic (RFC 1982). The result is correct if the count is
// less than half of the counter's range away from near.
func (c Counter) Decode(wire uint32, near int64) int64 {
	ahead := (wire - uint32(near)) & c.mask()
	if ahead >= 1<<(c-1) {
		return near + int64(ahead) - 1<<c
	}
	return near + int64(ahead)
}

// Excess is the encoding of the excess signal in the field target_pull, by
// which a sender reports that it holds more credit than it can spend (CBRC-21).
type Excess string

// Encodings of the excess signal.
const (
	ExcessZeros Excess = "zeros"
	ExcessOnes  Excess = "ones"
)

// Signal returns the bits of the excess signal in a field of c's width.
func (e Excess) Signal(c Counter) uint32 {
	if e == ExcessOnes {
		return c.mask()
	}
	return 0
}

// IsExcess reports whether wire, in a field of c's width, is an excess signal.
// A receiver accepts both encodings, since neither is ever a target.
func (c Counter) IsExcess(wire uint32) bool { return wire == 0 || wire == c.mask() }
