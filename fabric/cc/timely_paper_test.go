package cc

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/unit"
)

// timelyPreset returns the published settings of that name.
func timelyPreset(name string) TIMELYParams {
	i := slices.IndexFunc(TIMELYPresets, func(p TIMELYParams) bool { return p.Preset == name })
	return TIMELYPresets[i]
}

// timely returns the reaction point of a flow of 10 Gbit/s under Thigh 500 us,
// Tlow 50 us, minRTT 20 us, a 0.875, b 0.8, delta 10 Mbit/s; change edits these
// settings.
func timely(change ...func(*TIMELYParams)) *TIMELY {
	p := timelyPreset("ns3-rdma")
	p.MinRate = 0
	for _, edit := range change {
		edit(&p)
	}
	return NewTIMELY(p, line, 10*gbps)
}

// complete completes a segment of 16 KB after each of the given RTTs.
func complete(c *TIMELY, rtts ...unit.Time) {
	for _, rtt := range rtts {
		c.Handle(0, Signal{Kind: Ack, Bytes: c.p.Segment, RTT: rtt})
	}
}

// PCN-2, RTTX-55: the parameter sets. That of a rack has T_low below its RTT.
func TestTIMELYPublishedConstants(t *testing.T) {
	for _, p := range TIMELYPresets {
		if err := p.Validate(); err != nil || p.Beta != 0.8 || p.Delta != 10*unit.MegabitPerSec || p.MinRTT != 20*us {
			t.Errorf("%+v (%v)", p, err)
		}
		if published := p.Preset != "rack"; published != (p.TLow == 50*us) {
			t.Errorf("%s: T_low %s", p.Preset, p.TLow)
		}
	}
	if r := DefaultTIMELYRTTX(); r.Preset != "rack" || r.TLow != 0 || r.THigh != 100*us || r.Segment != 1 || DefaultTIMELY().Preset != "authors" {
		t.Errorf("defaults %s and %+v", DefaultTIMELY().Preset, r)
	}
	n, a, s := timelyPreset("ns3-rdma"), timelyPreset("authors"), timelyPreset("scaled")
	if a.MaxCut != 0.5 || n.MaxCut != 0.5 || s.MaxCut != 1 || a.MinRate != 100*unit.MegabitPerSec || n.MinRate != a.MinRate || s.HyperAfter != 6 {
		t.Errorf("authors: %+v, ns3-rdma: %+v, scaled: %+v", a, n, s)
	}
	if n.EWMA != 0.875 || n.THigh != 500*us || n.HyperAfter != 0 || n.Segment != 16*unit.Kilobyte || !n.Burst {
		t.Errorf("ns3-rdma: %+v", n)
	}
	if a.EWMA != 0.02 || a.THigh != unit.Millisecond || a.HyperAfter != 5 || a.HyperFactor != 5 || a.Segment != 64*unit.Kilobyte {
		t.Errorf("authors: %+v", a)
	}
	if s.EWMA != 0.875 || s.THigh != 500*us || s.DeltaPer != 10*gbps || !s.OncePerRTT || s.Burst || s.HyperFactor != 5 || s.MinRate != gbps {
		t.Errorf("scaled: %+v", s)
	}
}

// Algorithm 1: below Tlow the rate rises by delta, whatever the gradient.
func TestTIMELYBelowTLow(t *testing.T) {
	c := timely()
	complete(c, 20*us, 49*us, 30*us)
	rateIs(t, "rate", c, 10e9+3*10e6)
}

// Algorithm 1: above Thigh rate := rate·(1 - b·(1 - Thigh/rtt)), whatever the
// gradient. At 625 us that is 1 - 0.8·0.2 = 0.84.
func TestTIMELYAboveTHigh(t *testing.T) {
	c := timely()
	complete(c, 625*us)
	rateIs(t, "rate", c, 8.4e9)
	complete(c, 600*us) // falling; 1 - 0.8·(1 - 5/6) = 13/15
	rateIs(t, "rate", c, 7.28e9)
}

// Algorithm 1: diff := (1 - a)·diff + a·(rtt - previous), gradient := diff/minRTT,
// and a positive gradient gives rate := rate·(1 - b·gradient). RTTX-55: after a
// steady RTT a step of 1 us cuts 3.5 %, of 2 us 7 %.
func TestTIMELYPositiveGradient(t *testing.T) {
	for step, want := range map[unit.Time]float64{1 * us: 10e9 * (1 - 0.035), 2 * us: 10e9 * (1 - 0.07)} {
		c := timely()
		c.samples, c.rtt = true, 100*us
		complete(c, 100*us+step)
		rateIs(t, step.String(), c, want)
	}
	// Two steps: diff is 0.875 us, then 0.125·0.875 + 0.875·1 = 0.984375 us.
	c := timely()
	c.samples, c.rtt = true, 100*us
	complete(c, 101*us, 102*us)
	rateIs(t, "two steps", c, 10e9*(1-0.8*0.875/20)*(1-0.8*0.984375/20))
	within(t, "diff", c.diff, 984375, 1e-6)
}

