package rttx

import (
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
)

const (
	us = unit.Microsecond
	ns = unit.Nanosecond

	hostA, hostB = 0x0a000001, 0x0a000002
	senderQP     = 0x10
	receiverQP   = 0x800010
)

// there is a packet of the flow on its way there, back the ACK that answers it:
// RoCEv2 has the same destination port both ways, and each end a QPN of its own.
var (
	there = Fields{Src: hostA, Dst: hostB, SrcPort: 0xc123, DstPort: 4791, QP: receiverQP}
	back  = Fields{Src: hostB, Dst: hostA, SrcPort: 0xc123, DstPort: 4791, QP: senderQP}
	// mirrored is the ACK of a receiver that swaps the ports.
	mirrored = Fields{Src: hostB, Dst: hostA, SrcPort: 4791, DstPort: 0xc123, QP: senderQP}
	known    = []Pair{{Forward: there, ReturnQP: senderQP}}
)

// settings are the published ones, with an age that does not interfere.
func settings(change func(*Params)) Params {
	p := Default()
	p.Age = unit.Second
	if change != nil {
		change(&p)
	}
	return p
}

func converter(t *testing.T, p Params) *Converter {
	t.Helper()
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	return New(p, known, 25*unit.Kilobyte, []unit.Rate{100 * unit.GigabitPerSec})
}

// feed sends packets of the flow, M for one that met congestion, and gives the
// levels after each.
func feed(c *Converter, packets string) (levels []int) {
	for _, p := range packets {
		levels = append(levels, c.Forward(0, there, p == 'M').Level)
	}
	return levels
}

func wantIncrement(t *testing.T, c *Converter, wantLevel int, want unit.Time) {
	t.Helper()
	if level, got := c.Return(0, back); level != wantLevel || got != want {
		t.Errorf("return packet: level %d, increment %s, want %d and %s", level, got, wantLevel, want)
	}
}

// RTTX-57: port 100 Gbit/s, D = 2 us, window 8; 5 of the 8 packets of window 1 are
// marked: e is in [0.6, 0.8), the level 3, and the ACK's RTT grows by D/2 = 1 us.
func TestWorkedExample(t *testing.T) {
	c := converter(t, settings(nil))
	feed(c, "M-MM-M-")
	wantIncrement(t, c, 0, 0)
	feed(c, "M")
	wantIncrement(t, c, 3, us)
	if s := c.Stats(); s.Forward != 8 || s.Events != 5 || s.Rewritten != 1 {
		t.Errorf("counted %+v, want P = 8, P_e = 5, one rewritten", s)
	}
}

// RTTX-9: the first packet of a flow registers its FlowKey; P, P_e and Cong_Level
// begin at 0, before the packet itself is counted.
func TestFirstPacketRegisters(t *testing.T) {
	c := converter(t, settings(nil))
	if v := c.Forward(0, there, true); !v.Counted || v.Was != 0 || v.Level != 0 {
		t.Errorf("first packet: %+v", v)
	}
	f := c.flows.oldest()
	if f.key != c.params.flowKey(there) || f.counters != (counters{packets: 1, marked: 1}) {
		t.Errorf("registered %+v", f)
	}
}

// RTTX-8, RTTX-10, RTTX-11: FlowKey, P, P_e, cong_flag = (Cong_Level > 0), and
// Cong_Level, which is the index into {0, D/8, D/4, D/2, D}.
func TestStateOfAFlow(t *testing.T) {
	c := converter(t, settings(nil))
	for level, want := range []unit.Time{0, 250 * ns, 500 * ns, us, 2 * us} {
		if c.amounts[level] != want {
			t.Errorf("index %d: %s, want %s", level, c.amounts[level], want)
		}
	}
	feed(c, "MMMM----MM-")
	f := c.flows.oldest()
	if f.counters != (counters{packets: 3, marked: 2, level: 2}) || !f.congested() {
		t.Errorf("after 11 packets: %+v", f.counters)
	}
	feed(c, "-----")
	if feed(c, "--------"); f.congested() || f.level != 0 {
		t.Errorf("after a window without an event: %+v", f.counters)
	}
}

