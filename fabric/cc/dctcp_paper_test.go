package cc

import (
	"math"
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
)

// One test per sentence of RFC 8257 and of HandleAckDctcp in the HPCC simulator's rdma-hw.cc.

// dctcpPath has 40 Gbit/s and 20 us: a bandwidth-delay product of 100 packets of 1000 bytes.
var dctcpPath = Path{Rate: line, MTU: 1000, BaseRTT: 20 * us}

func newTestDCTCP() *DCTCP { return NewDCTCP(DefaultDCTCP(), dctcpPath, line) }

// ackRTT acknowledges the packets of one round trip, one by one, of which the first are
// marked. The same number stays in flight.
func ackRTT(c *DCTCP, packets, marked int) {
	for i := range packets {
		c.Handle(0, Signal{Kind: Ack, Bytes: 1000, InFlight: unit.Bytes(packets) * 1000, Marked: i < marked})
	}
}

// run.py dctcp: g 0.0625, alpha starts at 1 (rdma-queue-pair.cc). 615 Mbit/s is one MTU of
// 1 KB in 13 us.
func TestDCTCPPublishedConstants(t *testing.T) {
	p := DefaultDCTCP()
	if p.G != 0.0625 || p.Alpha != 1 || p.Validate() != nil {
		t.Errorf("%+v", p)
	}
	c := NewDCTCP(p, Path{Rate: 100 * gbps, MTU: 1000, BaseRTT: 13 * us}, 0)
	if mbps := c.step / 1e6; math.Abs(mbps-615) > 1 {
		t.Errorf("step %v Mbit/s, want 615", mbps)
	}
	if p.AI = 40 * unit.MegabitPerSec; NewDCTCP(p, dctcpPath, 0).step != 40e6 {
		t.Error("ai_rate is ignored")
	}
}

// A flow starts at line rate, with a window of one bandwidth-delay product (HAS_WIN).
func TestDCTCPStartsAtLineRate(t *testing.T) {
	c := newTestDCTCP()
	if c.Rate() != line || c.Window() != 100_000 {
		t.Errorf("%s, window %s", c.Rate(), c.Window())
	}
	if w := NewDCTCP(DefaultDCTCP(), Path{Rate: line}, line).Window(); w != NoWindow {
		t.Errorf("window %s without an RTT", w)
	}
}

// VAR_WIN: the window is in proportion to the rate.
func TestDCTCPWindowFollowsTheRate(t *testing.T) {
	if c := NewDCTCP(DefaultDCTCP(), dctcpPath, line/4); c.Window() != 25_000 {
		t.Errorf("window %s", c.Window())
	}
	p := DefaultDCTCP()
	p.RTT = 40 * us // of the longest path
	if c := NewDCTCP(p, dctcpPath, line/4); c.Window() != 50_000 {
		t.Errorf("window %s", c.Window())
	}
}

// RFC 8257 §3.3 step 6: DCTCP.Alpha = DCTCP.Alpha * (1 - g) + g * M, where M is the share of
// marked bytes.
func TestDCTCPAlphaFollowsTheShareOfMarkedBytes(t *testing.T) {
	c := newTestDCTCP()
	c.Handle(0, Signal{Kind: Ack, Bytes: 1000, InFlight: 100_000}) // begins the first RTT
	if c.alpha != 1 {
		t.Errorf("alpha %v after the first ACK", c.alpha)
	}
	want := 1.0
	ackRTT(c, 100, 0)
	ackRTT(c, 1, 0) // of a packet sent after the beginning of the RTT
	want *= 15.0 / 16
	if c.alpha != want {
		t.Errorf("alpha %v after an RTT without marks, want %v", c.alpha, want)
	}
	c.counted, c.marked = 0, 0
	c.span.begin(99_000)
	ackRTT(c, 100, 25)
	if want = want*15/16 + 0.25/16; math.Abs(c.alpha-want) > 1e-12 {
		t.Errorf("alpha %v after 25 marks of 100, want %v", c.alpha, want)
	}
}

