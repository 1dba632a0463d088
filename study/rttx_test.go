package study

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

var update = flag.Bool("update", false, "write docs/figures anew")

// RTTX-57: the worked example on the wire: P = 8, P_e = 5, level 3, T_r + 1 us, an RTT
// that is 1 us longer than without conversion, and a lower rate.
func TestRTTXExample(t *testing.T) {
	steps := func(set ...topology.Setting) []exampleStep {
		with, without, err := exampleRuns(memory{}, set)
		if err != nil {
			t.Fatal(err)
		}
		return with.steps(without)
	}
	here := steps()
	want := []string{"P = 8, P_e = 5", "level 3 (severe), was 0", "T_r + 1us", "1.545us, without conversion 545ns: 1us more", "-3.84 %, without conversion -0.34 %"}
	for i, s := range here {
		if s.Here != want[i] || s.At == unit.Never {
			t.Errorf("%s: %s at %s, want %s", s.What, s.Here, s.At, want[i])
		}
	}
	if len(here) != len(want) {
		t.Errorf("%d steps", len(here))
	}
	// A different D yields a different increment: the result is not hard-coded.
	here = steps(settings("s0.rttx_d", "8us")...)
	if here[2].Here != "T_r + 4us" || !strings.HasSuffix(here[3].Here, ": 4us more") {
		t.Errorf("D = 8us: %+v", here)
	}
}

var compare = sync.OnceValues(func() ([]Answer, error) { return answersOn(memory{}, nil) })

// compared returns the answers of a path by sender.
func compared(t *testing.T, path string) map[string]Answer {
	t.Helper()
	answers, err := compare()
	if err != nil {
		t.Fatal(err)
	}
	bySender := map[string]Answer{}
	for _, a := range answers {
		if a.Path == path {
			bySender[a.Sender.Name] = a
		}
		if a.Run.Drops != 0 || a.Run.Untracked != 0 {
			t.Errorf("%s, %s: %d drops, %d untracked", a.Path, a.Sender.Name, a.Run.Drops, a.Run.Untracked)
		}
	}
	if len(bySender) != len(RTTXSenders) {
		t.Fatalf("%d senders", len(bySender))
	}
	return bySender
}

func reactionOf(t *testing.T, a Answer) float64 {
	t.Helper()
	r, ok := a.Reaction()
	if !ok {
		t.Fatalf("%s, %s: no reaction", a.Path, a.Sender.Name)
	}
	return r
}

// RTTX-59: feedback takes less than half an RTT, the minimum of a closed loop. The
// fixed increment returns with the next ACK, and the sender slows down after only the
// time from the switch to the sender, a third of the base RTT of the 16-to-2 rack. With
// table 1 the eight packets of a window must arrive first, which takes 3.5 us at 20
// Gbit/s.
func TestReactionOnTheRack(t *testing.T) {
	by := compared(t, "rttx-16to2")
	if r := reactionOf(t, by["conversion, fixed D"]); r < 1.0/3 || r > 0.36 {
		t.Errorf("fixed D: %.3f RTT, want little more than the 10us from s1 to h1", r)
	}
	window := float64(8*1086*unit.Byte) * 8e3 / 20 // ps, of 8 packets at 20 Gbit/s
	fixed, table := by["conversion, fixed D"], by["conversion, table 1"]
	most := reactionOf(t, fixed) + window/float64(table.BaseRTT)
	if r := reactionOf(t, table); r < 1.0/3 || r > most {
		t.Errorf("table 1: %.3f RTT, want at most a window more than the fixed D, %.3f", r, most)
	}
	for _, sender := range []string{"TIMELY", "TIMELY + CNP", "DCQCN"} {
		if r := reactionOf(t, by[sender]); r < 0.5 || r > 1 {
			t.Errorf("%s: %.3f RTT, want it between 1/2 and 1", sender, r)
		}
	}
}

// RTTX-62, RTTX-67: over a wide area that does not mark, a converter at the data
// centre's edge reacts within 3 us, three thousandths of the RTT. A signal that makes
// the round trip takes a full RTT.
func TestReactionOverAWideArea(t *testing.T) {
	by := compared(t, "rttx-wan")
	for _, sender := range []string{"conversion, table 1", "conversion, fixed D"} {
		if r := reactionOf(t, by[sender]); r > 0.003 {
			t.Errorf("%s: %.3f RTT", sender, r)
		}
	}
	for _, sender := range []string{"TIMELY", "TIMELY + CNP", "TIMELY + CNP, CNP first", "DCQCN"} {
		if r := reactionOf(t, by[sender]); r < 0.95 {
			t.Errorf("%s: %.3f RTT, want about 1", sender, r)
		}
	}
}

// RTTX-60, RTTX-63: two signals at one sender disagree, and cut one phase twice. The
// order ECN first makes that rarer, and the conversion leaves one signal.
func TestConflicts(t *testing.T) {
	for _, path := range RTTXPaths {
		by := compared(t, path)
		both, first := by["TIMELY + CNP"].Conflicts, by["TIMELY + CNP, CNP first"].Conflicts
		if both.Against == 0 || both.Twice == 0 || both.Alone == 0 {
			t.Errorf("%s: two signals: %+v", path, both)
		}
		if first.Twice >= both.Twice {
			t.Errorf("%s: cut twice %d times with ECN first, %d without", path, first.Twice, both.Twice)
		}
		for sender, a := range by {
			if !strings.HasPrefix(sender, "conversion") {
				continue
			}
			// RTTX-61: no CNP reaches the sender.
			if c := a.Conflicts; c.CNPCuts != 0 || c.Against != 0 || c.Twice != 0 || c.RTTCuts == 0 {
				t.Errorf("%s, %s: %+v", path, sender, c)
			}
		}
	}
}

// The figures of the guide are those that the study draws. `-update` rewrites them;
// commit them only if you know the cause of the change.
func TestFiguresOfTheGuide(t *testing.T) {
	answers, err := compare()
	if err != nil {
		t.Fatal(err)
	}
	figures := rttxFigures(answers)
	for _, f := range figures {
		var drawn bytes.Buffer
		if err := f.SVG(&drawn); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join("..", "docs", "figures", "rttx", f.Name+".svg")
		if *update {
			if err := os.WriteFile(name, drawn.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if kept, err := os.ReadFile(name); err != nil || !bytes.Equal(kept, drawn.Bytes()) {
			t.Errorf("%s differs from the study's drawing (%v): go test ./study -update", name, err)
		}
	}
	if len(figures) != 5 {
		t.Errorf("%d figures", len(figures))
	}
}