// RTTX-65: the counters of a flow have a byte each, and the increments are N + 1
// table entries: nothing is computed per packet but sums and comparisons.
func TestStateIsSmall(t *testing.T) {
	c := converter(t, settings(nil))
	if got := sizeOf(counters{}); got != 3 {
		t.Errorf("the counters of a flow take %d bytes", got)
	}
	for level := c.params.Levels + 1; level < len(c.amounts); level++ {
		if c.amounts[level] != 0 {
			t.Errorf("an increment for level %d of %d", level, c.params.Levels)
		}
	}
	if n := testing.AllocsPerRun(1000, func() { feed2(c); c.Return(0, back) }); n != 0 {
		t.Errorf("%v allocations per packet", n)
	}
}

func feed2(c *Converter) {
	c.Forward(0, there, true)
	c.Forward(0, there, false)
}

// RTTX-19: P counts every forward packet, P_e those with a congestion event.
func TestCounting(t *testing.T) {
	c := converter(t, settings(nil))
	for i, want := range []counters{
		{packets: 1}, {packets: 2, marked: 1}, {packets: 3, marked: 1}, {packets: 4, marked: 2},
	} {
		c.Forward(0, there, i%2 == 1)
		if got := c.flows.oldest().counters; got != want {
			t.Errorf("packet %d: %+v, want %+v", i+1, got, want)
		}
	}
}

// RTTX-20, RTTX-21: not congested is level 0, slight 1 and 2, severe 3 and 4.
func TestThreeStatesOfFiveLevels(t *testing.T) {
	for level, want := range []State{NotCongested, Slight, Slight, Severe, Severe} {
		if got := StateOf(level, 4); got != want {
			t.Errorf("level %d: state %d, want %d", level, got, want)
		}
	}
}

// RTTX-22, RTTX-46: a window is a fixed number of packets, 8; at its end the level
// is set, P and P_e are cleared, and the next window starts.
func TestWindow(t *testing.T) {
	c := converter(t, settings(nil))
	if c.params.Window != 8 {
		t.Errorf("window %d", c.params.Window)
	}
	for i, level := range feed(c, "MMMMMMMM"+"MM------"+"--------") {
		if want := []int{0, 4, 1, 0}[(i+1)/8]; level != want {
			t.Errorf("after packet %d: level %d, want %d", i+1, level, want)
		}
	}
	if got := c.flows.oldest().counters; got != (counters{}) {
		t.Errorf("after three windows: %+v", got)
	}
	// Another fixed number does as well: 3 of 5 is 0.6.
	c = converter(t, settings(func(p *Params) { p.Window = 5 }))
	if levels := feed(c, "MMM--"); levels[3] != 0 || levels[4] != 3 {
		t.Errorf("window of 5: levels %v", levels)
	}
}

// RTTX-39: way 1, the increment is D while the flow is congested at all.
func TestWayFixed(t *testing.T) {
	c := converter(t, settings(func(p *Params) { p.Way = WayFixed }))
	wantIncrement(t, c, 0, 0)
	feed(c, "M")
	wantIncrement(t, c, 1, 2*us)
	feed(c, "MM")
	wantIncrement(t, c, 3, 2*us)
}

// RTTX-40: way 2, f(level) goes linearly from 1 % to 100 % of D: with N = 4 it is
// 1, 34, 67, 100 %.
func TestWayGraded(t *testing.T) {
	c := converter(t, settings(func(p *Params) { p.Way = WayGraded }))
	for level, percent := range []unit.Time{0, 1, 34, 67, 100} {
		wantIncrement(t, c, level, 2*us*percent/100)
		feed(c, "M")
	}
	p := settings(func(p *Params) { p.Way, p.Levels = WayGraded, 100 })
	for level := 1; level <= 100; level++ {
		if got := p.increment(level, 100*us); got != unit.Time(level)*us {
			t.Errorf("N = 100, level %d: %s of 100us", level, got)
		}
	}
	p.Levels = 1
	if got := p.increment(1, us); got != us {
		t.Errorf("N = 1: %s of 1us", got)
	}
}

