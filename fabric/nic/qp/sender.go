package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/entropy"
	"github.com/rackfab/rackfab/fabric/nic/notify"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Sender is the sending side of a queue pair: the headers of its packets, its reaction
// point and its pacer. It knows no PSN and no message.
type Sender struct {
	*Device
	fabric.Flow
	SenderCounters

	owner         Owner
	index         int32           // in Timers and Arbiter
	Class         fabric.Priority // of its DSCP
	started, done bool
	overUET       bool // else over RoCEv2
	scheme        string
	pacer         pacer
	offset        offset     // of the receiver's clock, under cc.RTTOffset
	sampled       unit.Bytes // bytes on the link up to the last sample
	inFlight      unit.Bytes // payload
	live          *live
}

// live is the part of a sender's state that it needs until it is done. It is nil from
// then on; a late ACK does not need it.
type live struct {
	mode      cc.Notification
	moved     bool // the sender has been switched from another scheme
	cc        cc.Algorithm
	window    unit.Bytes        // of cc, after its latest call
	packet    frame.Packet      // the fields common to all packets
	burst     unit.Bytes        // payload sent back to back, 0 for none
	left      unit.Bytes        // remainder of the open burst
	carrier   frame.Carrier     // of the requested telemetry
	hops      uint8             // maximum number of hops that write telemetry
	indicated notify.Indication // latest indication received, under CETH
	prober    prober
	stamps    bool // packets with data carry timestamps
}

// prober is the state of a sender's probes.
type prober struct {
	on      bool      // the scheme measures the RTT by probes
	waiting bool      // a probe waits in the control queue, because its class is paused
	due     unit.Time // earliest instant of the next probe
	number  int64     // of the next probe, its PSN
}

// SenderCounters counts the packets and bytes that a sending queue pair has sent.
type SenderCounters struct {
	SentPackets          uint64 // including retransmissions
	SentBytes            unit.Bytes
	RetransmittedPackets uint64     // packets that the sender went back by
	AckedBytes           unit.Bytes // payload
}

// Init makes s the sender of a flow for its owner. index is its place in Timers and Arbiter.
func (s *Sender) Init(d *Device, flow fabric.Flow, index int, owner Owner) error {
	*s = Sender{Device: d, Flow: flow, Class: d.DSCP[flow.DSCP], owner: owner, index: int32(index)}
	s.scheme = d.schemeOf(&s.Flow)
	algorithm, err := cc.New(s.scheme, d.CC, d.pathTo(flow.To), flow.Initial)
	if err != nil {
		return err
	}
	s.pacer = pacer{rate: algorithm.Rate(), due: flow.Start, gap: d.PaceByGap}
	s.live = &live{cc: algorithm, packet: d.PacketTo(flow.To, flow.Source)}
	s.setMode()
	s.live.window = algorithm.Window()
	s.live.burst = d.burstOf(s.scheme)
	s.live.left = s.live.burst
	s.live.carrier, s.live.hops = notify.Telemetry(s.live.mode, &d.CC.CETH)
	p := &s.live.packet
	p.DSCP, p.ECN = flow.DSCP, frame.ECT0
	p.BTH.DestQP = frame.ReceiverQP(uint32(flow.ID))
	p.RETH.RKey = uint32(flow.ID)
	s.measureBy(s.scheme)
	return nil
}

// setMode sets what the sender's scheme implies for its notifications and its pacer.
func (s *Sender) setMode() {
	s.live.mode = s.ModeOf(&s.Flow)
	s.pacer.moves = s.live.mode == cc.NotifyLoad // HPCC, and PowerTCP in its simulator
}

// measureBy makes a sender under the scheme measure the RTT by probes or by its data packets,
// if the scheme needs samples.
func (s *Sender) measureBy(scheme string) {
	measures := s.measures(scheme)
	s.offset, s.live.prober.on = offset{}, measures && s.Probe > 0
	s.live.stamps = measures && !s.live.prober.on
}

// armProbe starts the timer of the probes when data is sent.
func (s *Sender) armProbe(now unit.Time) {
	if s.live.prober.on && s.Probes.At(s.place()) == unit.Never {
		s.Probes.Set(s.place(), max(now, s.live.prober.due))
	}
}

