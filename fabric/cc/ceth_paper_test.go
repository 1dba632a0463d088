package cc

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Paper tests of the sender under CETH. References are paragraphs of the Huawei
// document.

const rtt = 30 * unit.Microsecond

// cethFrom returns a reaction point at 40 Gbit/s with a window of 30 us that
// has sent packets of 1062 bytes with 1000 of payload.
func cethFrom(change ...func(*CETHParams)) *CETH {
	p := DefaultCETH()
	p.Window = rtt
	for _, edit := range change {
		edit(&p)
	}
	c := NewCETH(p, line, line)
	c.Handle(0, Signal{Kind: Sent, Bytes: 1062, Payload: 1000})
	return c
}

func indicated(path Congestion) Signal { return Signal{Kind: Indication, Marked: true, Path: path} }

var clearPath = Signal{Kind: Indication}

func degree(d Degree) Congestion { return Congestion{Known: ItemDegree, Degree: d} }

func only(degree, depth, delay CETHUse) func(*CETHParams) {
	return func(p *CETHParams) { p.Degree, p.Depth, p.Delay = degree, depth, delay }
}

// CETH-54: ¶175: congestion without information lowers the rate of the next time
// window, once in a window.
func TestIndicationAloneLowersTheRate(t *testing.T) {
	c := cethFrom()
	for at := unit.Time(0); at < 2*rtt; at += unit.Microsecond {
		c.Tick(at)
		c.Handle(at, indicated(Congestion{}))
		if want := line / 2 >> (at / rtt); c.Rate() != want {
			t.Fatalf("at %s the rate is %s, want %s", at, c.Rate(), want)
		}
	}
}

func table(p *CETHParams) { p.Degree = CETHTable }

// CETH-55: ¶198: each degree has its rate, which the first notification sets in
// one step.
// CETH-61: ¶118: a quantitative change.
func TestDegreeSetsTheRateInOneStep(t *testing.T) {
	for d, want := range map[Degree]unit.Rate{
		DegreeNone: line, DegreeLight: line * 3 / 4, DegreeMedium: line / 2, DegreeHeavy: line / 4,
	} {
		c := cethFrom(table)
		c.Handle(0, indicated(degree(d)))
		if c.Rate() != want {
			t.Errorf("%s: %s, want %s", d, c.Rate(), want)
		}
		// The table sets the rate at once: the same degree again changes
		// nothing.
		c.Handle(2*rtt, indicated(degree(d)))
		if c.Rate() != want || c.Window() != NoWindow {
			t.Errorf("%s again: %s, window %s", d, c.Rate(), c.Window())
		}
	}
}

// By default each degree scales the current rate by its share, again in each
// window with a notification, down to the floor. ¶15 has a rate for each
// degree; taking the share of the current rate is this project's choice.
func TestDegreeLeavesAShareOfTheRate(t *testing.T) {
	for d, divided := range map[Degree][2]unit.Rate{
		DegreeNone: {1, 1}, DegreeLight: {3, 4}, DegreeMedium: {1, 2}, DegreeHeavy: {1, 4},
	} {
		c, want := cethFrom(), line
		for n := range unit.Time(8) {
			c.Handle(n*rtt, indicated(degree(d)))
			if want = max(want*divided[0]/divided[1], 100*unit.MegabitPerSec); c.Rate() != want || c.Window() != NoWindow {
				t.Errorf("%s in window %d: %s and budget %s, want %s", d, n+1, c.Rate(), c.Window(), want)
			}
		}
	}
}

// A table may raise a rate that other items have lowered below it; a share
// never does.
func TestShareNeverRaisesACongestedRate(t *testing.T) {
	for use, want := range map[CETHUse]unit.Rate{CETHShare: line / 16, CETHTable: line / 4} {
		c := cethFrom(func(p *CETHParams) { p.Degree = use })
		c.Handle(0, indicated(Congestion{}))
		c.Handle(rtt, indicated(Congestion{}))
		c.Handle(2*rtt, indicated(degree(DegreeHeavy)))
		if c.Rate() != want {
			t.Errorf("%s: %s, want %s", use, c.Rate(), want)
		}
	}
}

// CETH-56: ¶199: depth determines the number of packets for which the path has
// room.
func TestDepthSetsThePacketBudget(t *testing.T) {
	for _, g := range []struct {
		depth unit.Bytes
		want  unit.Bytes // packets
	}{
		{0, 188}, // 200 KB hold 188 packets of 1062 bytes
		{200_000 - 10*1062, 10},
		{200_000 - 10*1062 + 1, 9},
		{200_000, 1}, // one keeps the flow alive
		{900_000, 1},
	} {
		c := cethFrom(only(CETHIgnore, CETHBudget, CETHIgnore))
		c.Handle(0, indicated(Congestion{Known: ItemDepth | ItemLocation, Location: 3, Depth: g.depth}))
		if c.Window() != g.want*1000 || c.Rate() != line {
			t.Errorf("%s in the queue: budget %s at %s, want %d packets at line rate", g.depth, c.Window(), c.Rate(), g.want)
		}
	}
}