// Step 9: the first mark reduces by (1 - DCTCP.Alpha / 2); with alpha 1, by half.
func TestDCTCPMarkCutsByHalfOfAlpha(t *testing.T) {
	c := newTestDCTCP()
	c.Handle(0, Signal{Kind: Ack, Bytes: 1000, InFlight: 100_000, Marked: true})
	if c.Rate() != line/2 {
		t.Errorf("%s after a mark at alpha 1", c.Rate())
	}
	c = newTestDCTCP()
	c.alpha = 0.5
	c.Handle(0, Signal{Kind: Ack, Bytes: 1000, InFlight: 100_000, Marked: true})
	if c.Rate() != line*3/4 {
		t.Errorf("%s after a mark at alpha 0.5", c.Rate())
	}
}

// At most one cut per window of data (§3.3). CWR ends with the ACK of a packet that was sent
// after the cut (high_seq = snd_nxt).
func TestDCTCPCutsOncePerRTT(t *testing.T) {
	c := newTestDCTCP()
	c.Handle(0, Signal{Kind: Ack, Bytes: 1000, InFlight: 100_000, Marked: true})
	ackRTT(c, 100, 100)
	if c.Rate() != line/2 {
		t.Errorf("%s after an RTT of marks, want one cut", c.Rate())
	}
	c.alpha = 1
	ackRTT(c, 1, 1)
	if got := c.rate / float64(line); math.Abs(got-0.25) > 1e-9 {
		t.Errorf("%v of the line after a mark in the next RTT, want 0.25", got)
	}
}

// Without marks the rate rises by one packet per RTT, not within CWR, up to the line.
func TestDCTCPRisesOncePerRTT(t *testing.T) {
	c := newTestDCTCP()
	c.rate = float64(line / 2)
	c.Handle(0, Signal{Kind: Ack, Bytes: 1000, InFlight: 99_000})
	want := float64(line/2) + 400e6 // 1000 bytes in 20 us
	if c.rate != want {
		t.Errorf("%v, want %v", c.rate, want)
	}
	ackRTT(c, 99, 0)
	if c.rate != want {
		t.Errorf("%v within the RTT, want %v", c.rate, want)
	}
	ackRTT(c, 1, 0)
	if want += 400e6; c.rate != want {
		t.Errorf("%v after the RTT, want %v", c.rate, want)
	}
	c.rate = float64(line) - 1
	ackRTT(c, 200, 0)
	if c.Rate() != line {
		t.Errorf("%s above the line", c.Rate())
	}
}

func TestDCTCPDoesNotRiseInCWR(t *testing.T) {
	c := newTestDCTCP()
	c.Handle(0, Signal{Kind: Ack, Bytes: 1000, InFlight: 200_000, Marked: true})
	c.span.begin(0) // an RTT ends within CWR
	c.Handle(0, Signal{Kind: Ack, Bytes: 1000, InFlight: 100_000})
	if c.Rate() != line/2 {
		t.Errorf("%s, want no increase in CWR", c.Rate())
	}
}

func TestDCTCPFloor(t *testing.T) {
	c := newTestDCTCP()
	for range 100 {
		c.alpha = 1
		c.Handle(0, Signal{Kind: Ack, Bytes: 1000, Marked: true})
		c.reduced = false
	}
	if c.Rate() != 100*unit.MegabitPerSec {
		t.Errorf("%s", c.Rate())
	}
}

// In steady state with marks in a share F of RTTs' packets, alpha converges to F (SIGCOMM'10,
// §3.2: alpha estimates the share of marked packets).
func TestDCTCPAlphaConverges(t *testing.T) {
	c := newTestDCTCP()
	for range 200 {
		ackRTT(c, 100, 30)
	}
	if math.Abs(c.alpha-0.3) > 0.01 {
		t.Errorf("alpha %v, want 0.3", c.alpha)
	}
}

func TestDCTCPIgnoresOtherSignals(t *testing.T) {
	c := newTestDCTCP()
	c.Handle(0, Signal{Kind: CNP, Marked: true})
	if c.Rate() != line {
		t.Errorf("%s after a CNP", c.Rate())
	}
}
