package cc

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Paper tests of the receiver under CETH. References are paragraphs of the Huawei
// document.

func cethNP(change ...func(*CETHParams)) CETHNotifier {
	p := DefaultCETH()
	for _, edit := range change {
		edit(&p)
	}
	return NewCETHNotifier(p)
}

// CETH-48: ¶185: the degree is the share of marked packets in a sliding window.
// CETH-49: 32 packets or 50 us; none 0, light to 1/3, medium to 2/3, heavy.
func TestDegreeFromTheShareOfMarks(t *testing.T) {
	for marked, want := range map[int]Degree{1: DegreeLight, 10: DegreeLight, 11: DegreeMedium, 21: DegreeMedium, 22: DegreeHeavy, 32: DegreeHeavy} {
		n := cethNP()
		for i := range 42 { // the first ten are marked and out of the window
			n.Packet(unit.Time(i)*unit.Microsecond, i < 10 || i >= 42-marked, Congestion{})
		}
		congested, g := n.Report(41 * unit.Microsecond)
		if !congested || g != (Congestion{Known: ItemDegree, Degree: want}) {
			t.Errorf("%d of 32 marked: %v %+v, want %s", marked, congested, g, want)
		}
	}
}

// CETH-48, CETH-49: the window slides over packets and over time: its counts
// equal a recount.
func TestWindowTwin(t *testing.T) {
	type packet struct {
		at     unit.Time
		marked bool
	}
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 8).Draw(t, "packets")
		n := cethNP(func(p *CETHParams) { p.WindowPackets = size })
		var all []packet
		now := unit.Time(0)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now += unit.Time(rapid.Int64Range(0, 30).Draw(t, "gap")) * unit.Microsecond
			marked := rapid.Bool().Draw(t, "marked")
			n.Packet(now, marked, Congestion{})
			all = append(all, packet{now, marked})
			window := all[max(0, len(all)-size):]
			for len(window) > 0 && now-window[0].at > 50*unit.Microsecond {
				window = window[1:]
			}
			count := 0
			for _, p := range window {
				if p.marked {
					count++
				}
			}
			if n.samples.Len() != len(window) || n.marked != count {
				t.Fatalf("%d of %d marked, want %d of %d", n.marked, n.samples.Len(), count, len(window))
			}
		}
	})
}

// CETH-53: the indication is the OR of the marks since the last ACK.
func TestIndicationCoversThePacketsOfTheACK(t *testing.T) {
	n := cethNP()
	for i, marked := range []bool{false, true, true, false, false} {
		n.Packet(unit.Time(i), marked, Congestion{})
		if n.Marked() != marked {
			t.Errorf("after packet %d: marked %v", i, n.Marked())
		}
	}
	if congested, _ := n.Report(5); !congested {
		t.Error("two of five marked: not indicated")
	}
	n.Acked()
	if congested, _ := n.Report(6); congested {
		t.Error("an ACK that covers no mark indicates congestion")
	}
}

// CETH-47: congestion of a flow without ACKs is reported while the latest
// packet was marked, and once more after a mark that was not reported yet.
func TestPresentStateOfAFlow(t *testing.T) {
	n := cethNP()
	present := func() bool {
		congested, _ := n.Present(10)
		return congested
	}
	n.Packet(0, true, Congestion{})
	if !present() {
		t.Error("a marked packet is not reported")
	}
	if n.Acked(); !present() {
		t.Error("no report although the latest packet is still marked")
	}
	n.Packet(1, true, Congestion{})
	n.Packet(2, false, Congestion{})
	if !present() {
		t.Error("an unreported mark was discarded")
	}
	if n.Acked(); present() {
		t.Error("a mark is reported although the latest packet is unmarked")
	}
}

// CETH-44: ¶166 to ¶178, fig. 13: the indication alone.
// CETH-45: ¶179 to ¶201, fig. 14: with information.
func TestCETHModes(t *testing.T) {
	for mode, want := range map[CETHMode]Item{CETHIndication: 0, CETHInformation: ItemDegree} {
		n := cethNP(func(p *CETHParams) { p.Mode = mode })
		n.Packet(0, true, Congestion{})
		if congested, g := n.Report(0); !congested || g.Known != want {
			t.Errorf("%s: %v %+v", mode, congested, g)
		}
	}
}

// CETH-50, CETH-51: ¶186: telemetry contains location, depth and delay, and the
// queue's occupancy determines the degree.
func TestDegreeFromTelemetry(t *testing.T) {
	for depth, want := range map[unit.Bytes]Degree{0: DegreeNone, 66_666: DegreeLight, 66_667: DegreeMedium, 133_334: DegreeHeavy, 900_000: DegreeHeavy} {
		for _, source := range []CETHSource{CETHINT, CETHIOAM} {
			n := cethNP(func(p *CETHParams) { p.Source = source })
			path := Congestion{Known: ItemLocation | ItemDepth | ItemDelay, Location: 7, Depth: depth, Delay: rtt}
			n.Packet(0, true, path)
			path.Known |= ItemDegree
			path.Degree = want
			if congested, g := n.Report(0); !congested || g != path {
				t.Errorf("%s, %s in the queue: %+v, want %+v", source, depth, g, path)
			}
		}
	}
}

// CETH-42: ¶193: a path without marks is reported as clear, without
// information.
func TestClearPathIsSignalledWithoutInformation(t *testing.T) {
	n := cethNP(func(p *CETHParams) { p.Source = CETHINT })
	n.Packet(0, false, Congestion{Known: ItemDepth, Depth: 100_000})
	if congested, g := n.Report(0); congested || g != (Congestion{}) {
		t.Errorf("%v %+v", congested, g)
	}
}