// RTTX-41: way 3, max(P_max, f(level)) D: P_max is a floor. With min it is a cap.
func TestWayProbabilistic(t *testing.T) {
	p := settings(func(p *Params) { p.Way, p.PMax = WayProbabilistic, 0.5 })
	for level, percent := range []unit.Time{0, 50, 50, 67, 100} {
		if got := p.increment(level, 2*us); got != 2*us*percent/100 {
			t.Errorf("max, level %d: %s, want %d %% of 2us", level, got, percent)
		}
	}
	p.Bound = BoundMin
	for level, percent := range []unit.Time{0, 1, 34, 50, 50} {
		if got := p.increment(level, 2*us); got != 2*us*percent/100 {
			t.Errorf("min, level %d: %s, want %d %% of 2us", level, got, percent)
		}
	}
}

// RTTX-42, RTTX-43: way 4, T(e) with e = P_e / P: [0, 0.2) 0, [0.2, 0.4) D/8,
// [0.4, 0.6) D/4, [0.6, 0.8) D/2, [0.8, 1] D, the lower ends included.
func TestWayTable(t *testing.T) {
	for _, row := range []struct {
		marked, packets uint8
		want            unit.Time
	}{
		{0, 100, 0},
		{19, 100, 0},
		{20, 100, 250 * ns},
		{39, 100, 250 * ns},
		{40, 100, 500 * ns},
		{59, 100, 500 * ns},
		{60, 100, us},
		{79, 100, us},
		{80, 100, 2 * us},
		{100, 100, 2 * us},
		{1, 5, 250 * ns},
		{2, 5, 500 * ns},
		{3, 5, us},
		{4, 5, 2 * us}, // e is a bound exactly
	} {
		p := settings(nil)
		if got := p.increment(int(grade(row.marked, row.packets)), 2*us); got != row.want {
			t.Errorf("e = %d/%d: %s, want %s", row.marked, row.packets, got, row.want)
		}
	}
}

// RTTX-44, RTTX-45: with P = 8, P_e of 0 and 1 give 0, 2 and 3 D/8, 4 D/4, 5 and 6
// D/2, 7 and 8 D; the levels are 0 to 4.
func TestIntegerTable(t *testing.T) {
	const d = 2 * us
	for marked, level := range []int{0, 0, 1, 1, 2, 3, 3, 4, 4} {
		c := converter(t, settings(nil))
		for i := range 8 {
			c.Forward(0, there, i < marked)
		}
		wantIncrement(t, c, level, []unit.Time{0, d / 8, d / 4, d / 2, d}[level])
	}
}

// RTTX-48: D = Buffer x 8 / (PortNum x PortRate).
func TestFormulaD(t *testing.T) {
	ports := func(n int, rate unit.Rate) (rates []unit.Rate) {
		for range n {
			rates = append(rates, rate)
		}
		return rates
	}
	for _, c := range []struct {
		buffer unit.Bytes
		rates  []unit.Rate
		want   unit.Time
	}{
		{25 * unit.Kilobyte, ports(1, 100*unit.GigabitPerSec), 2 * us},
		{32 * unit.Megabyte, ports(32, 100*unit.GigabitPerSec), 80 * us},
		{12 * unit.Megabyte, ports(17, 40*unit.GigabitPerSec), 141176471 * unit.Picosecond},
		{30 * unit.Kilobyte, append(ports(2, 40*unit.GigabitPerSec), 160*unit.GigabitPerSec), us},
	} {
		if got := FormulaD(c.buffer, c.rates); got != c.want {
			t.Errorf("%s over %d ports: %s, want %s", c.buffer, len(c.rates), got, c.want)
		}
	}
	// RTTX-49: the default is 2 us by hand; 0 asks for the formula.
	if d := Default().D; d != 2*us {
		t.Errorf("default D %s", d)
	}
	byFormula := New(settings(func(p *Params) { p.D = 0 }), known, 32*unit.Megabyte, ports(32, 100*unit.GigabitPerSec))
	if d := byFormula.Stats().D; d != 80*us {
		t.Errorf("D by formula %s, want 80us", d)
	}
}

