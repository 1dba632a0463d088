// Package frame implements frames as they are on the wire: the real header
// bytes of RoCEv2 over Ethernet, UET, priority flow control and congestion
// notification, with one file per header. Accessors read and rewrite the bytes
// in place. The package knows offsets and checksums; it does not know queues,
// flows or schemes.
//
// Sources: IEEE 802.3 and 802.1Q (Ethernet, PFC), RFC 791 (IPv4), RFC 768
// (UDP), IBTA volume 1 with Annex A17 (BTH and its extensions, ICRC).
package frame

import "github.com/rackfab/rackfab/fabric/unit"

// HeaderRoom is the maximum length of a Frame's headers in bytes.
const HeaderRoom = 208

// Trailer lengths in bytes. They count towards a frame's length; the bytes
// themselves are written only if a frame leaves the fabric (a capture).
const (
	ICRCLen = 4 // invariant CRC of RoCEv2, IBTA A17.3.3
	FCSLen  = 4 // Ethernet frame check sequence
	MinLen  = 64
)

// Frame is one frame on a link: its header bytes up to the payload, and the
// length of the payload, whose bytes are elided. A Frame is a value; copying it
// copies the header, and == compares it.
type Frame struct {
	// Arrival is the instant at which the last bit has arrived at the receiving
	// node: start of transmission + serialisation + propagation. The sender
	// sets it.
	Arrival unit.Time
	// Trace is metadata that identifies the frame's message; 0 means no
	// message. It is not on the wire and not in the digest.
	Trace uint64
	// Payload is the number of elided payload bytes, pad included.
	Payload uint32
	// Sequence is the sequence number on a link with retry, in the preamble: Numbered and
	// SequenceBits bits. It is 0 without one, also in every frame that no link carries.
	Sequence uint32
	n        uint8
	// shift is the number of telemetry bytes between UDP and BTH, 0 without
	// telemetry. The offsets of the BTH and of all headers after it are
	// relative to it.
	shift uint8
	head  [HeaderRoom]byte
	// A frame of 256 bytes begins at a line of the cache, so that the headers of RoCEv2
	// take two lines, not two to three.
	_ [20]byte
}

// Header returns the header bytes themselves, not a copy.
func (f *Frame) Header() []byte { return f.head[:f.n] }

// SetHeader copies b into the header bytes. It returns false, without any
// change, if b is longer than HeaderRoom.
func (f *Frame) SetHeader(b []byte) bool {
	if len(b) > HeaderRoom {
		return false
	}
	f.n = uint8(copy(f.head[:], b))
	clear(f.head[f.n:])
	f.shift = f.telemetryLen()
	return true
}

// Preload reads the lines of the cache that hold the headers of RoCEv2. The caller must use
// the result, or the compiler leaves out the reads.
func (f *Frame) Preload() byte { return f.n + f.head[secondLine] }

// secondLine is an index of head in the second line of the cache.
const secondLine = 64

// at converts an offset in a packet without telemetry to an offset in f.
func (f *Frame) at(offset int) int { return offset + int(f.shift) }

// Len returns the frame's length on the wire in bytes, from destination address
// to FCS, padded to the Ethernet minimum of 64.
func (f *Frame) Len() unit.Bytes { return f.LenOf(f.Class()) }

// LenOf returns Len for a caller that has classified the frame already.
func (f *Frame) LenOf(c Class) unit.Bytes {
	n := unit.Bytes(f.n) + unit.Bytes(f.Payload) + FCSLen
	if c == ClassRoCE {
		n += ICRCLen
	}
	return max(n, MinLen)
}
