package bus

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Sizes of an envelope in bytes. docs/wire.md shows its layout.
const (
	// MaxEnvelope is the hard limit. A sender splits longer data.
	MaxEnvelope = 1 << 20
	// envelopeHead is the length of the fixed header before the frames.
	envelopeHead = 52
	// maxFrameBytes is the maximum encoded length of one frame: arrival, payload,
	// trace, number on a link with retry, header length, header.
	maxFrameBytes = binary.MaxVarintLen64 + binary.MaxVarintLen64 + 8 + sequenceBytes + 1 + frame.HeaderRoom
	// maxSectionHead is the maximum length of the head of a section: link, bytes.
	maxSectionHead = 2 * binary.MaxVarintLen32
)

// The first two bytes of an envelope.
const (
	envelopeMagic = 0xfa
	// Version is the envelope version of this package. It refuses other versions.
	Version = 2
)

// Flags of an envelope.
const (
	flagBare   = 1 << iota // control only: no sequence number, no state, no frames
	flagReport             // asks for a report of the received envelopes
	flagGap                // something is missing after Ack: asks for a resend
	flagsKnown = flagBare | flagReport | flagGap
)

// noWant is the Envelope.Want of a sender that waits for nothing.
const noWant unit.Time = -1

// Errors of ParseEnvelope.
var (
	ErrMalformed = errors.New("malformed envelope")
	ErrOversized = errors.New("oversized envelope")
	ErrVersion   = errors.New("unsupported envelope version")
)

// Envelope is one message from a group to another. It carries the frames of all links
// between them, in a section per link.
type Envelope struct {
	Flags   uint8
	Epoch   uint32    // identifies the run
	Seq     uint64    // number of the envelope in its direction, from 1; in a bare one, the last number sent
	Ack     uint64    // all envelopes of the other direction up to this one have arrived
	Taken   uint64    // the receiver's frames that the sender has taken, since the start
	Promise unit.Time // the sender starts no transmission before it, except in response to frames not yet taken
	Want    unit.Time // the instant that the receiver's answer should let the sender pass; or noWant
	Count   uint32    // frames

	rest    []byte    // sections not yet begun
	section []byte    // rest of the current one
	link    int       // of the current section
	last    unit.Time // arrival of the previous frame in it
}

// putHead writes the fixed header into b[:envelopeHead].
func (e *Envelope) putHead(b []byte) {
	_ = b[envelopeHead-1]
	b[0], b[1], b[2], b[3] = envelopeMagic, Version, e.Flags, 0
	binary.BigEndian.PutUint32(b[4:], e.Epoch)
	binary.BigEndian.PutUint64(b[8:], e.Seq)
	binary.BigEndian.PutUint64(b[16:], e.Ack)
	binary.BigEndian.PutUint64(b[24:], e.Taken)
	binary.BigEndian.PutUint64(b[32:], uint64(e.Promise))
	binary.BigEndian.PutUint64(b[40:], uint64(e.Want))
	binary.BigEndian.PutUint32(b[48:], e.Count)
}

// ParseEnvelope parses an envelope and validates all of it, so that Next cannot fail
// on its frames. The envelope refers to data. The error is ErrVersion, ErrOversized or
// ErrMalformed.
func ParseEnvelope(data []byte) (Envelope, error) {
	var e Envelope
	switch {
	case len(data) > MaxEnvelope:
		return e, fmt.Errorf("%w: %d bytes", ErrOversized, len(data))
	case len(data) < 2 || data[0] != envelopeMagic:
		return e, fmt.Errorf("%w: missing magic number", ErrMalformed)
	case data[1] != Version:
		return e, fmt.Errorf("%w: %d", ErrVersion, data[1])
	case len(data) < envelopeHead:
		return e, fmt.Errorf("%w: %d bytes", ErrMalformed, len(data))
	}
	e = Envelope{
		Flags:   data[2],
		Epoch:   binary.BigEndian.Uint32(data[4:]),
		Seq:     binary.BigEndian.Uint64(data[8:]),
		Ack:     binary.BigEndian.Uint64(data[16:]),
		Taken:   binary.BigEndian.Uint64(data[24:]),
		Promise: unit.Time(binary.BigEndian.Uint64(data[32:])),
		Want:    unit.Time(binary.BigEndian.Uint64(data[40:])),
		Count:   binary.BigEndian.Uint32(data[48:]),
		rest:    data[envelopeHead:],
	}
	return e, e.check(data[3])
}

func (e *Envelope) check(reserved byte) error {
	bare := e.Flags&flagBare != 0
	switch {
	case reserved != 0 || e.Flags&^flagsKnown != 0:
		return fmt.Errorf("%w: unknown flags", ErrMalformed)
	case !bare && e.Seq == 0:
		return fmt.Errorf("%w: sequence number 0", ErrMalformed)
	case e.Promise < 0 || e.Want < noWant:
		return fmt.Errorf("%w: negative instant", ErrMalformed)
	case bare && e.Count != 0:
		return fmt.Errorf("%w: frames in a bare envelope", ErrMalformed)
	}
	var count uint64
	before := int64(-1)
	for rest := e.rest; len(rest) > 0; {
		link, frames, after := section(rest)
		n, ok := countFrames(frames)
		if !ok || int64(link) <= before {
			return fmt.Errorf("%w: section at byte %d of the frames", ErrMalformed, len(e.rest)-len(rest))
		}
		before, rest = int64(link), after
		count += n
	}
	if count != uint64(e.Count) {
		return fmt.Errorf("%w: %d frames instead of %d", ErrMalformed, count, e.Count)
	}
	return nil
}

