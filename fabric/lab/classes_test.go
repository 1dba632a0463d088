package lab_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/switching"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

const twoLossless = `name: classes
duration: 1ms
defaults: {link: {rate: 40Gbps, delay: 1us}, switch: {lossless: [3, 4], xoff: 200KB, class4: {alpha: 1/4}, class1: {reserve: 3KB, limit: 100KB}}}
nics: {h0..h1: }
switches: {s0: }
links: [{endpoints: [h0..h1, s0]}]
`

// Class settings changed in any order while the rack runs yield the same thresholds as a
// file with these settings from the start.
func TestChangedClassesMatchTheFile(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	settings := func() topology.Setting {
		lossless, lossy := 3+random.IntN(2), random.IntN(3)
		kilobytes := fmt.Sprintf("%dKB", 20+random.IntN(100))
		list := []topology.Setting{
			{Key: "switch.xoff", Value: kilobytes},
			{Key: "s0.alpha_shift", Value: fmt.Sprint(random.IntN(5))},
			{Key: "s0.xon_offset", Value: fmt.Sprintf("%dKB", random.IntN(18))},
			{Key: fmt.Sprintf("s0.class%d.xoff", lossless), Value: kilobytes},
			{Key: fmt.Sprintf("s0.class%d.alpha", lossless), Value: []string{"1/8", "1", "0.5", "4"}[random.IntN(4)]},
			{Key: fmt.Sprintf("s0.class%d.xon_offset", lossless), Value: fmt.Sprintf("%dKB", random.IntN(18))},
			{Key: fmt.Sprintf("s0.class%d.limit", lossy), Value: kilobytes},
			{Key: fmt.Sprintf("s0.class%d.alpha", lossy), Value: "1/2"},
		}
		return list[random.IntN(len(list))]
	}
	for range 40 {
		s, err := scenariofile.Parse("classes.yaml", []byte(twoLossless))
		if err != nil {
			t.Fatal(err)
		}
		var given []topology.Setting
		live := newLab(t, s)
		for at := unit.Microsecond; len(given) < 12; at += unit.Microsecond {
			one := settings()
			if live.Change(topology.Change{At: at, Verb: topology.ChangeSet, Set: one}) == nil {
				given = append(given, one)
			}
		}
		// In a file the last setting wins too, and what the switch gives comes after
		// what a class has of its own.
		file, err := scenariofile.ParseWith("classes.yaml", []byte(twoLossless), given)
		if err != nil {
			t.Fatal(err)
		}
		live.Run(s.Duration)
		if diff := cmp.Diff(accounts(newLab(t, file).Machine(2)), accounts(live.Machine(2))); diff != "" {
			t.Fatalf("after %v:\n%s", given, diff)
		}
	}
}

// accounts returns the account of each class at port 0 of an empty switch.
func accounts(m fabric.Machine) (list []switching.Account) {
	for class := range fabric.Priority(fabric.Priorities) {
		a := m.(*switching.Switch).Account(0, class)
		if !a.Dynamic {
			a.AlphaShift = 0 // counts for nothing
		}
		list = append(list, a)
	}
	return list
}

// classedRack draws a star with flows in lossless and lossy classes, and buffers small
// enough to reach the thresholds.
func classedRack(t *rapid.T) *topology.Scenario {
	pick := func(label string, values ...string) string { return rapid.SampledFrom(values).Draw(t, label) }
	number := func(label string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, label) }
	var b strings.Builder
	fmt.Fprintf(&b, "name: random\nduration: 20ms\nbin: 20ms\nscheme: %s\n", pick("scheme", "pfc", "dcqcn", "timely", "pcn"))
	b.WriteString("defaults:\n  link: {rate: 40Gbps, delay: 1us}\n  nic: {timeout: 200us}\n")
	fmt.Fprintf(&b, "  switch: {buffer: %s, lossless: [3, 4], xoff: %s, arbitration: %s, marking: {1: red}, class4: {%s}, class1: {reserve: %s, limit: %s}, class2: {alpha: %s}}\n",
		pick("buffer", "400KB", "2MB"), pick("xoff", "0", "20KB"), pick("arbitration", "fifo", "ingress"),
		pick("class 4", "alpha: 1/16", "alpha: 1", "xoff: 8KB, xon_offset: 1KB", ""),
		pick("reserve", "0", "3KB"), pick("limit", "2KB", "20KB", "100KB"), pick("alpha", "1/32", "1", "8"))
	senders := number("senders", 2, 5)
	fmt.Fprintf(&b, "nics: {h0..h%d: , r0: {ack_class: %s}}\nswitches: {s0: }\nlinks:\n  - endpoints: [\"h0..h%d, r0\", s0]\nbursts:\n",
		senders-1, pick("ack", "control", "data"), senders-1)
	for class := 1; class <= 4; class++ {
		fmt.Fprintf(&b, "  - {name: b%d, from: h0..h%d, to: r0, flows_per_sender: %d, size: %dB, at: %dns, class: %d}\n",
			class, senders-1, number("flows", 1, 3), 4*number("words", 1, 10_000), number("at", 0, 10_000), class)
	}
	s, err := scenariofile.Parse("random.yaml", []byte(b.String()))
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, b.String())
	}
	return s
}

// Bursts in two lossless and two lossy classes share ports and buffer. At every bin each
// class of the switch has received what it sent, dropped and queues; the lossless
// classes lose nothing and only they are paused; and in the end every flow is complete,
// whatever its class has lost.
func TestClassesConserveFrames(t *testing.T) {
	lost := 0
	onRandomRacks(t, classedRack, func(t rapid.TB, s *topology.Scenario) {
		l := newLab(t, s)
		done := 0
		l.Listen = func(_ int, notes []fabric.Note) {
			for _, n := range notes {
				switch {
				case n.Kind == fabric.Completed:
					done++
				case n.Kind == fabric.PauseSent && n.Priority != 3 && n.Priority != 4:
					t.Fatalf("PAUSE for class %d", n.Priority)
				}
			}
		}
		sw := l.Machine(len(s.Nodes) - 1).(*switching.Switch)
		for at := unit.Time(0); at < s.Duration && done < len(s.Flows); at += 20 * unit.Microsecond {
			l.Run(at)
			dropped, err := balanced(sw.Stats())
			if err != nil {
				t.Fatalf("at %s: %v", at, err)
			}
			lost = max(lost, dropped)
		}
		if done < len(s.Flows) {
			t.Fatalf("%d of %d flows complete after %s", done, len(s.Flows), s.Duration)
		}
	}, func() string {
		if lost > 0 {
			return ""
		}
		return "no lossy class lost anything: the buffers are too large for the test"
	})
}

// balanced checks the frames of each class and returns the losses of lossy classes.
func balanced(stats switching.Stats) (lost int, err error) {
	for class := range fabric.Priorities {
		var in, out, dropped uint64
		for _, p := range stats.Ports {
			c := p.Classes[class]
			in += c.ReceivedFrames + c.OriginatedFrames
			out += c.SentFrames + c.QueueFrames
			dropped += c.DroppedFrames
		}
		switch lossless := class == 3 || class == 4; {
		case in != out+dropped:
			return 0, fmt.Errorf("class %d: %d frames in, %d out or queued, %d dropped", class, in, out, dropped)
		case lossless && dropped > 0:
			return 0, fmt.Errorf("lossless class %d lost %d frames", class, dropped)
		default:
			lost += int(dropped)
		}
	}
	return lost, nil
}
