package nic

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// byUEC configures a NIC for a scheme of Ultra Ethernet. windowed adds the window of NSCC to rccc.
func byUEC(scheme string, windowed bool) func(*Config) {
	return func(c *Config) {
		s, _ := cc.Find(scheme)
		c.Notification, c.Scheme = s.Notification, scheme
		c.CC.NSCC.Credit = windowed
		c.CC = s.Complete(c.CC, func() unit.Time { return 25 * us }, 25*us)
	}
}

// uec are the schemes of Ultra Ethernet.
var uec = map[string]func(*Config){"nscc": byUEC("nscc", false), "rccc": byUEC("rccc", false), "rccc with nscc": byUEC("rccc", true)}

func bySpraying(f FlowConfig) FlowConfig {
	f.Recovery = fabric.Spraying
	return f
}

// NSCC-20: over UET, whatever packets, ACKs and grants of credit are lost or delayed, every flow completes
// and its payload is delivered once. If nothing is lost, nothing is sent again.
func TestUnorderedUETDeliversEverythingOnce(tb *testing.T) {
	for name, by := range uec {
		tb.Run(name, func(tb *testing.T) {
			rapid.Check(tb, func(t *rapid.T) {
				flows := []FlowConfig{bySpraying(flow(0, 100_000)), bySpraying(flow(1, unit.Bytes(rapid.Int64Range(1, 200_000).Draw(t, "size"))))}
				b, k := newBench(tb, 2, flows, by, func(c *Config) { c.CC.MRC.RTO = 400 * us }), drawImpairment(t, 60, 150*us)
				if b.deliversOnce(t, flows, k); k.loss == 0 && b.resent() > 0 {
					t.Fatalf("%d packets are sent again, although none is lost", b.resent())
				}
			})
		})
	}
}

// NSCC-21: requests are unordered (RUD_CC_REQ), with a credit target under receiver credit alone. ACKs
// carry the state of NSCC if senders have its window, else that of credit; the former counts the
// received bytes in units of 256, rounded up.
func TestUnorderedUETOnTheWire(t *testing.T) {
	for name, by := range uec {
		b := newBench(t, 2, []FlowConfig{bySpraying(flow(0, 50_000))}, by)
		b.run(unit.Millisecond)
		want := frame.StateNSCC
		if name == "rccc" {
			want = frame.StateCredit
		}
		for _, f := range b.from(0, func(f *frame.Frame) bool { return f.UETType().IsRequest() }) {
			if f.UETType() != frame.UETUnordered || (f.CreditTarget() != 0) != (name != "nscc") {
				t.Errorf("%s: request of type %d, target %d", name, f.UETType(), f.CreditTarget())
			}
		}
		acks := b.from(1, func(f *frame.Frame) bool { return f.UETType() == frame.UETAck })
		last := acks[len(acks)-1]
		k := last.UETReceipt()
		if last.AckState() != want || last.UETPSN() != 49 || want == frame.StateNSCC && k.Received != (50_000+255)/256 || k.OutOfOrder != 0 {
			t.Errorf("%s: the last of %d ACKs has state %d, PSN %d, %+v", name, len(acks), last.AckState(), last.UETPSN(), k)
		}
	}
}

// NSCC-22: a packet that is missing is reported by a SACK relative to the cumulative PSN, and by no NACK.
func TestUnorderedUETReportsGaps(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{bySpraying(flow(0, 50_000))}, uec["nscc"], func(c *Config) { c.CC.MRC.AckBytes = 1 })
	b.tap = func(from int, f *frame.Frame) bool {
		return from != 0 || f.UETPSN() != 3 || f.UETResent()
	}
	b.run(5 * unit.Millisecond)
	seen := false
	for _, f := range b.from(1, func(f *frame.Frame) bool { return f.Class() == frame.ClassUET }) {
		switch f.UETType() {
		case frame.UETNack:
			t.Error("a NACK reports a gap")
		case frame.UETAck:
			if sack := f.UETSACK(); f.UETReceipt().PSN == 10 && f.UETPSN() == 2 {
				seen = seen || sack.Base == 4 && sack.Bitmap == 0x7f<<57 && f.UETReceipt().OutOfOrder == 7
			}
		default:
		}
	}
	if !seen {
		t.Error("no SACK reports packets 4 to 10")
	}
	again := b.from(0, func(f *frame.Frame) bool { return f.UETResent() })
	if len(again) != 1 || again[0].UETPSN() != 3 {
		t.Errorf("%d packets are sent again", len(again))
	}
}