// CETH-56: location alone identifies the queue but not its depth: half of it
// counts as free.
func TestLocationAloneSetsABudget(t *testing.T) {
	c := cethFrom(only(CETHIgnore, CETHBudget, CETHIgnore))
	c.Handle(0, indicated(Congestion{Known: ItemLocation, Location: 3}))
	if c.Window() != 94*1000 {
		t.Errorf("budget %s, want 94 packets", c.Window())
	}
}

// CETH-57: ¶200: delay sets the rate, or the budget, each in inverse proportion.
func TestDelaySetsRateOrBudget(t *testing.T) {
	for _, g := range []struct {
		delay unit.Time
		rate  unit.Rate
		pipe  unit.Bytes // packets: 40 Gbit/s carry 150000 bytes in 30 us, 141 packets
	}{
		{rtt / 2, line, 141}, {rtt, line / 2, 70}, {2 * rtt, line / 4, 35}, {rtt / 10, line, 141},
	} {
		path := Congestion{Known: ItemDelay, Delay: g.delay}
		c := cethFrom(only(CETHIgnore, CETHIgnore, CETHRate))
		c.Handle(0, indicated(path))
		if c.Rate() != g.rate || c.Window() != NoWindow {
			t.Errorf("%s: %s and budget %s, want %s", g.delay, c.Rate(), c.Window(), g.rate)
		}
		c = cethFrom(only(CETHIgnore, CETHIgnore, CETHBudget))
		c.Handle(0, indicated(path))
		if c.Window() != g.pipe*1000 || c.Rate() != line {
			t.Errorf("%s: budget %s at %s, want %d packets", g.delay, c.Window(), c.Rate(), g.pipe)
		}
	}
}

// CETH-58: ¶197: alone or combined: the strictest limit applies.
func TestMethodsTogether(t *testing.T) {
	path := Congestion{
		Known: ItemDegree | ItemLocation | ItemDepth | ItemDelay, Degree: DegreeLight,
		Depth: 200_000 - 20*1062, Delay: rtt,
	}
	c := cethFrom(only(CETHTable, CETHBudget, CETHRate))
	c.Handle(0, indicated(path))
	if c.Rate() != line/2 || c.Window() != 20_000 {
		t.Errorf("%s and %s, want the rate of the delay, 20Gbps, and 20 packets", c.Rate(), c.Window())
	}
	path.Degree = DegreeHeavy
	c = cethFrom(only(CETHTable, CETHBudget, CETHBudget))
	c.Handle(0, indicated(path))
	if c.Rate() != line/4 || c.Window() != 20_000 {
		t.Errorf("%s and %s, want the rate of the degree, 10Gbps, and 20 packets", c.Rate(), c.Window())
	}
}

// A reported item that is not in use has no effect. Without any item in use,
// the notification counts as one without information.
func TestUnusedItemsDoNothing(t *testing.T) {
	c := cethFrom(only(CETHIgnore, CETHBudget, CETHIgnore))
	c.Handle(0, indicated(Congestion{Known: ItemDegree | ItemDelay, Degree: DegreeHeavy, Delay: rtt}))
	if c.Rate() != line/2 || c.Window() != NoWindow {
		t.Errorf("%s and %s, want half of line rate", c.Rate(), c.Window())
	}
}

// CETH-59: ¶30: a path without congestion keeps the rate.
// CETH-60: ¶31: or sets it to the preset rate.
// CETH-62: preset is line rate by default.
func TestClearPath(t *testing.T) {
	for _, g := range []struct {
		clear  CETHClear
		preset float64
		want   unit.Rate
	}{{CETHKeep, 1, line / 4}, {CETHPreset, 1, line}, {CETHPreset, 0.5, line / 2}} {
		c := cethFrom(func(p *CETHParams) { p.Clear, p.Preset, p.Depth = g.clear, g.preset, CETHBudget })
		path := Congestion{Known: ItemDegree | ItemDepth, Degree: DegreeHeavy, Depth: 100_000}
		c.Handle(0, indicated(path))
		c.Handle(rtt, clearPath)
		if c.Rate() != g.want || c.Window() != NoWindow {
			t.Errorf("%s %v: %s and budget %s, want %s and none", g.clear, g.preset, c.Rate(), c.Window(), g.want)
		}
	}
}

