package nic

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// MRC-1, MRC-2: whatever packets and ACKs are lost or delayed, each flow that sprays completes, and its payload is
// delivered once. If nothing is lost, nothing is sent again, however late packets are: reordering
// is no loss.
func TestSprayingDeliversEverythingOnce(tb *testing.T) {
	rapid.Check(tb, func(t *rapid.T) {
		flows := []FlowConfig{flow(0, 100_000), flow(1, unit.Bytes(rapid.Int64Range(1, 200_000).Draw(t, "size")))}
		for i := range flows {
			flows[i].Recovery = fabric.Spraying
		}
		every, rule := unit.Bytes(rapid.Int64Range(1, 40_000).Draw(t, "every")), rapid.SampledFrom([]cc.Loss{cc.LossTrimmed, cc.LossSLEEK}).Draw(t, "loss rule")
		scheme := rapid.SampledFrom([]string{"pfc", "mrc"}).Draw(t, "scheme")
		k := drawImpairment(t, 60, 150*us)
		b := newBench(tb, 2, flows, func(c *Config) {
			c.Scheme, c.RTT = scheme, cc.RTTEcho
			c.CC.MRC.AckBytes, c.CC.MRC.Loss, c.CC.MRC.RTO = every, rule, 400*us
			if k.loss == 0 {
				c.CC.MRC.Loss = cc.LossTrimmed
			}
		})
		b.deliversOnce(t, flows, k)
		if k.loss == 0 && (b.resent() > 0 || b.nics[0].Stats().LocalAckTimeoutErr > 0) {
			t.Fatalf("%d packets are sent again, although none is lost", b.resent())
		}
	})
}

// MRC-5: the sample of the round-trip time leaves out the time that the receiver takes to send the
// ACK.
func TestServiceTimeIsNoRoundTrip(t *testing.T) {
	one := flow(0, 50_000)
	one.Recovery = fabric.Spraying
	b := newBench(t, 2, []FlowConfig{one}, func(c *Config) { c.RTT, c.ControlRate = cc.RTTEcho, 100_000; c.CC.MRC.AckBytes = 1 })
	b.run(unit.Millisecond)
	waited := false
	for _, s := range b.from(1, func(f *frame.Frame) bool { return f.Opcode() == frame.Acknowledge }) {
		k, ok := s.Receipt()
		since := s.start - unit.Time(s.Timestamps().Received)*unit.Nanosecond
		if !ok || unit.Time(k.Service)*frame.ServiceUnit > since || unit.Time(k.Service+1)*frame.ServiceUnit < since-unit.Nanosecond {
			t.Fatalf("service time %d x 128 ns, want %v", k.Service, since)
		}
		waited = waited || since > 5*us
	}
	if !waited {
		t.Error("no ACK has waited")
	}
}
