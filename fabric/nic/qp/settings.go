package qp

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/entropy"
	"github.com/rackfab/rackfab/fabric/unit"
)

// maxRate keeps the arithmetic of the pacer in 64 bits.
const maxRate = 100_000 * unit.GigabitPerSec

// maxClock bounds the offset of a clock: timestamps wrap around after that time.
const maxClock = unit.Time(1<<32-1) * unit.Nanosecond

// rtts are the ways to measure the round-trip time.
var rtts = []cc.RTT{cc.RTTNone, cc.RTTEcho, cc.RTTReceiver, cc.RTTOffset}

// Settings are the settings that all queue pairs of a NIC share.
type Settings struct {
	Host     int // index of the host: frame.HostMAC(Host), frame.HostIP(Host)
	Rate     unit.Rate
	Overhead unit.Bytes // per frame on the link, in addition to frame.Len
	// Payload is the largest payload of a data packet, in bytes.
	Payload unit.Bytes
	// AckEvery is the number of data packets that one ACK covers. The last packet of
	// a message and every packet with AckReq set are acknowledged at once.
	AckEvery int
	// PaceByGap makes a flow that was delayed wait a whole frame time after its next
	// frame, and changes of rate leave the next frame where it is; see pacer. Otherwise the flow may
	// send one more frame at once.
	PaceByGap bool
	// Timeout is the retransmission timeout; 0 disables it.
	Timeout unit.Time
	// ControlDSCP is the DSCP of ACK, NAK and CNP; data packets have the flow's DSCP.
	ControlDSCP uint8
	// DSCP maps code points to traffic classes, as PAUSE frames name them.
	DSCP [64]fabric.Priority
	// TrimmedLastHop holds the code points, one bit each, of packets trimmed at the last hop.
	TrimmedLastHop uint64

	// RTT selects how timestamps are used to measure the round-trip time. Unless it is
	// cc.RTTNone, data packets sent here carry timestamps, or senders send probes.
	RTT cc.RTT
	// LaterRTT replaces RTT for flows that a change switches to a scheme that needs
	// RTT samples.
	LaterRTT cc.RTT
	// Probe is the interval between the RTT probes of a sender; 0 means that the data packets
	// and their ACKs carry the timestamps.
	Probe unit.Time
	// Clock is the offset of the NIC's clock ahead of the fabric's. It affects
	// timestamps only.
	Clock unit.Time

	// Path returns the path to another host; nil if paths are unknown, and reaction
	// points learn Rate and Payload only.
	Path func(to int) cc.Path

	Notification cc.Notification
	Scheme       string // of flows that start at this host
	CC           cc.Params
	// Entropy is the way in which flows that start here choose the entropy of each packet, out
	// of Entropies; "" is cc.EntropyFlow.
	Entropy   cc.Entropy
	Entropies int
	// Burst is the payload that a flow sends back to back before pacing applies; 0
	// paces each packet.
	Burst unit.Bytes
}

// ClassOf returns the traffic class of a frame.
func (s *Settings) ClassOf(f *frame.Frame) fabric.Priority { return s.DSCP[f.DSCP()&63] }

// AtLastHop reports whether a packet that arrived trimmed was trimmed at the last hop.
func (s *Settings) AtLastHop(f *frame.Frame) bool { return s.TrimmedLastHop>>(f.DSCP()&63)&1 != 0 }

// ControlClass returns the traffic class of control packets.
func (s *Settings) ControlClass() fabric.Priority { return s.DSCP[s.ControlDSCP] }

// Stamp returns the reading of the NIC's clock at now.
func (s *Settings) Stamp(now unit.Time) frame.Stamp { return frame.StampOf(now + s.Clock) }

// PacketTo returns a packet with the fields common to all packets from this host to
// another.
func (s *Settings) PacketTo(host int, source uint16) frame.Packet {
	return frame.Packet{
		SrcMAC: frame.HostMAC(s.Host), DstMAC: frame.HostMAC(host),
		Src: frame.HostIP(s.Host), Dst: frame.HostIP(host),
		TTL: frame.DefaultTTL, SrcPort: source,
		BTH: frame.BTH{PKey: frame.DefaultPKey},
	}
}