// NSCC-23: a sample of the RTT leaves out the time that the receiver takes to send the ACK, without a
// timestamp in any packet.
func TestServiceTimeOverUET(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{bySpraying(flow(0, 50_000))}, uec["nscc"], func(c *Config) {
		c.ControlRate, c.CC.MRC.AckBytes = 100_000, 1
	})
	b.run(unit.Millisecond)
	arrived := map[uint32]unit.Time{}
	for _, f := range b.from(0, func(f *frame.Frame) bool { return f.UETType().IsRequest() && !f.UETResent() }) {
		arrived[f.UETPSN()] = f.Arrival
	}
	waited := false
	for _, f := range b.from(1, func(f *frame.Frame) bool { return f.UETType() == frame.UETAck }) {
		k := f.UETReceipt()
		if k.Resent {
			continue
		}
		since := f.start - arrived[k.PSN]
		if unit.Time(k.Service)*frame.ServiceUnit > since || unit.Time(k.Service+1)*frame.ServiceUnit <= since {
			t.Fatalf("service time of packet %d is %d x 128 ns, want %v", k.PSN, k.Service, since)
		}
		waited = waited || since > 5*us
	}
	if !waited {
		t.Error("no ACK has waited")
	}
}

// RCCC-3: with the window of NSCC, requests ask for credit for the window and one packet at most; without,
// for the window of credit.
func TestCreditTargetUnderAWindow(t *testing.T) {
	for name, most := range map[string]unit.Bytes{"rccc": 187_500, "rccc with nscc": 60_000} {
		b := newBench(t, 2, []FlowConfig{bySpraying(flow(0, 10*unit.Megabyte))}, uec[name], func(c *Config) {
			c.CC.NSCC.BaseRTT, c.CC.NSCC.MaxWindow = 10*us, 1 // 50 KB at 40 Gbit/s
		})
		b.run(500 * us)
		largest := unit.Bytes(0)
		held := int64(0)
		for _, f := range b.sent {
			switch {
			case f.from == 1 && f.Class() == frame.ClassUET && f.UETType() == frame.UETControl:
				held = max(held, int64(f.ControlCredit()))
			case f.from == 0 && f.UETType().IsRequest():
				largest = max(largest, unit.Bytes(int64(f.CreditTarget())-held)*256)
			}
		}
		if largest > most+2000 || largest < most/3 {
			t.Errorf("%s: requests ask for up to %v in advance, want about %v", name, largest, most)
		}
	}
}

// MRC-11: under credit, a packet asks for an ACK if no credit is left after it.
func TestThePacketThatUsesUpTheCreditAsksForAnACK(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{bySpraying(flow(0, 200_000))}, uec["rccc"], func(c *Config) { c.CC.Credit.Start = credit.StartAsked })
	b.run(unit.Millisecond)
	var spent unit.Bytes
	asking := 0
	requests := b.from(0, func(f *frame.Frame) bool { return f.UETType().IsRequest() })
	for i, f := range requests[:len(requests)-1] {
		granted := uint32(0)
		for _, g := range b.from(1, func(*frame.Frame) bool { return true }) {
			if g.Arrival > f.start {
				continue
			}
			if g.UETType() == frame.UETAck {
				granted = max(granted, g.AckCredit())
			} else {
				granted = max(granted, g.ControlCredit())
			}
		}
		spent += f.Len() + b.nics[0].cfg.Overhead
		if left := unit.Bytes(granted)*credit.Quantum - spent; f.UETAckReq() != (left <= 0) {
			t.Errorf("request %d asks for an ACK: %v; %v of credit left", i, f.UETAckReq(), left)
		}
		if f.UETAckReq() {
			asking++
		}
	}
	if asking < 10 {
		t.Errorf("%d requests ask for an ACK", asking)
	}
}