// CETH-62: the window is one base RTT: the rate changes at most once in it, and
// the last notification in it takes effect at its end.
func TestOneChangeInAWindow(t *testing.T) {
	c := cethFrom(table)
	c.Handle(0, indicated(degree(DegreeLight)))
	c.Handle(10*unit.Microsecond, indicated(degree(DegreeHeavy)))
	c.Handle(20*unit.Microsecond, indicated(degree(DegreeMedium)))
	if c.Rate() != line*3/4 {
		t.Fatalf("within the window the rate is %s", c.Rate())
	}
	if at, ok := c.Next(); !ok || at != rtt {
		t.Fatalf("next tick at %s, %v", at, ok)
	}
	c.Tick(rtt)
	if c.Rate() != line/2 {
		t.Errorf("after the window the rate is %s, want %s", c.Rate(), line/2)
	}
	if _, ok := c.Next(); ok {
		t.Error("an unneeded timer runs")
	}
	// The change began another window.
	c.Handle(rtt+1, clearPath)
	if c.Rate() != line/2 {
		t.Error("changed twice in a window")
	}
	c.Tick(2 * rtt)
	if c.Rate() != line {
		t.Errorf("%s after a clear window", c.Rate())
	}
}

// CETH-39: ¶144: version 0 has no data: the reaction is that to a plain CNP. A
// CNP causes the same.
func TestPlainNotificationCuts(t *testing.T) {
	for _, s := range []Signal{indicated(Congestion{}), {Kind: CNP}, {Kind: CNP, Marked: true}} {
		c := cethFrom()
		c.Handle(0, s)
		if c.Rate() != line/2 {
			t.Errorf("%+v: %s, want the first cut of DCQCN", s, c.Rate())
		}
	}
}

// For any input the rate stays between the floor and line rate, and no timer
// lies in the past.
func TestCETHStaysWithinBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		uses := []CETHUse{CETHIgnore, CETHRate, CETHBudget}
		c := cethFrom(func(p *CETHParams) {
			p.Delay = rapid.SampledFrom(uses).Draw(t, "delay")
			p.Degree = rapid.SampledFrom([]CETHUse{CETHIgnore, CETHShare, CETHTable}).Draw(t, "degree")
			p.Depth = rapid.SampledFrom([]CETHUse{CETHIgnore, CETHBudget}).Draw(t, "depth")
			p.Clear = rapid.SampledFrom([]CETHClear{CETHKeep, CETHPreset}).Draw(t, "clear")
		})
		now := unit.Time(0)
		changes, last := 0, -rtt
		for range rapid.IntRange(1, 60).Draw(t, "signals") {
			now += unit.Time(rapid.Int64Range(0, int64(rtt)).Draw(t, "gap"))
			before := [2]int64{int64(c.Rate()), int64(c.Window())}
			if at, ok := c.Next(); ok && at <= now {
				c.Tick(now)
			} else {
				c.Handle(now, drawNotice(t))
			}
			if at, ok := c.Next(); ok && at <= now {
				t.Fatalf("at %s a timer is still due at %s", now, at)
			}
			if c.Rate() > line || c.Rate() < DefaultCETH().MinRate || c.Window() < 0 {
				t.Fatalf("rate %s, window %s", c.Rate(), c.Window())
			}
			if before != [2]int64{int64(c.Rate()), int64(c.Window())} {
				if changes++; now-last < rtt {
					t.Fatalf("two changes within %s", now-last)
				}
				last = now
			}
		}
	})
}

func drawNotice(t *rapid.T) Signal {
	return Signal{
		Kind: rapid.SampledFrom([]SignalKind{Indication, CNP, Ack}).Draw(t, "kind"), Marked: rapid.Bool().Draw(t, "marked"),
		Path: Congestion{
			Known: Item(rapid.Uint8Range(0, 15).Draw(t, "known")), Degree: Degree(rapid.Uint8().Draw(t, "degree")),
			Depth: unit.Bytes(rapid.Uint32().Draw(t, "depth")), Delay: unit.Time(rapid.Int64Range(0, int64(unit.Second)).Draw(t, "delay")),
		},
	}
}

func TestCETHParamsAreValidated(t *testing.T) {
	if err := DefaultCETH().Validate(); err != nil {
		t.Error(err)
	}
	bad := CETHParams{Words: 5, Light: 0.7, Medium: 0.3, Cut: 1, Window: -1, Hops: 9, MinRate: -1}
	err := bad.Validate()
	for _, part := range []string{
		`mode ""`, `form ""`, `source ""`, "words 5", "window_packets 0", "window_time 0ps", "light 0.7 and medium 0.3",
		"room", "hops 9", "interval", `degree ""`, `depth ""`, `delay ""`, `clear ""`, "rate_none", "preset", "cut 1", "min_rate",
	} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not contain %q", err, part)
		}
	}
}