// RTTX-50: the control plane sets D, also while the converter runs: the level
// stays, its increment is of the new D from the next return packet on.
func TestDChangesWhileRunning(t *testing.T) {
	c := converter(t, settings(nil))
	feed(c, "MMMMM---")
	wantIncrement(t, c, 3, us)
	c.SetD(8 * us)
	wantIncrement(t, c, 3, 4*us)
	if d := c.Stats().D; d != 8*us {
		t.Errorf("D is %s", d)
	}
}

// RTTX-51, RTTX-53: ways 1 to 3 step the level with each forward packet: +1 with an
// event, N at most; -1 without, 0 at least.
func TestLevelLawOfTheFirstWays(t *testing.T) {
	for _, way := range []Way{WayFixed, WayGraded, WayProbabilistic} {
		c := converter(t, settings(func(p *Params) { p.Way = way }))
		got := feed(c, "-M-MMMMMM-----M")
		want := []int{0, 1, 0, 1, 2, 3, 4, 4, 4, 3, 2, 1, 0, 0, 1}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: packet %d: level %d, want %d", way, i+1, got[i], want[i])
			}
		}
	}
	// N is a preset.
	c := converter(t, settings(func(p *Params) { p.Way, p.Levels = WayGraded, 2 }))
	if got := feed(c, "MMMM"); got[3] != 2 {
		t.Errorf("N = 2: level %d", got[3])
	}
	// RTTX-53: table 1 needs its five levels.
	p := settings(func(p *Params) { p.Levels = 5 })
	if p.Validate() == nil {
		t.Error("way table with N = 5 passes")
	}
}

// RTTX-52: the laws exclude each other: way 4 does not step within a window, and
// the others are not set at its end.
func TestLevelLawsDoNotMix(t *testing.T) {
	if got := feed(converter(t, settings(nil)), "MMMMMMM"); got[6] != 0 {
		t.Errorf("way 4 is at level %d within its first window", got[6])
	}
	c := converter(t, settings(func(p *Params) { p.Way = WayGraded }))
	if got := feed(c, "MMMMMM--"); got[7] != 2 {
		t.Errorf("way 2 ends a window at level %d, want 4 - 2", got[7])
	}
}

// RTTX-28, RTTX-29, RTTX-31: level 0 leaves a return packet alone; while the level
// is not 0, each of them gets the increment, not only the first.
func TestEveryReturnPacketWhileCongested(t *testing.T) {
	c := converter(t, settings(nil))
	feed(c, "-")
	wantIncrement(t, c, 0, 0)
	feed(c, "MM-----")
	for range 20 {
		wantIncrement(t, c, 1, 250*ns)
	}
	// RTTX-47: it holds until the next window ends.
	feed(c, "-------")
	wantIncrement(t, c, 1, 250*ns)
	feed(c, "-")
	wantIncrement(t, c, 0, 0)
}

// RTTX-38: a return packet of a flow that has no state stays as it is.
func TestUnknownFlow(t *testing.T) {
	c := converter(t, settings(nil))
	wantIncrement(t, c, 0, 0)
	stranger := back
	stranger.QP++
	feed(c, "MMMMMMMM")
	if level, d := c.Return(0, stranger); level != 0 || d != 0 {
		t.Errorf("a stranger's packet gets level %d, %s", level, d)
	}
	if s := c.Stats(); s.Unknown != 2 || s.Returned != 2 {
		t.Errorf("%d unknown of %d, want 2 of 2", s.Unknown, s.Returned)
	}
}

// RTTX-47: a flow that has been silent for the age loses level and counts.
func TestAgeing(t *testing.T) {
	c := converter(t, settings(func(p *Params) { p.Age = 60 * us }))
	feed(c, "MMMMMMMM-")
	for _, row := range []struct {
		now  unit.Time
		want int
	}{{60*us - 1, 4}, {60 * us, 0}, {61 * us, 0}} {
		if level, _ := c.Return(row.now, back); level != row.want {
			t.Errorf("%s after the last packet: level %d, want %d", row.now, level, row.want)
		}
	}
	if v := c.Forward(70*us, there, true); v.Level != 0 || v.Was != 0 {
		t.Errorf("the flow comes back at %+v", v)
	}
	if got := c.flows.oldest().counters; got != (counters{packets: 1, marked: 1}) {
		t.Errorf("and with %+v of its old window", got)
	}
}