// stopProbes stops the timer of the probes.
func (s *Sender) stopProbes() {
	if s.live.prober.on {
		s.Probes.Set(s.place(), unit.Never)
	}
}

// place returns the index in Timers and Arbiter.
func (s *Sender) place() int { return int(s.index) }

// Started reports whether the flow has begun.
func (s *Sender) Started() bool { return s.started }

// Done reports whether the flow has ended.
func (s *Sender) Done() bool { return s.done }

// InFlight returns the payload sent and not acknowledged. A sender that sprays may take it for slightly
// less than 0.
func (s *Sender) InFlight() unit.Bytes { return s.inFlight }

// Fly counts payload as in flight; a negative count has arrived.
func (s *Sender) Fly(payload unit.Bytes) { s.inFlight += payload }

// Mode returns the notification mode; the sender must not be done.
func (s *Sender) Mode() cc.Notification { return s.live.mode }

// Packet returns the fields common to all packets; the sender must not be done.
func (s *Sender) Packet() *frame.Packet { return &s.live.packet }

// Ready returns the first instant at which the pacer allows a packet.
func (s *Sender) Ready() unit.Time { return s.pacer.next() }

// Admits reports whether the window has room for payload. It always has room if nothing is in
// flight.
func (s *Sender) Admits(payload unit.Bytes) bool {
	return s.live.window == cc.NoWindow || s.inFlight <= 0 || s.inFlight+payload <= s.live.window
}

// Telemetry adds the request for telemetry to a data packet.
func (s *Sender) Telemetry(f *frame.Frame) {
	if f.Opcode().IsData() {
		f.Carry(s.live.carrier, s.live.hops)
	}
}

// Sent counts a packet of the given length, and signals the reaction point.
func (s *Sender) Sent(now unit.Time, length, payload unit.Bytes, out *fabric.Out) {
	s.count(now, length)
	s.Signal(now, cc.Signal{Kind: cc.Sent, Bytes: length + s.Overhead, Payload: payload}, out)
}

// count counts a packet, and makes the pacer wait for it.
func (s *Sender) count(now unit.Time, length unit.Bytes) {
	s.pacer.sent(now, length+s.Overhead)
	s.SentPackets++
	s.SentBytes += length
	s.armProbe(now)
}

// within counts payload towards the burst and reports whether the burst continues.
func (l *live) within(payload unit.Bytes) bool {
	if l.burst == 0 {
		return false
	}
	if l.left -= payload; l.left > 0 {
		return true
	}
	l.left = max(l.left+l.burst, 1)
	return false
}

// end releases what the sender needs only until it is done.
func (s *Sender) end() {
	s.stopProbes()
	s.done, s.live = true, nil
	s.Timers.Set(React, s.place(), unit.Never)
}

// Sample notes the bytes on the link since the last sample, as the pacer counts them. A
// frame counts at the start of its transmission.
func (s *Sender) Sample(now unit.Time, out *fabric.Out) {
	sent := s.unsampled()
	if sent == 0 {
		return
	}
	out.Note(fabric.Note{Event: fabric.NewSentSampled(sent), At: now, Flow: s.ID, Priority: s.Class})
	s.sampled += sent
}

// unsampled returns the bytes on the link since the last sample.
func (s *Sender) unsampled() unit.Bytes {
	return s.SentBytes + unit.Bytes(s.SentPackets)*s.Overhead - s.sampled
}

// SenderStats is a snapshot of a sending queue pair.
type SenderStats struct {
	Flow               fabric.FlowID
	Started, Completed bool
	Rate               unit.Rate // of the pacer
	Scheme             string
	InFlightBytes      unit.Bytes // payload sent and not acknowledged
	SenderCounters
	Entropy entropy.Counts // zero unless each packet has an entropy of its own
}

// Stats returns a snapshot without the counters of the entropy.
func (s *Sender) Stats() SenderStats {
	return SenderStats{
		Flow: s.ID, Started: s.started, Completed: s.done,
		Rate: s.pacer.rate, Scheme: s.scheme, InFlightBytes: max(s.inFlight, 0), SenderCounters: s.SenderCounters,
	}
}
