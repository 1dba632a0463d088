package nic

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/uet"
	"github.com/rackfab/rackfab/fabric/unit"
)

// byCredit configures a NIC for receiver credit.
func byCredit(c *Config) {
	c.Notification, c.Scheme = cc.NotifyCredit, "cbrc"
	c.CC.Credit.BaseRTT = 25 * us
}

func isRequest(f *frame.Frame) bool {
	return f.Class() == frame.ClassUET && f.UETType() == frame.UETRequest
}

func isControl(kind frame.UETControlType) func(*frame.Frame) bool {
	return func(f *frame.Frame) bool {
		return f.Class() == frame.ClassUET && f.UETType() == frame.UETControl && f.UETControl() == kind
	}
}

func (b *fabricBench) completed() (at []unit.Time) {
	for _, n := range b.notes[0] {
		if n.Kind == fabric.Completed {
			at = append(at, n.At)
		}
	}
	return at
}

func to(id fabric.FlowID, from, host int) FlowConfig {
	return FlowConfig{ID: id, From: from, To: host, Size: Endless, Source: 49152, DSCP: dataDSCP}
}

// CBRC-2: a single flow starts at once and runs at 0.99 of its receiver's link rate.
func TestCreditGivesASingleFlowTheLink(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, 10*unit.Megabyte)}, byCredit)
	b.run(5 * unit.Millisecond)
	done := b.completed()
	if len(done) != 1 {
		t.Fatal("the flow does not complete")
	}
	if first := b.from(0, isRequest)[0].start; first != 0 {
		t.Errorf("the first packet leaves at %v, want at once", first)
	}
	wire := 10_000 * unit.Bytes(1000+frame.UETHeaders+frame.FCSLen)
	if rate := unit.Over(wire, done[0]); rate < testRate*97/100 || rate > testRate {
		t.Errorf("%v, want 0.99 of %v", rate, testRate)
	}
}

// CBRC-1, CBRC-2: the receiver shares its link among the senders. After the speculative
// start, the arriving rate does not exceed the link rate.
func TestCreditSharesTheReceiver(t *testing.T) {
	b := newBench(t, 3, []FlowConfig{to(0, 0, 2), to(1, 1, 2)}, byCredit)
	b.run(2 * unit.Millisecond)
	var bytes [2]unit.Bytes
	for _, f := range b.sent {
		if f.from < 2 && f.start >= unit.Millisecond && isRequest(&f.Frame) {
			bytes[f.from] += f.Len()
		}
	}
	rates := [2]unit.Rate{unit.Over(bytes[0], unit.Millisecond), unit.Over(bytes[1], unit.Millisecond)}
	if sum := rates[0] + rates[1]; sum > testRate || sum < testRate*98/100 {
		t.Errorf("%v in all, want 0.99 of %v", sum, testRate)
	}
	if d := rates[0] - rates[1]; d < -gbps/10 || d > gbps/10 {
		t.Errorf("%v and %v, want equal shares", rates[0], rates[1])
	}
}

// A sender that does not speculate requests credit first, and every request is answered
// with credit.
func TestSenderRequestsCredit(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, 100_000)}, byCredit, func(c *Config) { c.CC.Credit.Start = credit.StartAsked })
	b.run(unit.Millisecond)
	requests := b.from(0, isControl(frame.UETCreditRequest))
	if len(requests) != 1 || requests[0].start != 0 {
		t.Fatalf("%d requests for credit, want 1 at once", len(requests))
	}
	if first := b.from(0, isRequest)[0].start; first < 2*testDelay {
		t.Errorf("data at %v, before credit can have arrived", first)
	}
	if len(b.completed()) != 1 {
		t.Error("the flow does not complete")
	}
}

// All data arrives once and in order in spite of a lost credit, ACK or packet.
func TestCreditSurvivesLoss(t *testing.T) {
	for name, lost := range map[string]func(*frame.Frame) bool{
		"credit":  isControl(frame.UETCredit),
		"request": isRequest,
		"any":     func(*frame.Frame) bool { return true },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 2, []FlowConfig{flow(0, 200_000), flow(1, 200_000)}, byCredit, func(c *Config) {
				c.Timeout = unit.Millisecond
				c.CC.Credit.Window = 20 * unit.Kilobyte
			})
			seen := 0
			b.tap = func(_ int, f *frame.Frame) bool {
				if !lost(f) {
					return true
				}
				seen++
				return seen%7 != 0
			}
			b.run(500 * unit.Millisecond)
			if len(b.completed()) != 2 {
				t.Fatalf("%d of 2 flows completed", len(b.completed()))
			}
			if s := b.nics[1].Stats(); s.Receivers[0].DeliveredBytes != 200_000 || s.Receivers[1].DeliveredBytes != 200_000 {
				t.Errorf("delivered %v and %v", s.Receivers[0].DeliveredBytes, s.Receivers[1].DeliveredBytes)
			}
		})
	}
}

