// Package llr is link-layer retry at one end of a link: it numbers the frames that a port
// transmits, keeps them until the neighbour has acknowledged them, and replays them if the link
// has lost or damaged one (go-back-N). Ports of NICs and switches use it alike; it knows no
// queues, classes or buffers of theirs. ADR 024 says what is emulated.
//
// Source: "SAI Proposal: Link Layer Retry", UEC Management WG, SAI 1.18, cited as [SAI].
package llr

import (
	"errors"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Settings are the settings of a link with retry. Both ends have the same.
type Settings struct {
	// Buffer bounds the bytes that wait for an ACK ([SAI] OUTSTANDING_BYTES_MAX), 0 for the
	// bytes of one loop and two of the largest frames.
	Buffer unit.Bytes
	// Timeout is the replay timer ([SAI] REPLAY_TIMER_MAX), 0 for three loops.
	Timeout unit.Time
	// Retries is the number of replays of a frame before the sender gives up ([SAI]
	// REPLAY_COUNT_MAX), at least 1.
	Retries int
	// Spacing is the least distance between two ACKs, in bytes of link time ([SAI]
	// CTLOS_TARGET_SPACING).
	Spacing unit.Bytes
	// Latency passes from the arrival of a frame to its ACK or NACK.
	Latency unit.Time
}

// Bounds of Settings. MaxBuffer keeps the numbers in flight below half of their range.
const (
	MaxBuffer  = 16 << 20 * unit.Byte
	MaxRetries = 255 // [SAI] REPLAY_COUNT_MAX has 8 bits
)

// DefaultSettings returns the default settings: retries as in the sample profiles of SONiC's
// design document, spacing as in [SAI], and no latency.
func DefaultSettings() Settings { return Settings{Retries: 3, Spacing: 2048 * unit.Byte} }

// Link has the properties of the link that retry depends on.
type Link struct {
	Rate     unit.Rate
	Delay    unit.Time  // propagation
	Overhead unit.Bytes // per frame beyond its length
	MTU      unit.Bytes // largest frame
}

// controlBytes is what a control ordered set occupies of the link: one block of the PCS.
const controlBytes = 8 * unit.Byte

// loops is the number of loops of the default timeout: HPE's Slingshot driver sets the replay
// timer to 3 times the measured loop time, and a constant.
const loops = 3

// serialise returns the time that a frame occupies the link.
func (l *Link) serialise(length unit.Bytes) unit.Time { return l.Rate.Serialise(length + l.Overhead) }

// loop returns the longest time from the start of a frame to the end of its ACK, if nothing is
// lost: the frame, the spacing of ACKs, a frame that delays the ACK, the ACK, both
// propagations and the latency.
func (l *Link) loop(s *Settings) unit.Time {
	return 2*l.serialise(l.MTU) + l.Rate.Serialise(s.Spacing) + l.serialise(frame.MinLen) + 2*l.Delay + s.Latency
}

// Complete returns the settings with the values that follow from the link. It fails if the
// buffer would exceed MaxBuffer or has no room for the largest frame.
func (s Settings) Complete(l Link) (Settings, error) {
	loop := l.loop(&s)
	if s.Timeout == 0 {
		s.Timeout = loops * loop
	}
	if s.Buffer == 0 {
		s.Buffer = l.Rate.In(loop) + 2*l.MTU
	}
	switch {
	case s.Buffer > MaxBuffer:
		return s, errors.New("the replay buffer of the link's rate and delay exceeds 16 MiB: set llr_buffer")
	case s.Buffer < l.MTU:
		return s, errors.New("llr_buffer is smaller than the mtu of the link")
	case s.Timeout <= loop:
		return s, errors.New("llr_timeout is not above the time from a frame to its ACK, " + loop.String())
	}
	return s, nil
}

// End is one end of a link with retry: the sender of one direction and the receiver of the other.
type End struct {
	link     Link
	port     fabric.Port
	address  frame.Addr
	sender   sender
	receiver receiver
}

// New returns the end of a link at a port. The settings must be complete.
func New(s *Settings, l Link, port fabric.Port, address frame.Addr) *End {
	return &End{
		link: l, port: port, address: address,
		sender:   newSender(s),
		receiver: newReceiver(s, l.Rate.Serialise(s.Spacing)),
	}
}

// after returns the number that is n after number.
func after(number uint32, n int) uint32 { return (number + uint32(n)) & frame.SequenceMask }

// between returns how far number is ahead of first, negative if it is behind.
func between(first, number uint32) int {
	const sign = 32 - frame.SequenceBits
	return int(int32((number-first)<<sign) >> sign)
}
