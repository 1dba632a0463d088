package nic

import (
	"slices"
	"testing"

	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

const probeEvery = 20 * us

func isProbe(f *frame.Frame) bool  { return f.Opcode() == frame.RTTProbe }
func isProbed(f *frame.Frame) bool { return f.Opcode() == frame.RTTResponse }
func probing(c *Config)            { c.Probe = probeEvery }

// probes is a reaction point that records the samples by probes and by ACKs.
type probes struct {
	*cc.Fixed
	probed, acked []unit.Time
}

func (p *probes) Handle(_ unit.Time, s cc.Signal) {
	switch {
	case s.Kind == cc.Probe:
		p.probed = append(p.probed, s.RTT)
	case s.RTT != 0:
		p.acked = append(p.acked, s.RTT)
	}
}

// probed runs flow 0 with probes.
func probed(t *testing.T, form cc.RTT, size unit.Bytes, tap func(from int, f *frame.Frame) bool) (*fabricBench, *probes) {
	t.Helper()
	b := newBench(t, 2, []FlowConfig{flow(0, size)}, probing, func(c *Config) { c.RTT = form })
	p := &probes{Fixed: cc.NewFixed(testRate)}
	b.nics[0].qps.Senders[0].SetReaction(p)
	b.tap = tap
	b.run(unit.Millisecond)
	return b, p
}

// RTTX-14: while data is in flight, a sender sends a probe per interval, in the flow's class and
// with its addresses, ports and queue pair, and with T_s. The response is sent in the control
// class, and has the same number and T_s, and the probe's arrival as T_r.
func TestProbesOnTheWire(t *testing.T) {
	b, _ := probed(t, cc.RTTEcho, 500_000, nil) // 107 us at line rate
	data, sent, answers := b.from(0, isData), b.from(0, isProbe), b.from(1, isProbed)
	if len(sent) != 6 || len(answers) != 6 {
		t.Fatalf("%d probes and %d responses, want 6 of both in 117us", len(sent), len(answers))
	}
	for i := range sent {
		var probe, answer frame.Packet
		if err := probe.Parse(&sent[i].Frame); err != nil {
			t.Fatal(err)
		}
		if err := answer.Parse(&answers[i].Frame); err != nil {
			t.Fatal(err)
		}
		if late := sent[i].start - unit.Time(i)*probeEvery; late < 0 || late > us {
			t.Errorf("probe %d starts at %v", i, sent[i].start)
		}
		stamp := frame.StampOf(sent[i].start)
		if probe.Timestamps != (frame.Timestamps{Sent: stamp}) || probe.BTH.PSN != uint32(i) || probe.ECN != frame.NotECT {
			t.Errorf("probe %d: %+v", i, probe)
		}
		path := func(f *frame.Frame) [5]uint32 {
			return [5]uint32{uint32(f.SrcIP()), uint32(f.DstIP()), uint32(f.SrcPort()), f.DestQP(), uint32(f.DSCP())}
		}
		if got, want := path(&sent[i].Frame), path(&data[0].Frame); got != want {
			t.Errorf("probe %d: addresses, port, queue pair and DSCP %v, want the flow's %v", i, got, want)
		}
		want := frame.Timestamps{Sent: stamp, Received: frame.StampOf(sent[i].Arrival)}
		if answer.Timestamps != want || answer.BTH.PSN != uint32(i) || answer.DSCP != ctrlDSCP || answer.BTH.DestQP != frame.SenderQP(0) {
			t.Errorf("response %d: %+v, want T_s and T_r %+v", i, answer, want)
		}
	}
	s, peer := b.nics[0].Stats(), b.nics[1].Stats()
	if got := [4]uint64{s.TxProbes, peer.RxProbes, peer.TxProbeResponses, s.RxProbeResponses}; got != [4]uint64{6, 6, 6, 6} {
		t.Errorf("counted %v", got)
	}
	for name, value := range s.Counters() {
		if name == "tx_probes" && value == 6 {
			return
		}
	}
	t.Error("tx_probes is not among the counters")
}

// RTTX-14: the probes replace the samples of ACKs: data and ACKs carry no timestamps.
func TestProbesReplaceSamplesOfACKs(t *testing.T) {
	forward := testRate.Serialise(70) + testDelay
	for form, want := range map[cc.RTT]unit.Time{cc.RTTReceiver: forward, cc.RTTEcho: 2 * forward} {
		b, p := probed(t, form, 50_000, nil) // less than an interval
		if len(p.probed) != 1 || len(p.acked) != 0 {
			t.Fatalf("%s: samples by probes %v, by ACKs %v", form, p.probed, p.acked)
		}
		// The response may wait for one ACK.
		if more := p.probed[0] - want; more <= -unit.Nanosecond || more > testRate.Serialise(66) {
			t.Errorf("%s: RTT %v, want %v", form, p.probed[0], want)
		}
		for _, f := range slices.Concat(b.from(0, isData), b.from(1, isACK)) {
			if f.Timestamped() {
				t.Fatalf("%s: %v has timestamps", form, f.Opcode())
			}
		}
	}
	// Without a method of measuring, and without an interval, there are no probes.
	for _, change := range []func(*Config){probing, func(c *Config) { c.RTT = cc.RTTEcho }} {
		b := newBench(t, 2, []FlowConfig{flow(0, 500_000)}, change)
		b.run(unit.Millisecond)
		if got := b.from(0, isProbe); len(got) != 0 {
			t.Errorf("%d probes", len(got))
		}
	}
}

// A lost probe or response is a missing sample; the flow completes as it would otherwise.
func TestLostProbesAreHarmless(t *testing.T) {
	whole, all := probed(t, cc.RTTEcho, 500_000, nil)
	for name, is := range map[string]func(*frame.Frame) bool{"probe": isProbe, "response": isProbed} {
		b, p := probed(t, cc.RTTEcho, 500_000, func(_ int, f *frame.Frame) bool { return !is(f) || f.PSN()%2 == 1 })
		if len(p.probed) != len(all.probed)/2 {
			t.Errorf("every other %s lost: %d samples, want half of %d", name, len(p.probed), len(all.probed))
		}
		if s := b.nics[0].Stats().Senders[0]; !s.Completed || s.SentPackets != whole.nics[0].Stats().Senders[0].SentPackets {
			t.Errorf("every other %s lost: %+v", name, s)
		}
	}
}

// While the flow's class is paused at most one probe waits, so that the control queue does not
// fill. Its T_s is the start of its transmission.
func TestPausedClassHoldsOneProbe(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, 500_000)}, probing, func(c *Config) { c.RTT = cc.RTTEcho })
	b.inject(0, 10*us, pfc(dataPrio, 65535)) // 839 us
	b.tap = func(_ int, f *frame.Frame) bool { return !isACK(f) || b.now > 850*us }
	b.run(840 * us)
	if got := len(b.from(0, isProbe)); got != 1 || b.nics[0].qps.Control.Len() != 1 {
		t.Errorf("in the pause: %d probes sent and %d packets waiting, want the first and one", got, b.nics[0].qps.Control.Len())
	}
	b.run(unit.Millisecond)
	for i, f := range b.from(0, isProbe) {
		if f.Timestamps().Sent != frame.StampOf(f.start) {
			t.Errorf("probe %d of %v: T_s %d", i, f.start, f.Timestamps().Sent)
		}
	}
}

// An idle flow sends no probes, and neither does one that has ended.
func TestNoProbesWithoutDataInFlight(t *testing.T) {
	b, _ := probed(t, cc.RTTEcho, 1000, nil)
	if got := len(b.from(0, isProbe)); got != 1 {
		t.Errorf("%d probes for one packet", got)
	}
	if at, ok := b.nics[0].Next(); ok {
		t.Errorf("the next event after the flow is at %v", at)
	}
}
