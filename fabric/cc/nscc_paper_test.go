package cc

import (
	"math"
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
)

// One test per rule of the UE specification 1.0, §3.6.13. The reference network has 100 Gbit/s
// and 12 us, thus 150 KB; the MTU is 4160 bytes with headers.

const nsccMTU = 4160

// nsccPath has packets without headers, so that nominal bytes are payload.
var nsccPath = Path{Rate: 100 * gbps, MTU: nsccMTU, BaseRTT: 12 * us}

func newTestNSCC(edit ...func(*NSCCParams)) *NSCC {
	p := DefaultNSCC()
	for _, e := range edit {
		e(&p)
	}
	return NewNSCC(p, nsccPath, 100*gbps)
}

// noAdapt disables quick adapt; noEta the additive term of each period.
func noAdapt(p *NSCCParams) { p.QuickAdapt = false }
func noEta(p *NSCCParams)   { p.Eta = 0 }

// feed acknowledges bytes in packets of 1000, all at one queueing delay, within one base RTT.
func (c *NSCC) feed(now, delay unit.Time, bytes unit.Bytes, marked bool) {
	for range bytes / 1000 {
		c.Handle(now, Signal{Kind: Ack, Bytes: 1000, InFlight: unit.Bytes(c.inFlight), Marked: marked, RTT: 12*us + delay})
	}
}

