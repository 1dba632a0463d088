package cc

import (
	"math"
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
)

// One test per sentence of Swift's law in swift.cpp of uet-htsim; numbers are its lines.

// swiftPath has 40 Gbit/s and 20 us: a bandwidth-delay product of 100 packets. With the preset
// htsim and no hops, the target at 100 packets and more is 20 us.
var swiftPath = Path{Rate: line, MTU: 1000, BaseRTT: 20 * us}

func newTestSwift(cwnd float64, path Path) *Swift {
	c := NewSwift(SwiftPresets[1], path, line)
	c.cwnd = cwnd
	return c
}

// swiftACK acknowledges packets of 1000 bytes with a delay.
func swiftACK(c *Swift, now, delay unit.Time, packets unit.Bytes) {
	c.Handle(now, Signal{Kind: Ack, Bytes: packets * 1000, RTT: delay})
}

func wantWindow(t *testing.T, what string, c *Swift, want float64) {
	t.Helper()
	if math.Abs(c.cwnd-want) > 1e-9 {
		t.Errorf("%s: window of %v packets, want %v", what, c.cwnd, want)
	}
}

// 605 to 620, 10 and 6: the constants of the reference code.
func TestSwiftPublishedConstants(t *testing.T) {
	p := SwiftPresets[1]
	if p.AI != 1 || p.Beta != 0.8 || p.MaxCut != 0.5 || p.Base != 20*us || p.ScaleRange != 5*p.Base ||
		p.ScaleMin != 0.1 || p.ScaleMax != 100 || p.Initial != 12 || p.Least != 10 || p.Most != 1000 || p.Timeouts != 5 {
		t.Errorf("%+v", p)
	}
	if h := float64(p.Base) / 6.55; math.Abs(float64(p.PerHop)-h) > float64(unit.Nanosecond) {
		t.Errorf("h %s, want base/6.55", p.PerHop)
	}
	for _, p := range SwiftPresets {
		if err := p.Validate(); err != nil {
			t.Error(err)
		}
	}
}

// 77 to 117: fs_alpha = fs_range / (1/sqrt(fs_min) - 1/sqrt(fs_max)) = 32.66 us, fs_beta =
// -fs_alpha / sqrt(fs_max) = -3.27 us.
func TestSwiftFlowScalingConstants(t *testing.T) {
	slope, offset := SwiftPresets[1].scaling()
	if math.Abs(slope/1e6-32.66) > 0.01 || math.Abs(offset/1e6+3.27) > 0.01 {
		t.Errorf("fs_alpha %v us, fs_beta %v us", slope/1e6, offset/1e6)
	}
}

// The target is base, plus h for each hop, plus a term that falls with the window: 29.4 us at
// one packet, 7.06 us at 10, none from 100 on, at most fs_range from 0.1 down.
func TestSwiftTarget(t *testing.T) {
	far := swiftPath
	far.Hops = 4
	for _, c := range []struct {
		path Path
		cwnd float64
		want float64 // us
	}{
		{swiftPath, 1, 20 + 29.39},
		{swiftPath, 10, 20 + 7.06},
		{swiftPath, 100, 20},
		{swiftPath, 400, 20},
		{swiftPath, 0.1, 120},
		{swiftPath, 0.02, 120},
		{far, 100, 20 + 4*3.053},
	} {
		if got := newTestSwift(c.cwnd, c.path).target() / 1e6; math.Abs(got-c.want) > 0.01 {
			t.Errorf("window %v, %d hops: target %v us, want %v", c.cwnd, c.path.Hops, got, c.want)
		}
	}
}

// Preset rack, this project's own: the base RTT, an MTU per hop, and five base RTTs of scaling.
func TestSwiftTargetOfARack(t *testing.T) {
	path := Path{Rate: line, MTU: 1000, BaseRTT: 20 * us, Hops: 3}
	c := NewSwift(DefaultSwift(), path, line)
	if c.cwnd = 100; c.target() != float64(20*us+600*unit.Nanosecond) {
		t.Errorf("target %v us", c.target()/1e6)
	}
	if c.cwnd = 0.1; math.Abs(c.target()-float64(120*us+600*unit.Nanosecond)) > 1 {
		t.Errorf("target %v us at 0.1 packets", c.target()/1e6)
	}
}

// 150 to 168: below the target the window grows by ai·acked/cwnd, thus by ai per RTT.
func TestSwiftAdditiveIncrease(t *testing.T) {
	c := newTestSwift(100, swiftPath)
	swiftACK(c, 0, 19*us, 1)
	wantWindow(t, "one packet", c, 100.01)
	c.cwnd = 200
	swiftACK(c, 0, 19*us, 50)
	wantWindow(t, "50 packets", c, 200.25)
}

// Below one packet it grows by ai·acked.
func TestSwiftIncreaseBelowOnePacket(t *testing.T) {
	c := newTestSwift(0.25, swiftPath)
	swiftACK(c, 0, 19*us, 1)
	wantWindow(t, "one packet", c, 1.25)
}