// CBRC-5, CBRC-21, CBRC-24, CBRC-25, CBRC-28: a sender that holds more than the threshold
// sets target_pull to all ones, or all zeros, on its data packets. All ones, and the targets,
// which wrap around, have the configured width.
func TestExcessIsSignalledInTheTarget(t *testing.T) {
	for _, tt := range []struct {
		excess  credit.Excess
		counter credit.Counter
		want    uint32
	}{
		{credit.ExcessOnes, credit.UETCounter, 0xFFFFFF},
		{credit.ExcessZeros, credit.UETCounter, 0},
		{credit.ExcessOnes, 12, 0xFFF},
		{credit.ExcessZeros, 12, 0},
	} {
		flows := []FlowConfig{to(0, 0, 1), to(1, 0, 2), to(2, 0, 3)}
		b := newBench(t, 4, flows, byCredit, func(c *Config) {
			c.CC.Credit.AIMD, c.CC.Credit.Excess, c.CC.Credit.Counter = true, tt.excess, tt.counter
			c.CC.Credit.Threshold = 20_000
		})
		b.run(unit.Millisecond)
		signalled, wide := 0, false
		for _, f := range b.from(0, isRequest) {
			if f.CreditTarget() == tt.want {
				signalled++
			}
			wide = wide || f.CreditTarget()>>tt.counter != 0
		}
		all := len(b.from(0, isRequest))
		if signalled == 0 || signalled == all || wide {
			t.Errorf("%s of %d bits: %d of %d packets signal excess, want some; wider targets: %v", tt.excess, tt.counter, signalled, all, wide)
		}
		if got := b.nics[0].qps.Accounts.Indicated(); got != int64(signalled) {
			t.Errorf("%s of %d bits: %d counted, %d on the wire", tt.excess, tt.counter, got, signalled)
		}
		if got := b.delivered(1); got < 1100*unit.Kilobyte {
			t.Errorf("%d bits: %v delivered, want more than the 1.05 MB that the counter spans", tt.counter, got)
		}
	}
}

// CBRC-34: credit that a sender cannot spend is noted as wasted.
func TestWastedCreditIsNoted(t *testing.T) {
	b := newBench(t, 4, []FlowConfig{to(0, 0, 1), to(1, 0, 2), to(2, 0, 3)}, byCredit)
	b.run(2 * unit.Millisecond)
	wasted := unit.Bytes(0)
	for _, n := range b.notes[0] {
		if n.Kind == fabric.CreditWasted {
			wasted += n.Bytes()
		}
	}
	var total unit.Bytes
	for i := range b.nics[0].qps.Senders {
		total += b.nics[0].qps.Accounts.Add(uet.Sender{To: i + 1}).Balance(b.now).Wasted()
	}
	if wasted == 0 || wasted > total {
		t.Errorf("events report %d bytes wasted of %d", wasted, total)
	}
}

// A UET packet that is unexpected, or of an unknown flow, is counted and has no other
// effect.
func TestInvalidUETPacketsAreDropped(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, 10_000)}, byCredit)
	b.run(unit.Millisecond)
	good := b.from(0, isRequest)[0].Frame
	var u frame.UET
	if err := u.Parse(&good); err != nil {
		t.Fatal(err)
	}
	malformed := []func(*frame.UET){
		func(u *frame.UET) { u.Flow = 9 },
		func(u *frame.UET) { u.Header.Src = frame.HostIP(5) },
		func(u *frame.UET) { u.Header.Dst = frame.HostIP(5) },
		func(u *frame.UET) { u.PSN, u.First, u.Offset = 10, false, 77 },
	}
	for i, corrupt := range malformed {
		v := u
		corrupt(&v)
		var f frame.Frame
		v.Build(&f)
		b.inject(1, b.now+unit.Time(i+1)*us, f)
	}
	b.run(2 * unit.Millisecond)
	if got := b.nics[1].Stats().Malformed; got != uint64(len(malformed)) {
		t.Errorf("%d of %d counted as malformed", got, len(malformed))
	}
}

// CBRC-20: consecutive means in the order of arrival, or in the order of PSNs. In the
// latter case an indicated packet past a gap does not count.
func TestOrderOfIndicatedPackets(t *testing.T) {
	for order, want := range map[credit.Order]int64{credit.OrderArrival: 3, credit.OrderPSN: 1} {
		b := newBench(t, 2, []FlowConfig{flow(0, unit.Megabyte)}, byCredit, func(c *Config) {
			c.CC.Credit.AIMD, c.CC.Credit.Order = true, order
		})
		for i, psn := range []uint32{0, 5, 7} {
			u := frame.UET{
				Header: *b.nics[0].qps.Senders[0].Packet(), Type: frame.UETRequest, PSN: psn, Target: 0xFFFFFF,
				First: psn == 0, Offset: psn * 1000, Length: 1_000_000,
			}
			u.Header.Payload = 1000
			var f frame.Frame
			u.Build(&f)
			var out fabric.Out
			b.nics[1].Arrive(unit.Time(i)*us, 0, &f, &out)
		}
		if got := b.nics[1].qps.Grantor.Add(0, 0).Stats().Indicated; got != want {
			t.Errorf("order %s: %d indicated packets counted, want %d", order, got, want)
		}
	}
}