// Algorithm 1: a gradient of 0 or below raises the rate by delta. The first sample
// has no gradient.
func TestTIMELYGradientNotPositive(t *testing.T) {
	c := timely()
	complete(c, 100*us)
	rateIs(t, "first sample", c, 10e9+10e6)
	complete(c, 100*us)
	rateIs(t, "steady", c, 10e9+20e6)
	complete(c, 90*us)
	rateIs(t, "falling", c, 10e9+30e6)
}

// The gradient is smoothed: a positive gradient remains positive for one sample
// of a steady RTT.
func TestTIMELYGradientIsSmoothed(t *testing.T) {
	c := timely()
	c.samples, c.rtt = true, 100*us
	complete(c, 110*us)
	before := c.rate
	complete(c, 110*us) // diff = 0.125·8.75 us
	rateIs(t, "rate", c, before*(1-0.8*0.125*8.75/20))
}

// §4.3.1: five completions in a row with a gradient not above 0 bring hyper
// increase, N = 5, until the gradient is positive.
func TestTIMELYHyperIncreaseAfterFive(t *testing.T) {
	hyper := func(p *TIMELYParams) { p.HyperAfter, p.HyperFactor = 5, 5 }
	c := timely(hyper)
	want := 10e9
	for n := 1; n <= 7; n++ {
		complete(c, 100*us)
		if want += 10e6; n >= 5 {
			want += 40e6
		}
		rateIs(t, "rate", c, want)
	}
	complete(c, 110*us) // one cut
	cut := c.rate
	complete(c, 60*us) // and the count begins anew
	rateIs(t, "after a cut", c, cut+10e6)

	never := timely()
	complete(never, 100*us, 100*us, 100*us, 100*us, 100*us, 100*us)
	rateIs(t, "preset ns3-rdma has none", never, 10e9+60e6)
}

// Increases below Tlow do not count towards hyper increase in Algorithm 1; in the
// HPCC simulator they do, and the sixth in a row is the first hyper increase.
func TestTIMELYHyperIncreaseBelowTLow(t *testing.T) {
	c := timely(func(p *TIMELYParams) { p.HyperAfter, p.HyperFactor = 5, 5 })
	for range 10 {
		complete(c, 30*us)
	}
	rateIs(t, "algorithm 1", c, 10e9+100e6)
	p := timelyPreset("scaled")
	s := NewTIMELY(p, 10*gbps, gbps)
	for range 8 { // the first sample moves nothing
		s.Handle(0, Signal{Kind: Ack, Bytes: 1000, RTT: 30 * us})
	}
	rateIs(t, "scaled", s, 1e9+5*10e6+2*50e6)
}

// PCN-11: a decrease takes at most half; without the bound of PCN §3.2 a gradient
// of 1.25 and more would stop the flow.
func TestTIMELYCutsAtMostHalf(t *testing.T) {
	c := timely()
	c.samples, c.rtt = true, 60*us
	complete(c, 160*us)
	rateIs(t, "rate", c, 5e9)
	complete(c, 400*us, 490*us)
	rateIs(t, "rate", c, 1.25e9)
}

// The completion of a segment is one sample: ACKs within it are not samples.
func TestTIMELYSamplesOncePerSegment(t *testing.T) {
	c := timely()
	for n := 1; n <= 64; n++ {
		c.Handle(0, Signal{Kind: Ack, Bytes: 1000, RTT: 20 * us})
		rateIs(t, "rate", c, 10e9+float64(n/16)*10e6)
	}
	// An ACK of 40 KB completes two segments and half of a third, and is one sample.
	c.Handle(0, Signal{Kind: Ack, Bytes: 40_000, RTT: 20 * us})
	rateIs(t, "rate", c, 10e9+5*10e6)
	c.Handle(0, Signal{Kind: Ack, Bytes: 1000})
	rateIs(t, "no sample in it", c, 10e9+5*10e6)
}

