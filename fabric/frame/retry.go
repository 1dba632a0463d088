package frame

import "encoding/binary"

// Control frame of link-layer retry between two neighbours. Ultra Ethernet sends control
// ordered sets of the PCS instead; the frame and its EtherType, the first of those that IEEE
// 802 reserves for local experiments, are this project's (docs/wire.md, ADR 024).
const (
	retryKind   = ethEnd
	retryNumber = ethEnd + 2
	retryGood   = ethEnd + 6
	retryEnd    = ethEnd + 10
	retryBuilt  = minCapture // with padding

	typeRetry = 0x88b5
)

// Sequence numbers of link-layer retry. They have 20 bits, as those of Ultra Ethernet.
const (
	SequenceBits = 20
	SequenceMask = 1<<SequenceBits - 1
	Numbered     = 1 << 31 // in Frame.Sequence: the frame has a number
)

// neighbour is the group address of the nearest bridge (IEEE 802.1Q, table 8-1), which no
// bridge forwards.
var neighbour = Addr{0x01, 0x80, 0xc2, 0, 0, 0x0e}

// RetryKind is the kind of a control frame of link-layer retry. The names are those of Ultra
// Ethernet's control ordered sets.
type RetryKind uint8

// Kinds of control frames.
const (
	RetryACK      RetryKind = iota + 1 // all frames up to Number have arrived
	RetryNACK                          // the same, and the next one is missing: replay
	RetryInit                          // the next frame will have Number
	RetryInitEcho                      // answer to RetryInit; before it, Good was the last to arrive
)

// String returns the name of the kind, such as "nack".
func (k RetryKind) String() string {
	names := [...]string{"none", "ack", "nack", "init", "init-echo"}
	if int(k) >= len(names) {
		k = 0
	}
	return names[k]
}

var (
	errNotRetry     = malformed("not a control frame of link-layer retry")
	errRetryPadding = malformed("control frame of link-layer retry: number above 20 bits, or padding not zero")
)

// Retry is a control frame of link-layer retry.
type Retry struct {
	Source Addr
	Kind   RetryKind
	Number uint32 // SequenceBits bits
	Good   uint32 // SequenceBits bits; 0 except in RetryInitEcho
}

// Build writes the frame into f, with 60 header bytes and no payload. It does not change
// Arrival and Trace.
func (r *Retry) Build(f *Frame) {
	clear(f.head[:])
	f.n, f.shift, f.Payload = retryBuilt, 0, 0
	*(*Addr)(f.head[ethDst:]) = neighbour
	*(*Addr)(f.head[ethSrc:]) = r.Source
	binary.BigEndian.PutUint16(f.head[ethType:], typeRetry)
	f.head[retryKind] = byte(r.Kind)
	binary.BigEndian.PutUint32(f.head[retryNumber:], r.Number&SequenceMask)
	binary.BigEndian.PutUint32(f.head[retryGood:], r.Good&SequenceMask)
}

// Parse parses f into r. It rejects frames that Build would not write, with an error that
// wraps ErrMalformed, and leaves r unchanged then.
func (r *Retry) Parse(f *Frame) error {
	if f.Class() != ClassRetry {
		return errNotRetry
	}
	number, good := binary.BigEndian.Uint32(f.head[retryNumber:]), binary.BigEndian.Uint32(f.head[retryGood:])
	kind := RetryKind(f.head[retryKind])
	if number > SequenceMask || good > SequenceMask || good > 0 && kind != RetryInitEcho || f.head[retryKind+1] != 0 ||
		[retryBuilt - retryEnd]byte(f.head[retryEnd:retryBuilt]) != ([retryBuilt - retryEnd]byte{}) {
		return errRetryPadding
	}
	*r = Retry{f.SrcMAC(), kind, number, good}
	return nil
}

// isRetry reports whether a frame that is not IPv4 is a control frame of link-layer retry.
func (f *Frame) isRetry() bool {
	return f.n == retryBuilt && f.Payload == 0 && binary.BigEndian.Uint16(f.head[ethType:]) == typeRetry &&
		Addr(f.head[ethDst:ethSrc]) == neighbour &&
		f.head[retryKind] >= byte(RetryACK) && f.head[retryKind] <= byte(RetryInitEcho)
}
