package rttx

import (
	"slices"
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

// settings returns the published settings, with an age that never expires a flow here.
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

// feed sends packets of the flow, M for one that met congestion, and returns the level
// after each. None of them waits.
func feed(c *Converter, packets string) (levels []int) {
	for _, p := range packets {
		levels = append(levels, c.Forward(0, there, p == 'M').Level)
		c.Left(0, there)
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
	if f.counters != (counters{packets: 3, marked: 2, level: 2}) {
		t.Errorf("after 11 packets: %+v", f.counters)
	}
	wantIncrement(t, c, 2, 500*ns)
	// RTTX-10: the flag is what lets a return packet pass or not: it is set at level 1,
	// and not at level 0.
	feed(c, "-----")
	wantIncrement(t, c, 1, 250*ns)
	if s := c.Stats(); s.Rewritten != 2 || s.Returned != 2 {
		t.Errorf("%d of %d return packets rewritten at levels 2 and 1", s.Rewritten, s.Returned)
	}
	feed(c, "--------")
	wantIncrement(t, c, 0, 0)
	if s := c.Stats(); s.Rewritten != 2 || s.Returned != 3 {
		t.Errorf("%d of %d return packets rewritten, want the one at level 0 left alone", s.Rewritten, s.Returned)
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

// RTTX-20, RTTX-21: each forward packet brings the flow's state up to date: level 0
// is not congested, 1 and 2 slight, 3 and 4 severe.
func TestThreeStatesOfFiveLevels(t *testing.T) {
	c := converter(t, settings(func(p *Params) { p.Way = WayGraded }))
	var got []State
	for _, p := range "-MMMMM----" {
		got = append(got, c.Forward(0, there, p == 'M').State)
	}
	want := []State{NotCongested, Slight, Slight, Severe, Severe, Severe, Severe, Slight, Slight, NotCongested}
	if !slices.Equal(got, want) {
		t.Errorf("way 2: %v, want %v", got, want)
	}
	if s := c.Stats().States; s != [states]uint64{2, 4, 4} {
		t.Errorf("packets by state: %v, want 2, 4, 4", s)
	}
	// Way 4 moves it at the end of a window.
	c = converter(t, settings(nil))
	for window, want := range map[string]State{"M-------": NotCongested, "MMM-----": Slight, "MMMM----": Slight, "MMMMM---": Severe, "MMMMMMMM": Severe} {
		before := c.Forward(0, there, false).State
		for range 6 {
			if got := c.Forward(0, there, false).State; got != before {
				t.Errorf("%s within a window after %s", got, before)
			}
		}
		c.Forward(0, there, false)
		feed(c, window[:7])
		if got := c.Forward(0, there, window[7] == 'M').State; got != want {
			t.Errorf("%s: %s, want %s", window, got, want)
		}
	}
	// The lower half of any number of levels is slight.
	for level, want := range []State{NotCongested, Slight, Slight, Severe, Severe, Severe} {
		if got := StateOf(level, 5); got != want {
			t.Errorf("N = 5, level %d: %s, want %s", level, got, want)
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

// RTTX-51, RTTX-53: ways 1 to 3 step the level with each forward packet: +1 with an
// event, N at most; -1 without, 0 at least.
func TestLevelLawOfFixedAndGradedIncrements(t *testing.T) {
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
	// It is not silent while a packet of it waits: that one here, for a millisecond.
	feed(c, "MMMMMMM")
	for _, row := range []struct {
		now  unit.Time
		want int
	}{{500 * us, 4}, {unit.Millisecond + 60*us - 1, 4}, {unit.Millisecond + 60*us, 0}} {
		if row.now >= unit.Millisecond && c.flows.oldest().waiting > 0 {
			c.Left(unit.Millisecond, there)
		}
		if level, _ := c.Return(row.now, back); level != row.want {
			t.Errorf("%s, a packet left after 1ms: level %d, want %d", row.now, level, row.want)
		}
	}
}

// RTTX-4, RTTX-7: without other settings the key is that of the queue pair, found by
// the table of pairs. RTTX-24: ECN is reset to Not-ECT. RTTX-33: T_r is rewritten.
// RTTX-17: CE is the event. RTTX-42: the table decides on the amount. RTTX-41: P_max is
// a floor.
func TestDefaultsMatchThePatent(t *testing.T) {
	p := Default()
	if p.Key != KeyQueuePair || p.Match != MatchPairs || p.Clear != ClearNotECT || p.Stamp != StampReceived {
		t.Errorf("key %s, match %s, clear %s, stamp %s", p.Key, p.Match, p.Clear, p.Stamp)
	}
	if p.Judge != JudgeCE || p.Way != WayTable || p.Bound != BoundMax {
		t.Errorf("judge %s, way %s, bound %s", p.Judge, p.Way, p.Bound)
	}
}