// section returns the link and the encoded frames of the first section in b, and what
// follows it. A section that is not complete has no frames.
func section(b []byte) (link uint32, frames, rest []byte) {
	number, n := binary.Uvarint(b)
	if n <= 0 || number > math.MaxUint32 {
		return 0, nil, nil
	}
	size, m := binary.Uvarint(b[n:])
	if n += m; m <= 0 || size > uint64(len(b)-n) {
		return 0, nil, nil
	}
	end := n + int(size)
	return uint32(number), b[n:end], b[end:]
}

// countFrames returns the number of the encoded frames in a section. It returns false
// unless b consists of at least one complete frame, and none arrives after unit.Never.
func countFrames(b []byte) (count uint64, ok bool) {
	at := unit.Time(0)
	for ; len(b) > 0; count++ {
		n, delta := frameSize(b)
		if n == 0 || delta > uint64(math.MaxInt64-1-at) {
			return 0, false
		}
		at += unit.Time(delta)
		b = b[n:]
	}
	return count, count > 0
}

// sections iterates over the links with frames, and the arrival of the first frame of
// each. The envelope must be valid and unread.
func (e *Envelope) sections() iter.Seq2[uint32, unit.Time] {
	return func(yield func(uint32, unit.Time) bool) {
		for rest := e.rest; len(rest) > 0; {
			link, frames, after := section(rest)
			first, _ := binary.Uvarint(frames)
			if !yield(link, unit.Time(first)) {
				return
			}
			rest = after
		}
	}
}

// frameSize returns the length of the encoded frame at the start of b, and the time
// from the previous arrival to this one. The length is 0 if b does not start with a
// complete frame.
func frameSize(b []byte) (size int, delta uint64) {
	delta, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, 0
	}
	payload, m := binary.Uvarint(b[n:])
	if m <= 0 || payload>>1 > math.MaxUint32 {
		return 0, 0
	}
	n += m
	if payload&1 != 0 {
		n += 8
	}
	if n < len(b) && b[n] == sequenceMark {
		if n+sequenceBytes > len(b) || binary.BigEndian.Uint32(b[n+1:])&^frame.SequenceMask != frame.Numbered {
			return 0, 0
		}
		n += sequenceBytes
	}
	if n >= len(b) || b[n] > frame.HeaderRoom || n+1+int(b[n]) > len(b) {
		return 0, 0
	}
	return n + 1 + int(b[n]), delta
}

// sequenceMark takes the place of the length of the header bytes, which is at most
// frame.HeaderRoom. The frame's number on a link with retry follows it in 4 bytes, then the
// length.
const (
	sequenceMark  = 255
	sequenceBytes = 5
)

// appendFrame appends f to the frames of a section. last is the arrival of the previous
// frame, 0 for the first.
func appendFrame(b []byte, last unit.Time, f *frame.Frame) []byte {
	b = binary.AppendUvarint(b, uint64(f.Arrival-last))
	payload := uint64(f.Payload) << 1
	if f.Trace == 0 {
		b = binary.AppendUvarint(b, payload)
	} else {
		b = binary.AppendUvarint(b, payload|1)
		b = binary.BigEndian.AppendUint64(b, f.Trace)
	}
	if f.Sequence != 0 {
		b = binary.BigEndian.AppendUint32(append(b, sequenceMark), f.Sequence)
	}
	head := f.Header()
	b = append(b, uint8(len(head)))
	return append(b, head...)
}

// Next decodes the next frame into f and returns its link. It returns false after the
// last one.
func (e *Envelope) Next(f *frame.Frame) (link int, ok bool) {
	if len(e.section) == 0 {
		if len(e.rest) == 0 {
			return 0, false
		}
		var number uint32
		number, e.section, e.rest = section(e.rest)
		e.link, e.last = int(number), 0
	}
	b := e.section
	delta, n := binary.Uvarint(b)
	payload, m := binary.Uvarint(b[n:])
	n += m
	e.last += unit.Time(delta)
	f.Arrival, f.Payload, f.Trace = e.last, uint32(payload>>1), 0
	if payload&1 != 0 {
		f.Trace = binary.BigEndian.Uint64(b[n:])
		n += 8
	}
	f.Sequence = 0
	if b[n] == sequenceMark {
		f.Sequence = binary.BigEndian.Uint32(b[n+1:])
		n += sequenceBytes
	}
	end := n + 1 + int(b[n])
	f.SetHeader(b[n+1 : end])
	e.section = b[end:]
	return e.link, true
}
