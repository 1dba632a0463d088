package nic

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// sampler is a reaction point that records the RTTs of its ACKs.
type sampler struct {
	*cc.Fixed
	rtts []unit.Time
}

func (s *sampler) Handle(_ unit.Time, signal cc.Signal) {
	if signal.Kind == cc.Ack {
		s.rtts = append(s.rtts, signal.RTT)
	}
}

// sampled runs flow 0 of the given size and returns the samples of its reaction point.
func sampled(t *testing.T, form cc.RTT, size unit.Bytes, tap func(from int, f *frame.Frame) bool, change ...func(*Config)) (*fabricBench, []unit.Time) {
	t.Helper()
	b := newBench(t, 2, []FlowConfig{flow(0, size)}, append(change, func(c *Config) { c.RTT = form })...)
	s := &sampler{Fixed: cc.NewFixed(testRate)}
	b.nics[0].qps.Senders[0].SetReaction(s)
	b.tap = tap
	b.run(unit.Millisecond)
	return b, s.rtts
}

// RTTX-15: the receiver echoes T_s, and the sender measures the RTT by its own clock: both
// propagation delays and both serialisation times, and nothing else on an idle path.
// RTTX-13: RTT = T_r - T_s is the forward path alone.
func TestRTTOfAnIdlePath(t *testing.T) {
	there := testRate.Serialise(dataHeader+16+8+1000) + testDelay
	back := testRate.Serialise(74) + testDelay
	for form, want := range map[cc.RTT]unit.Time{cc.RTTEcho: there + back, cc.RTTReceiver: there, cc.RTTNone: 0} {
		_, rtts := sampled(t, form, 1000, nil)
		if len(rtts) != 1 || rtts[0] > want || want-rtts[0] >= unit.Nanosecond {
			t.Errorf("form %q: samples %v, want %s cut to whole ns", form, rtts, want)
		}
	}
}

// RTTX-14: data packets carry T_s, the start of their transmission. The ACK returns T_s, and
// carries the arrival of the packet in T_r.
func TestTimestampsOnTheWire(t *testing.T) {
	b, _ := sampled(t, cc.RTTEcho, 100_000, nil)
	data, acks := b.from(0, isData), b.from(1, isACK)
	if len(data) != 100 || len(acks) != 100 {
		t.Fatalf("%d data packets, %d ACKs", len(data), len(acks))
	}
	for i := range data {
		sent := frame.StampOf(data[i].start)
		if got := data[i].Timestamps(); !data[i].Timestamped() || got != (frame.Timestamps{Sent: sent}) {
			t.Errorf("packet %d: %+v, want T_s %d", i, got, sent)
		}
		want := frame.Timestamps{Sent: sent, Received: frame.StampOf(data[i].Arrival)}
		if got := acks[i].Timestamps(); !acks[i].Timestamped() || got != want {
			t.Errorf("ACK %d: %+v, want %+v", i, got, want)
		}
	}
}

// An ACK has timestamps if and only if the data packet has them. A CNP never has them.
func TestNoTimestampsUnlessAsked(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, 100_000)}, pcn)
	b.run(unit.Millisecond)
	for _, f := range b.sent {
		if f.Timestamped() {
			t.Fatalf("%v has timestamps", f.Opcode())
		}
	}
	b = newBench(t, 2, []FlowConfig{flow(0, 100_000)}, pcn, func(c *Config) { c.RTT = cc.RTTEcho })
	b.run(unit.Millisecond)
	for _, f := range append(b.from(1, isCNP), b.from(0, isData)...) {
		if f.Timestamped() != isData(&f.Frame) {
			t.Fatalf("%v: timestamps %v", f.Opcode(), f.Timestamped())
		}
	}
}

// RTTX-33, RTTX-35: a T_r increased by a switch on the way back raises the RTT of a sender
// that reads T_r - T_s. It does not affect a sender that reads the echo; a decreased T_s
// does.
func TestRewrittenTimestampsShowInTheSample(t *testing.T) {
	const more = unit.Microsecond
	received := func(_ int, f *frame.Frame) bool {
		if isACK(f) {
			s := f.Timestamps()
			s.Received += frame.StampOf(more)
			f.SetTimestamps(s)
		}
		return true
	}
	sent := func(_ int, f *frame.Frame) bool {
		if isACK(f) {
			s := f.Timestamps()
			s.Sent -= frame.StampOf(more)
			f.SetTimestamps(s)
		}
		return true
	}
	for _, c := range []struct {
		form cc.RTT
		tap  func(int, *frame.Frame) bool
		want unit.Time
	}{
		{cc.RTTReceiver, received, more},
		{cc.RTTEcho, received, 0},
		{cc.RTTReceiver, sent, more},
		{cc.RTTEcho, sent, more},
	} {
		_, plain := sampled(t, c.form, 1000, nil)
		_, rewritten := sampled(t, c.form, 1000, c.tap)
		if got := rewritten[0] - plain[0]; got != c.want {
			t.Errorf("%s: the sample grows by %s, want %s", c.form, got, c.want)
		}
	}
}