// At and above the target the window falls in proportion to the excess of the delay.
func TestSwiftMultiplicativeDecrease(t *testing.T) {
	c := newTestSwift(200, swiftPath)
	swiftACK(c, 0, 20*us, 1)
	wantWindow(t, "delay at the target", c, 200)
	c = newTestSwift(200, swiftPath)
	swiftACK(c, 0, 25*us, 1)
	wantWindow(t, "delay 25 us", c, 200*(1-0.8*5.0/25))
}

// One decrease takes at most max_mdf.
func TestSwiftLargestDecrease(t *testing.T) {
	c := newTestSwift(200, swiftPath)
	swiftACK(c, 0, 10*unit.Millisecond, 1)
	wantWindow(t, "delay 10 ms", c, 100)
}

// Decreases are at least one smoothed RTT apart.
func TestSwiftDecreasesOncePerRTT(t *testing.T) {
	c := newTestSwift(800, swiftPath)
	swiftACK(c, us, 40*us, 1)
	once := c.cwnd
	swiftACK(c, 40*us, 40*us, 1)
	wantWindow(t, "39 us later", c, once)
	swiftACK(c, 41*us, 40*us, 1)
	wantWindow(t, "40 us later", c, once*(1-0.8*0.5))
}

// 52 to 75: the RTT is smoothed with weights 7/8 and 1/8; the first sample is taken whole.
func TestSwiftSmoothsTheRTT(t *testing.T) {
	c := newTestSwift(100, swiftPath)
	swiftACK(c, 0, 16*us, 1)
	swiftACK(c, 0, 24*us, 1)
	if c.rtt != 17*us {
		t.Errorf("%s, want 17us", c.rtt)
	}
}

// 204 to 216: a loss takes max_mdf, at most once per RTT. Under go-back-N a NAK reports it.
func TestSwiftCutsAtALoss(t *testing.T) {
	c := newTestSwift(100, swiftPath)
	c.Handle(0, Signal{Kind: Lost})
	wantWindow(t, "a NAK", c, 50)
	c.Handle(19*us, Signal{Kind: Lost})
	wantWindow(t, "another within the RTT", c, 50)
}

// 532 to 536: a timeout takes max_mdf; from the fifth in a row on, the window is the minimum of
// 10 bytes. An ACK starts the count anew.
func TestSwiftCutsAtTimeouts(t *testing.T) {
	c := newTestSwift(64, swiftPath)
	timeouts := func(n int) {
		for range n {
			c.Handle(c.last+unit.Millisecond, Signal{Kind: TimedOut})
		}
	}
	timeouts(4)
	wantWindow(t, "four timeouts", c, 4)
	swiftACK(c, c.last, 19*us, 0)
	timeouts(4)
	wantWindow(t, "an ACK and four timeouts", c, 0.25)
	timeouts(1)
	wantWindow(t, "the fifth timeout", c, 0.01)
}

// 611, 612: the window is between 10 bytes and 1000 packets.
func TestSwiftBoundsOfTheWindow(t *testing.T) {
	c := newTestSwift(1000, swiftPath)
	swiftACK(c, 0, 19*us, 1000)
	wantWindow(t, "increase", c, 1000)
	for i := range unit.Time(60) {
		swiftACK(c, i*unit.Second, 100*unit.Millisecond, 1)
	}
	wantWindow(t, "decrease", c, 0.01)
}

// 775 to 793: below one packet, a packet is sent every RTT/cwnd. From one packet on, ACKs
// clock the flow.
func TestSwiftPacesBelowOnePacket(t *testing.T) {
	c := newTestSwift(1, swiftPath)
	c.Handle(0, Signal{Kind: Sent, Bytes: 1062, Payload: 1000})
	swiftACK(c, 0, 20*us, 0)
	if c.Rate() != line || c.Window() != 1000 {
		t.Errorf("one packet: %s, window %s", c.Rate(), c.Window())
	}
	c.cwnd = 0.5
	gap := float64(8*1062) / float64(c.Rate()) * 1e6
	if math.Abs(gap-40) > 1e-3 || c.Window() != 500 {
		t.Errorf("half a packet: one every %v us, want 40; window %s", gap, c.Window())
	}
}

// 10: a flow begins with 12 packets. One that is limited to an initial rate begins with its
// bandwidth-delay product.
func TestSwiftStart(t *testing.T) {
	if c := NewSwift(DefaultSwift(), swiftPath, line); c.Window() != 12_000 || c.Rate() != line {
		t.Errorf("window %s, rate %s", c.Window(), c.Rate())
	}
	if c := NewSwift(DefaultSwift(), swiftPath, line/2); c.Window() != 50_000 {
		t.Errorf("window %s at half of the line", c.Window())
	}
}

// With RTT probes, ACKs have no sample: what they acknowledge counts at the next response.
func TestSwiftSamplesByProbes(t *testing.T) {
	c := newTestSwift(100, swiftPath)
	swiftACK(c, 0, 0, 10)
	wantWindow(t, "ACK without a sample", c, 100)
	c.Handle(0, Signal{Kind: Probe, RTT: 19 * us})
	wantWindow(t, "response", c, 100.1)
}