func wantNSCC(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got-want) > within {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// NSCC-1: Table 3-82 at 100 Gbit/s and 12 us with trimming: fi 20.8 KB, eta 624 B, largest window 225 KB,
// target 9 us. At 400 Gbit/s and 8 us: a = 2.667, target 6 us.
func TestNSCCConstants(t *testing.T) {
	c := newTestNSCC()
	wantNSCC(t, "fi", c.k.fair, 20_800, 0.1)
	wantNSCC(t, "eta", c.k.eta, 624, 0.1)
	wantNSCC(t, "largest window", c.k.most, 225_000, 1)
	wantNSCC(t, "target", c.k.target, float64(9*us), 1)
	wantNSCC(t, "alpha", c.k.alpha*float64(9*us), 4*0.75*nsccMTU, 0.1)
	if c.Window() != 225_000 || c.p.Validate() != nil {
		t.Errorf("initial window %s", c.Window())
	}
	p := DefaultNSCC()
	p.BaseRTT = 8 * us
	k := p.constants(Path{Rate: 400 * gbps, MTU: 4096, Headers: 64})
	wantNSCC(t, "fi at 400 Gbit/s", k.fair, 5*nsccMTU*400/150, 1)
	wantNSCC(t, "eta at 400 Gbit/s", k.eta, 0.15*nsccMTU*400/150, 1)
	wantNSCC(t, "fi_scale at 400 Gbit/s", k.fastScale, 0.25*400/150, 1e-6)
	wantNSCC(t, "largest window at 400 Gbit/s", k.most, 600_000, 1)
	wantNSCC(t, "target at 8 us", k.target, float64(6*us), 1)
	wantNSCC(t, "alpha at 400 Gbit/s", k.alpha*float64(6*us), 4*0.5*nsccMTU*400/150, 1)
	if k.threshold >= 0 {
		t.Errorf("threshold %v with trimming, want none", k.threshold)
	}
	k = p.constants(Path{Rate: 400 * gbps, Receiver: 100 * gbps, MTU: 4096, Headers: 64})
	wantNSCC(t, "BDP of the slower link", k.bdp, 100_000, 1)
	p.Trimming, p.BaseRTT = TrimmingOff, 12*us
	k = p.constants(nsccPath)
	wantNSCC(t, "target without trimming", k.target, float64(12*us), 1)
	wantNSCC(t, "threshold without trimming", k.threshold, float64(48*us), 1)
}

// NSCC-2: §3.6.12: windows are in nominal bytes, of which the sender's queue pair counts the payload. A
// packet may be sent if it fits below the window (CanSend): two full packets below two MTU.
func TestNSCCWindowInPayload(t *testing.T) {
	c := NewNSCC(DefaultNSCC(), Path{Rate: 100 * gbps, MTU: 4096, Headers: 64, BaseRTT: 12 * us}, 100*gbps)
	if c.Window() != 225_000*4096/4160 || c.Rate() != 100*gbps {
		t.Errorf("initial window %s at %s", c.Window(), c.Rate())
	}
	c.cwnd = 2 * nsccMTU
	if c.Window() != 2*4096 {
		t.Errorf("window %s, want two packets", c.Window())
	}
	c.Handle(us, Signal{Kind: Ack, Bytes: 4096, InFlight: 8192})
	wantNSCC(t, "achieved", c.achieved, nsccMTU, 0.01)
	wantNSCC(t, "in flight", c.inFlight, 2*nsccMTU, 0.01)
}

// NSCC-2: A flow that begins below line rate begins with the bandwidth-delay product of its rate.
func TestNSCCInitialRate(t *testing.T) {
	if c := NewNSCC(DefaultNSCC(), nsccPath, 10*gbps); c.Window() != 15_000 {
		t.Errorf("window %s, want 15 KB", c.Window())
	}
}

// NSCC-5: The periods begin with the first packet, not with the flow's queue pair.
func TestNSCCBeginsWithTheFirstPacket(t *testing.T) {
	c := newTestNSCC()
	c.cwnd = 100_000
	c.Handle(unit.Millisecond, Signal{Kind: Sent, Bytes: 4200, Payload: nsccMTU})
	c.feed(unit.Millisecond+11*us, us, 1000, true)
	wantNSCC(t, "within the first period", c.cwnd, 100_000, 1)
	c.feed(unit.Millisecond+12*us, us, 1000, true)
	wantNSCC(t, "after it", c.cwnd, 100_624, 1)
}

// NSCC-3: §11 point 1: below the target, one window of ACKs at delay d adds 4·MTU·a·b·(1 - d/target).
func TestNSCCProportionalIncrease(t *testing.T) {
	c := newTestNSCC(noAdapt, noEta)
	c.cwnd = 100_000
	c.feed(us, 3*us, 100_000, false)
	c.fulfil(us)
	wantNSCC(t, "window", c.cwnd, 100_000+4*nsccMTU*0.75*(1-3.0/9), 400)
}

// NSCC-4: §11 point 2: at and above the target without a mark, one window of ACKs adds 5·MTU·a.
func TestNSCCFairIncrease(t *testing.T) {
	c := newTestNSCC(noAdapt, noEta)
	c.cwnd = 100_000
	c.feed(us, 9*us, 100_000, false)
	c.fulfil(us)
	wantNSCC(t, "window", c.cwnd, 100_000+5*nsccMTU, 2100) // the window grows meanwhile
}

// NSCC-5: eta is added once per period, whatever the quadrant.
func TestNSCCEtaPerPeriod(t *testing.T) {
	c := newTestNSCC(noAdapt)
	c.cwnd = 100_000
	c.feed(12*us, us, 1000, true) // marked below the target: nothing but eta
	wantNSCC(t, "after a period", c.cwnd, 100_624, 1)
	c.feed(13*us, us, 1000, true)
	wantNSCC(t, "within the next", c.cwnd, 100_624, 1)
}

// NSCC-5: the window is also updated after 8 packets of acknowledged bytes, without eta.
func TestNSCCAdjustBytes(t *testing.T) {
	c := newTestNSCC(noAdapt)
	c.cwnd = 100_000
	c.feed(us, 9*us, 33_000, false)
	wantNSCC(t, "after 33 KB", c.cwnd, 100_000, 0)
	c.feed(us, 9*us, 1000, false)
	wantNSCC(t, "above 8 packets", c.cwnd, 100_000+5*nsccMTU*0.34, 1)
	if c.received != 0 || c.inc != 0 {
		t.Errorf("%v received, increases of %v left", c.received, c.inc)
	}
}

// NSCC-6: §11 point 3: marks at a steady delay of 2 targets: factor 0.6, once per base RTT.
func TestNSCCMultiplicativeDecrease(t *testing.T) {
	c := newTestNSCC(noAdapt, noEta)
	c.cwnd, c.average = 100_000, float64(18*us)
	c.feed(13*us, 18*us, 20_000, true)
	wantNSCC(t, "one RTT", c.cwnd, 60_000, 1)
	c.feed(25*us, 18*us, 20_000, true)
	wantNSCC(t, "not yet a base RTT later", c.cwnd, 60_000, 1)
	c.feed(26*us, 18*us, 20_000, true)
	wantNSCC(t, "the next RTT", c.cwnd, 36_000, 1)
}

// NSCC-7: §11 point 4: whatever the delay, one decrease keeps half of the window.
func TestNSCCLargestDecrease(t *testing.T) {
	c := newTestNSCC(noAdapt, noEta)
	c.cwnd = 100_000
	c.feed(13*us, unit.Second, 1000, true)
	wantNSCC(t, "window", c.cwnd, 50_000, 1)
}

// NSCC-6: The average must exceed the target too.
func TestNSCCDecreaseNeedsTheAverage(t *testing.T) {
	c := newTestNSCC(noAdapt, noEta)
	c.cwnd, c.sampled = 100_000, 13*us
	c.feed(13*us, 18*us, 1000, true) // the sample has no weight yet
	wantNSCC(t, "window", c.cwnd, 100_000, 1)
}

// NSCC-8: A mark below the target changes nothing.
func TestNSCCMarkBelowTheTarget(t *testing.T) {
	c := newTestNSCC(noAdapt, noEta)
	c.cwnd = 100_000
	c.feed(13*us, 8*us, 50_000, true)
	wantNSCC(t, "window", c.cwnd, 100_000, 1)
}

// NSCC-9: Below 1 us, after one window of bytes the window grows by a quarter of the acknowledged bytes.
func TestNSCCFastIncrease(t *testing.T) {
	c := newTestNSCC(noAdapt, noEta)
	c.p.Proportional, c.k.alpha = 0, 0
	c.cwnd = 50_000
	c.feed(us, 0, 50_000, false)
	wantNSCC(t, "the first window", c.cwnd, 50_000, 1)
	c.feed(2*us, 0, 40_000, false)
	wantNSCC(t, "the next 40 KB", c.cwnd, 60_000, 1)
	c.feed(3*us, us, 1000, false)
	if c.fast || c.fastSeen != 0 {
		t.Error("a delay does not end the fast increase")
	}
}

// NSCC-10: §11 point 6: a penalty of 64 in all ACKs of one RTT halves the window; the window before it is
// restored on request. A penalty of 127 leaves one packet per RTT.
func TestNSCCPenalty(t *testing.T) {
	for penalty, want := range map[uint8]float64{64: 50_000, 127: nsccMTU} {
		c := newTestNSCC(noAdapt, noEta)
		c.cwnd = 100_000
		flying := unit.Bytes(100_000)
		for range 100 {
			flying -= 1000
			c.Handle(us, Signal{Kind: Ack, Bytes: 1000, InFlight: flying, RTT: 15 * us, Penalty: penalty})
			for flying+1000 <= c.Window() {
				flying += 1000
			}
		}
		wantNSCC(t, "after one RTT", c.cwnd, want, 1000)
		c.Handle(us, Signal{Kind: Ack, Bytes: 1000, InFlight: flying, Restore: true})
		wantNSCC(t, "restored", c.cwnd, 100_000, 1)
	}
}

// NSCC-13: With receiver credit, a packet trimmed at the last hop leaves the window as it is; without, it
// counts as any other.
func TestNSCCTrimAtTheLastHop(t *testing.T) {
	for credit, want := range map[bool]unit.Bytes{true: 225_000, false: 225_000 - nsccMTU} {
		c := newTestNSCC(func(p *NSCCParams) { p.Credit = credit })
		c.Handle(us, Signal{Kind: Trimmed, Bytes: nsccMTU, LastHop: true, InFlight: nsccMTU})
		if c.Window() != want || c.trigger == credit || c.inFlight != nsccMTU {
			t.Errorf("credit %v: window %s, in flight %v", credit, c.Window(), c.inFlight)
		}
	}
}

// NSCC-13: A trimmed packet adds config_base_rtt to the average delay.
func TestNSCCTrimRaisesTheAverage(t *testing.T) {
	c := newTestNSCC()
	c.Handle(12*us, Signal{Kind: Trimmed, Bytes: nsccMTU})
	wantNSCC(t, "average", c.average, float64(12*us), 1)
}

// NSCC-14: §11 point 7: an inferred loss takes the size of its packet, down to one MTU; an unknown size is
// one packet's.
func TestNSCCInferredLoss(t *testing.T) {
	for kind, size := range map[SignalKind]unit.Bytes{Lost: 2000, TimedOut: 0} {
		c := newTestNSCC()
		c.Handle(us, Signal{Kind: kind, Bytes: size})
		if size == 0 {
			size = nsccMTU
		}
		wantNSCC(t, "window", c.cwnd, 225_000-float64(size), 1)
		wantNSCC(t, "ignored", c.ignored, float64(size), 1)
		for range 200 {
			c.Handle(us, Signal{Kind: kind, Bytes: size})
		}
		if c.Window() != nsccMTU {
			t.Errorf("window %s, want one MTU", c.Window())
		}
	}
}

// NSCC-17: uet-htsim multiplies increases by the MSS, averages with a weight of 0.0125, adds a quarter of
// the base RTT for an unmarked delay above the target, and has quick adapt look at the delay with
// trimming too.
func TestNSCCPresetHTSIM(t *testing.T) {
	path := Path{Rate: 100 * gbps, MTU: 4096, Headers: 64, BaseRTT: 12 * us}
	c := NewNSCC(NSCCPresets[1], path, 100*gbps)
	wantNSCC(t, "fi", c.k.fair, 5*4096, 0.1)
	wantNSCC(t, "eta", c.k.eta, 0.15*4096, 0.1)
	wantNSCC(t, "alpha", c.k.alpha*float64(9*us), 4*0.75*4096, 0.1)
	wantNSCC(t, "threshold", c.k.threshold, float64(36*us), 1)
	c.delay(20*us, &Signal{RTT: 32 * us})
	wantNSCC(t, "unmarked", c.average, 0.0125*0.25*float64(12*us), 1)
	c.delay(20*us, &Signal{RTT: 32 * us, Marked: true})
	wantNSCC(t, "marked", c.average, 0.9875*0.0125*float64(3*us)+0.0125*float64(20*us), 1)
}

// NSCC-15: The base RTT only falls; the largest window falls with it, that of the slower link of the two.
func TestNSCCBaseRTTFalls(t *testing.T) {
	c := newTestNSCC(noAdapt, noEta)
	c.Handle(us, Signal{Kind: Ack, Bytes: 1000, RTT: 8 * us, Marked: true})
	wantNSCC(t, "largest window", c.k.most, 150_000, 1)
	c.Handle(2*us, Signal{Kind: Ack, Bytes: 1000, RTT: 12 * us, Marked: true})
	if c.base != float64(8*us) {
		t.Errorf("base RTT %v", c.base)
	}
	if c.Handle(3*us, Signal{Kind: Probe, RTT: 6 * us}); c.base != float64(6*us) {
		t.Errorf("base RTT %v after a probe", c.base)
	}
	path := nsccPath
	path.Receiver = 50 * gbps
	c = NewNSCC(DefaultNSCC(), path, path.Rate)
	wantNSCC(t, "initial window with a slower receiver", c.cwnd, 112_500, 1)
	c.Handle(us, Signal{Kind: Probe, RTT: 8 * us})
	wantNSCC(t, "after the fall", c.k.most, 75_000, 1)
}

// NSCC-13, NSCC-15: A NACK that lowers the base RTT takes only its packet off the window. The largest
// window, which falls too, limits the next increase.
func TestNSCCTrimWithAShorterRTT(t *testing.T) {
	path := Path{Rate: 100 * gbps, MTU: 4096, Headers: 100, BaseRTT: 14_008_320 * unit.Picosecond}
	c := NewNSCC(DefaultNSCC(), path, path.Rate)
	wantNSCC(t, "initial window", c.cwnd, 262_656, 0.1)
	c.Handle(us, Signal{Kind: Trimmed, Bytes: 4096, RTT: 13_674_560 * unit.Picosecond})
	wantNSCC(t, "after the NACK", c.cwnd, 258_460, 0.1)
	wantNSCC(t, "largest window", c.k.most, 256_398, 0.1)
	c.Handle(2*us, Signal{Kind: Lost, Bytes: 1000})
	wantNSCC(t, "after a loss", c.cwnd, 258_460-1000*4196.0/4096, 0.1)
	c.fulfil(15 * us)
	wantNSCC(t, "after an increase", c.cwnd, c.k.most, 0)
}

// NSCC-16, NSCC-17: An ACK without a valid sample counts bytes, and changes the window no further. In uet-htsim it
// has the average delay, to which it adds nothing.
func TestNSCCNeedsASample(t *testing.T) {
	for _, step := range []struct {
		preset  NSCCParams
		average unit.Time
		marked  bool
		want    float64
	}{
		{uecNSCC(), 3 * us, false, 100_000},
		{uecNSCC(), 18 * us, true, 100_000},
		{htsimNSCC(), 3 * us, false, 100_000 + 4*nsccMTU*0.75*(1-3.0/9)},
		{htsimNSCC(), 9 * us, false, 100_000 + 5*nsccMTU},
		{htsimNSCC(), 18 * us, true, 60_000},
	} {
		step.preset.QuickAdapt, step.preset.Eta = false, 0
		c := NewNSCC(step.preset, nsccPath, nsccPath.Rate)
		c.cwnd, c.average = 100_000, float64(step.average)
		c.Handle(20*us, Signal{Kind: Ack, Bytes: 100_000, InFlight: 10_000, Marked: step.marked})
		wantNSCC(t, step.preset.Preset, c.cwnd, step.want, 1)
		wantNSCC(t, step.preset.Preset+", average", c.average, float64(step.average), 0)
		if c.inFlight != 10_000 || c.achieved != 100_000 {
			t.Errorf("%s: in flight %v, achieved %v", step.preset.Preset, c.inFlight, c.achieved)
		}
	}
}