// A NAK answers the packet past the gap, and gives an RTT sample of it.
func TestNAKIsASample(t *testing.T) {
	lost := false
	b, rtts := sampled(t, cc.RTTEcho, 10_000, func(_ int, f *frame.Frame) bool {
		if isData(f) && f.PSN() == 5 && !lost {
			lost = true
			return false
		}
		return true
	})
	naks := b.from(1, isNAK)
	if len(naks) != 1 || !naks[0].Timestamped() {
		t.Fatalf("%d NAKs", len(naks))
	}
	for _, f := range b.from(0, isData) {
		if f.PSN() == 6 && f.start < naks[0].start && naks[0].Timestamps().Sent != frame.StampOf(f.start) {
			t.Errorf("T_s is %d, packet 6 left at %s", naks[0].Timestamps().Sent, f.start)
		}
	}
	for _, rtt := range rtts {
		if rtt == 0 {
			t.Errorf("samples %v", rtts)
		}
	}
	if got := len(b.noted(0, fabric.Completed)); got != 1 {
		t.Errorf("%d flows completed", got)
	}
}

func TestUnknownRTTFormIsRejected(t *testing.T) {
	if _, err := New(config(0, nil, func(c *Config) { c.RTT = "sundial" })); err == nil {
		t.Error("accepted")
	}
}

// RTTX-16: without a common clock, a sender uses the differences of its samples: the delay
// beyond the smallest one. This holds whatever the two clocks show, even if one wraps
// around between T_s and T_r.
func TestClocksNeedNotBeSynchronised(t *testing.T) {
	const turn = unit.Time(1<<32) * unit.Nanosecond
	delayed := func(_ int, f *frame.Frame) bool {
		if s := f.Timestamps(); isACK(f) && f.PSN()%3 == 1 {
			s.Received += frame.StampOf(7 * us)
			f.SetTimestamps(s)
		}
		return true
	}
	for _, clocks := range [][2]unit.Time{{0, 0}, {turn / 2, 0}, {0, turn / 2}, {turn - 6*us, 0}, {unit.Second, 3 * unit.Second}} {
		ahead := func(c *Config) { c.Clock = clocks[c.Host] }
		_, rtts := sampled(t, cc.RTTOffset, 10_000, delayed, ahead)
		for i, rtt := range rtts {
			want := unit.Nanosecond
			if i%3 == 1 {
				want += 7 * us
			}
			// The first packet is longer than the others because of its RETH.
			if i == 0 && rtt != want || rtt-want > 4*unit.Nanosecond || want-rtt > 4*unit.Nanosecond {
				t.Fatalf("clocks %v: samples %v", clocks, rtts)
			}
		}
		// The echo form uses the sender's clock alone; T_r - T_s uses both clocks.
		_, plain := sampled(t, cc.RTTEcho, 1000, nil)
		_, echo := sampled(t, cc.RTTEcho, 1000, nil, ahead)
		if echo[0]-plain[0] > unit.Nanosecond || plain[0]-echo[0] > unit.Nanosecond {
			t.Errorf("clocks %v: echo %s, without offset %s", clocks, echo[0], plain[0])
		}
	}
	_, apart := sampled(t, cc.RTTReceiver, 1000, nil, func(c *Config) { c.Clock = unit.Time(c.Host) * unit.Millisecond })
	_, plain := sampled(t, cc.RTTReceiver, 1000, nil)
	if got := apart[0] - plain[0]; got != unit.Millisecond {
		t.Errorf("T_r - T_s grows by %s, want the 1ms that the receiver's clock is ahead", got)
	}
}

// RTTX-16: the smallest difference is the earlier one of two on either side of the wrap of
// 2^32 ns, though its number is the larger one. Here all packets but the second are delayed.
func TestSmallestOffsetBeforeTheWrap(t *testing.T) {
	delayed := func(_ int, f *frame.Frame) bool {
		if s := f.Timestamps(); isACK(f) && f.PSN() != 1 {
			s.Received += frame.StampOf(7 * us)
			f.SetTimestamps(s)
		}
		return true
	}
	const turn = unit.Time(1<<32) * unit.Nanosecond
	_, rtts := sampled(t, cc.RTTOffset, 3000, delayed, func(c *Config) {
		if c.Host == 1 {
			c.Clock = turn - 6*us
		}
	})
	if len(rtts) != 3 || rtts[1] != unit.Nanosecond || rtts[2] < 7*us || rtts[2] > 8*us {
		t.Errorf("samples %v, want the second one to be the smallest, and the third 7us above", rtts)
	}
}
