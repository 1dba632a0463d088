// Package cc implements congestion control at the end points, with one file and
// one paper test per scheme. An algorithm receives signals as numbers, each
// with its instant, and returns a rate or a window. It knows no frame, queue,
// node or clock.
package cc

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Path describes the path of a flow. It is known when the flow's reaction point is
// created, and does not change with routes.
type Path struct {
	Rate     unit.Rate  // of the sender's link: the line rate
	Receiver unit.Rate  // of the receiver's link; 0 if it is Rate
	MTU      unit.Bytes // largest payload of a packet
	Headers  unit.Bytes // nominal, of a packet with data: UDP length + 40 bytes less the payload (Ultra Ethernet 1.0, §3.6.12)
	BaseRTT  unit.Time  // round-trip time of a full packet and its ACK through empty queues
	// LongestRTT is BaseRTT of the longest path of the rack; 0 if it is BaseRTT.
	LongestRTT unit.Time
	Hops       int // links from sender to receiver
}

// Slower returns the rate of the slower one of the links of sender and receiver.
func (p *Path) Slower() unit.Rate { return min(p.Rate, cmp.Or(p.Receiver, p.Rate)) }

// SignalKind is the kind of a signal to the reaction point of a flow.
type SignalKind uint8

// Signals.
const (
	// CNP is a congestion notification packet: Marked and RecRate are set.
	CNP SignalKind = iota + 1
	// Ack acknowledges Bytes of payload and leaves InFlight unacknowledged. RTT
	// is the sample, or 0 if there is none. Marked is set if the ACK echoes marks,
	// Load if it echoes the load of the path; it is valid during the call only.
	Ack
	// CNM is a congestion notification message of IEEE 802.1Qau: Feedback is set.
	CNM
	// Sent reports the transmission of a data frame of Bytes on the wire, of
	// which Payload bytes belong to the application.
	Sent
	// Indication reports whether an ACK signals a congested path: Marked and
	// Path are set.
	Indication
	// Probe reports the response to an RTT probe: RTT is the sample, InFlight is as in Ack.
	Probe
	// Lost reports that a NAK made the flow send packets again. Bytes is the payload found lost,
	// or 0 if that is unknown; InFlight is as in Ack, without it.
	Lost
	// TimedOut reports that the retransmission timer fired. Bytes and InFlight are as in Lost.
	TimedOut
	// Trimmed reports that packets arrived trimmed: Bytes and InFlight are as in Lost, RTT as in
	// Ack, and LastHop is set.
	Trimmed
)

// Signal is one input of an Algorithm. Kind determines which fields are set.
type Signal struct {
	Kind     SignalKind
	Marked   bool       // CNP, Indication: the path is congested; Ack: its packets were marked
	Restore  bool       // Ack: the window before the penalty applies again
	LastHop  bool       // Trimmed: the switch of the receiver trimmed the packets
	Feedback uint8      // CNM: quantised, 1 to 63
	Penalty  uint8      // Ack: the receiver's penalty on the window, 0 to 127 of 128 of Bytes
	RecRate  unit.Rate  // CNP: receiving rate of the flow, in on-wire bytes
	Bytes    unit.Bytes // Ack, Sent; payload of Lost, TimedOut, Trimmed
	RTT      unit.Time  // Ack, Probe, Trimmed
	InFlight unit.Bytes // Ack, Probe, Lost, TimedOut, Trimmed: payload sent and neither acknowledged nor found lost, after this signal
	Payload  unit.Bytes // Sent
	Path     Congestion // Indication
	Load     *Loads     // Ack; nil if the ACK echoes none
}

// Algorithm is the reaction point of one flow.
type Algorithm interface {
	// Handle processes signal s, received at now.
	Handle(now unit.Time, s Signal)
	// Tick runs the timer at the instant that Next returned.
	Tick(now unit.Time)
	// Next returns the instant of the algorithm's next timer, or false if no
	// timer is running.
	Next() (unit.Time, bool)
	// Rate returns the sending rate of the flow in bits on the wire per second,
	// headers included, in (0, line rate].
	Rate() unit.Rate
	// Window returns the limit on unacknowledged payload bytes, or NoWindow. A
	// flow without unacknowledged bytes may send one packet under any limit.
	Window() unit.Bytes
}

// NoWindow is the window of an algorithm that does not limit unacknowledged bytes.
const NoWindow unit.Bytes = math.MaxInt64

// timerless is the part of an Algorithm without a timer.
type timerless struct{}

// Tick does nothing.
func (timerless) Tick(unit.Time) {}

// Next returns false: there is no timer.
func (timerless) Next() (unit.Time, bool) { return 0, false }

// pace is the part of an Algorithm that limits the rate alone, in bits per second.
//
// Invariant: 0 < rate <= line.
type pace struct {
	rate, line float64
	floor      float64 // of a decrease
}

// newPace returns the pace of a flow that begins at initial, in (0, line]. A floor of 0
// is none.
func newPace(line, initial, least unit.Rate) pace {
	return pace{rate: float64(initial), line: float64(line), floor: float64(floor(least, line))}
}

// lowest is the minimum rate in bits per second if no floor is set.
const lowest = 1

// floor returns the floor of a rate on a link of rate line.
func floor(least, line unit.Rate) unit.Rate { return max(lowest, min(least, line)) }

// lower reduces the rate, if to is below it. The floor does not raise a rate that is
// already below it.
func (p *pace) lower(to float64) { p.rate = min(p.rate, max(to, p.floor)) }

// Rate returns the rate in whole bits per second, rounded down, at least 1.
func (p *pace) Rate() unit.Rate { return max(lowest, unit.Rate(p.rate)) }

// Window returns NoWindow.
func (p *pace) Window() unit.Bytes { return NoWindow }

// checks collects the violated conditions of a scheme's settings.
type checks struct {
	scheme string
	errs   []error
}

// want adds an error unless ok.
func (c *checks) want(ok bool, format string, args ...any) {
	if !ok {
		c.errs = append(c.errs, fmt.Errorf(c.scheme+": "+format, args...))
	}
}

func (c *checks) err() error { return errors.Join(c.errs...) }