// NSCC-22: a trimmed packet is answered by a NACK with its PSN and code 0x01, or 0x02 if it was trimmed at
// the last hop. It is sent again once.
func TestNACKOfATrimmedPacketOverUET(t *testing.T) {
	for dscp, want := range map[uint8]frame.UETCode{40: frame.UETTrimmed, 41: frame.UETTrimmedLastHop} {
		b := newBench(t, 2, []FlowConfig{bySpraying(flow(0, 50_000))}, uec["nscc"], func(c *Config) {
			c.TrimmedLastHop = 1 << 41
		})
		b.tap = func(from int, f *frame.Frame) bool {
			if from == 0 && f.UETPSN() == 3 && !f.UETResent() {
				f.Trim(64, dscp)
			}
			return true
		}
		b.run(unit.Millisecond)
		nacks := b.from(1, func(f *frame.Frame) bool { return f.UETType() == frame.UETNack })
		again := b.from(0, func(f *frame.Frame) bool { return f.UETResent() })
		if len(nacks) != 1 || nacks[0].UETPSN() != 3 || nacks[0].UETCode() != want || len(again) != 1 || again[0].UETPSN() != 3 {
			t.Errorf("DSCP %d: %d NACKs, %d packets sent again", dscp, len(nacks), len(again))
		}
	}
}

// MRC-7, MRC-13, NSCC-22: a NACK acknowledges nothing. The receiver acknowledges the packets that await an ACK before it, in
// answer to the newest of them, and the others at once while the trimmed packet is missing. Under credit
// alone, which has no window that NACKs close, these wait.
func TestNACKsLeaveNoPacketUnacknowledged(t *testing.T) {
	for name, atOnce := range map[string]bool{"nscc": true, "rccc with nscc": true, "rccc": false} {
		b := newBench(t, 2, []FlowConfig{bySpraying(flow(0, 50_000))}, uec[name], func(c *Config) {
			c.CC.MRC.AckBytes, c.CC.Credit.Start = unit.Megabyte, credit.StartAsked
		})
		came := map[uint32]unit.Time{}
		b.tap = func(from int, f *frame.Frame) bool {
			switch {
			case from != 0 || !f.UETType().IsRequest():
			case f.UETPSN() == 6 && !f.UETResent():
				f.Trim(64, dataDSCP)
			default:
				came[f.UETPSN()] = f.Arrival
			}
			return true
		}
		b.run(unit.Millisecond)
		answers := b.from(1, func(f *frame.Frame) bool { return f.UETType() == frame.UETAck || f.UETType() == frame.UETNack })
		nack := slices.IndexFunc(answers, func(f sentFrame) bool { return f.UETType() == frame.UETNack })
		before := answers[nack-1]
		if k := before.UETReceipt(); before.UETPSN() != 5 || k.PSN != 5 || atOnce && unit.Time(k.Service) != (before.start-came[5])/frame.ServiceUnit {
			t.Errorf("%s: the NACK follows the ACK of %d in answer to %+v", name, before.UETPSN(), k)
		}
		answered := 0
		for _, ack := range answers[nack+1:] {
			if came[ack.UETReceipt().PSN] < came[6] {
				answered++
			}
		}
		missing := 0
		for psn, at := range came {
			if psn > 6 && at < came[6] {
				missing++
			}
		}
		if missing < 4 || (answered == missing) != atOnce {
			t.Errorf("%s: %d of %d packets are acknowledged while one is missing", name, answered, missing)
		}
	}
}

// RCCC-2: the credit that a trimmed packet asks for is granted: with every packet trimmed, the receiver grants
// without a credit request.
func TestTrimmedPacketsAskForCredit(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{bySpraying(flow(0, 500_000))}, uec["rccc"], func(c *Config) { c.CC.Credit.Retry = unit.Second })
	b.tap = func(from int, f *frame.Frame) bool {
		return from != 0 || f.Trim(64, dataDSCP) > 0
	}
	b.run(100 * us)
	grants := b.from(1, func(f *frame.Frame) bool { return f.UETType() == frame.UETControl })
	if received := b.nics[1].Stats().Receivers[0]; len(grants) == 0 || received.ReceivedPackets != 0 {
		t.Errorf("%d grants, %+v", len(grants), received)
	}
}