// HPCC simulator, UpdateRateTimely: the next sample is that of the ACK of a packet
// that was sent after the latest one (ack_seq > lastUpdateSeq, which is then
// snd_nxt), however long that takes, and the first sample moves nothing.
func TestTIMELYOncePerRTT(t *testing.T) {
	c := NewTIMELY(timelyPreset("scaled"), 10*gbps, gbps)
	samples := 0
	for ack := 1; ack <= 34; ack++ {
		was := c.rate
		// 10 packets are in flight behind every ACK, in whatever time they come.
		c.Handle(unit.Time(ack*ack)*us, Signal{Kind: Ack, Bytes: 1000, InFlight: 10_000, RTT: 40 * us})
		if c.rate == was {
			continue
		}
		samples++
		if (ack-1)%11 != 0 || ack == 1 {
			t.Errorf("ACK %d moves the rate", ack)
		}
	}
	if samples != 3 {
		t.Errorf("%d samples of 34 ACKs move the rate, want those of ACKs 12, 23 and 34", samples)
	}
	// An ACK without an RTT still counts its acknowledged bytes.
	c.Handle(0, Signal{Kind: Ack, Bytes: 10_000, InFlight: 1000})
	was := c.rate
	c.Handle(0, Signal{Kind: Ack, Bytes: 1000, RTT: 40 * us})
	rateIs(t, "after them", c, was+10e6)
}

// A queue that triples the RTT from round to round is sampled once per round.
// Sampling whenever the latest RTT has elapsed would yield several samples,
// each from a packet that was sent before the latest reaction to the same
// queue.
func TestTIMELYSamplesOncePerGrowingRTT(t *testing.T) {
	c := NewTIMELY(timelyPreset("scaled"), line, line)
	now, rtt, samples := unit.Time(0), 60*us, 0
	for range 5 { // rounds of 20 packets
		next := 3 * rtt
		for n := range unit.Time(20) {
			now += next / 20
			was := c.rtt
			c.Handle(now, Signal{Kind: Ack, Bytes: 1000, InFlight: 19_000, RTT: rtt + (next-rtt)*n/20})
			if c.rtt != was {
				samples++
			}
		}
		rtt = next
	}
	if samples != 5 {
		t.Errorf("%d samples in 5 rounds", samples)
	}
}

// PCN-12: the step is a constant that must be retuned per link; the preset scaled
// does that by the link's rate.
func TestTIMELYDeltaScales(t *testing.T) {
	for name, want := range map[string]float64{"ns3-rdma": 10e6, "authors": 10e6, "scaled": 40e6} {
		a := NewTIMELY(timelyPreset(name), line, gbps)
		a.samples, a.rtt = true, 30*us
		a.Handle(0, Signal{Kind: Ack, Bytes: unit.Megabyte, RTT: 30 * us})
		rateIs(t, name, a, 1e9+want)
	}
}

// TIMELY is rate-based, has no timer, and reacts to samples only.
func TestOnlySamplesMoveTIMELY(t *testing.T) {
	c := timely()
	c.Handle(0, marked)
	c.Handle(0, Signal{Kind: Sent, Bytes: unit.Megabyte})
	c.Handle(0, Signal{Kind: Ack, Bytes: unit.Megabyte})
	c.Tick(1)
	if _, timer := c.Next(); timer || c.Window() != NoWindow || c.Rate() != 10*gbps {
		t.Errorf("timer %v, window %v, rate %v", timer, c.Window(), c.Rate())
	}
}

// For any RTTs the rate stays between the floor and the line.
func TestTIMELYStaysInBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := TIMELYPresets[rapid.IntRange(0, 2).Draw(t, "preset")]
		c := NewTIMELY(p, line, line)
		now := unit.Time(0)
		for range rapid.IntRange(1, 200).Draw(t, "samples") {
			now += unit.Time(rapid.Int64Range(0, int64(unit.Millisecond)).Draw(t, "gap"))
			c.Handle(now, Signal{Kind: Ack, Bytes: unit.Megabyte, RTT: unit.Time(rapid.Int64Range(0, int64(5*unit.Second)).Draw(t, "rtt"))})
			if c.Rate() < p.MinRate || c.Rate() > line || math.IsNaN(c.rate) {
				t.Fatalf("rate %v", c.rate)
			}
		}
	})
}

func TestTIMELYValidateNamesTheInvalidParameter(t *testing.T) {
	for _, bad := range []func(*TIMELYParams){
		func(p *TIMELYParams) { p.EWMA = 0 },
		func(p *TIMELYParams) { p.Beta = math.NaN() },
		func(p *TIMELYParams) { p.MaxCut = 0 },
		func(p *TIMELYParams) { p.TLow = p.THigh + 1 },
		func(p *TIMELYParams) { p.TLow = -1 },
		func(p *TIMELYParams) { p.MinRTT = 0 },
		func(p *TIMELYParams) { p.Delta = -1 },
		func(p *TIMELYParams) { p.HyperAfter = -1 },
		func(p *TIMELYParams) { p.Segment = 0 },
	} {
		p := DefaultTIMELY()
		bad(&p)
		if p.Validate() == nil || (Params{TIMELY: p}).Validate("timely") == nil {
			t.Errorf("%+v was accepted", p)
		}
	}
}