// pathTo returns the path to a host.
func (s *Settings) pathTo(host int) cc.Path {
	if s.Path == nil {
		return cc.Path{Rate: s.Rate, MTU: s.Payload}
	}
	return s.Path(host)
}

// Spreads reports whether flows that start here choose an entropy for each packet.
func (s *Settings) Spreads() bool { return s.Entropy != "" && s.Entropy != cc.EntropyFlow }

// Validate returns all faults of the settings, or nil. The parameters of a scheme are checked
// where it is used.
func (s *Settings) Validate() error {
	errs := []error{
		want(0 <= s.Host && s.Host < frame.MaxHosts, "host %d, want 0 to %d", s.Host, frame.MaxHosts-1),
		want(0 < s.Rate && s.Rate <= maxRate, "rate %v, want more than 0 and at most %v", s.Rate, maxRate),
		want(-frame.MinLen < s.Overhead && s.Overhead <= unit.Kilobyte, "link overhead %v, want more than -%d bytes and at most 1 KB", s.Overhead, frame.MinLen),
		want(0 < s.Payload && s.Payload <= frame.MaxPayload && (s.Payload%4 == 0 || s.Notification.UET()),
			"payload %v, want a multiple of 4 bytes up to %d", s.Payload, frame.MaxPayload),
		want(s.AckEvery > 0, "one ACK covers %d packets, want at least 1", s.AckEvery),
		want(s.Timeout >= 0, "retransmission timeout %v, want 0 or more", s.Timeout),
		want(s.ControlDSCP < 64, "control DSCP %d, want 0 to 63", s.ControlDSCP),
		want(s.Probe == 0 || s.Probe >= cc.ShortestProbe, "interval of RTT probes %v, want 0 or at least %v", s.Probe, cc.ShortestProbe),
		want(slices.Contains(rtts, s.RTT), "RTT measurement %q, want one of %q", s.RTT, rtts),
		want(0 <= s.Clock && s.Clock <= maxClock, "clock offset %v, want 0 to %v", s.Clock, maxClock),
		s.validateNotification(),
		s.validateEntropy(),
		want(0 <= s.Burst && s.Burst <= unit.Megabyte, "burst of %v, want 0 to 1 MB", s.Burst),
	}
	for i, class := range s.DSCP {
		errs = append(errs, want(class < fabric.Priorities, "DSCP %d: class %d, want 0 to %d", i, class, fabric.Priorities-1))
	}
	return errors.Join(errs...)
}

// want returns an error unless ok.
func want(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}

func (s *Settings) validateEntropy() error {
	switch {
	case !s.Spreads():
		return nil
	case !slices.Contains(cc.Entropies, s.Entropy):
		return fmt.Errorf("entropy %q, want one of %q", s.Entropy, cc.Entropies)
	}
	return entropy.Validate(s.Entropies)
}

func (s *Settings) validateNotification() error {
	switch s.Notification {
	case "", cc.NotifyNone, cc.NotifyEcho, cc.NotifyLoad:
		return nil
	case cc.NotifyDCQCN:
		return s.CC.DCQCN.Validate()
	case cc.NotifyCETH:
		return errors.Join(s.CC.CETH.Validate(), s.CC.DCQCN.Validate())
	case cc.NotifyPCN:
		return s.CC.PCN.Validate()
	case cc.NotifyCredit:
		return errors.Join(s.CC.Credit.Validate(), s.validateUET())
	case cc.NotifyNSCC:
		return s.validateUET()
	}
	return fmt.Errorf("unknown notification %q, want %q, %q, %q, %q, %q, %q, %q or %q",
		s.Notification, cc.NotifyNone, cc.NotifyEcho, cc.NotifyLoad, cc.NotifyDCQCN, cc.NotifyCETH, cc.NotifyPCN, cc.NotifyCredit, cc.NotifyNSCC)
}

func (s *Settings) validateUET() error {
	return want(s.Payload <= frame.MaxUETPayload, "payload %v, want at most %d bytes under UET", s.Payload, frame.MaxUETPayload)
}
