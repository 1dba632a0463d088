package lab_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// waste returns the scenario cbrc-waste under the scheme.
func waste(t *testing.T, scheme string) *topology.Scenario {
	t.Helper()
	text, _ := scenariofile.Builtin("cbrc-waste")
	s, err := scenariofile.Parse("cbrc-waste", text)
	if err != nil {
		t.Fatal(err)
	}
	s.Scheme = scheme
	return s
}

// shareOf returns the share of its receiver's link that the named flow has from 1 ms on,
// after the speculative start.
func shareOf(s *topology.Scenario, run *measure.Run, flow string) float64 {
	bytes, from := int64(0), int(unit.Millisecond/s.Bin)
	for _, g := range run.Series.Goodput {
		if g.Name != flow {
			continue
		}
		for _, b := range g.Bins[from:] {
			bytes += b
		}
	}
	span := s.Duration - unit.Time(from)*s.Bin
	wire := unit.Bytes(bytes) * (4096 + 106) / 4096
	return float64(wire) / float64(s.Links[0].Rate.In(span))
}

// idle returns the share of the receivers' links that carries no credited data, from
// 1 ms on.
func idle(s *topology.Scenario, run *measure.Run) float64 {
	used := 0.0
	for _, f := range run.Flows {
		used += shareOf(s, run, f.Name)
	}
	return 1 - used/3
}

// CBRC-4, CBRC-31, CBRC-34, CBRC-37, CBRC-38: a sender with one uplink and three
// receivers is granted one and a half links and wastes half a link. Original
// credit leaves a sixth of every receiver idle; with AIMD the others get it.
// CBRC-2, CBRC-3: no queue builds up, nothing is lost or paused.
func TestAIMDTurnsWastedCreditIntoThroughput(t *testing.T) {
	s := waste(t, "cbrc")
	original, aimd := measured(t, s), measured(t, waste(t, "cbrc-aimd"))
	for _, run := range []*measure.Run{original, aimd} {
		t.Logf("%s: idle %.1f %%, wasted %s of %s, lost %s, %d packets indicated", run.Scheme,
			100*idle(s, run), run.Credit.Wasted, run.Credit.Granted, run.Credit.Lost, run.Credit.Indicated)
		if run.Drops != 0 || len(run.Pauses) != 0 {
			t.Errorf("%s: %d drops, pauses %v", run.Scheme, run.Drops, run.Pauses)
		}
		for _, f := range run.Flows {
			if f.Goodput < 10*unit.GigabitPerSec {
				t.Errorf("%s: %s starves at %s", run.Scheme, f.Name, f.Goodput)
			}
		}
	}
	if got := idle(s, original); got < 0.155 || got > 0.185 {
		t.Errorf("original: %.3f of the receivers idle, want a sixth and the hundredth that is never credited", got)
	}
	if got := idle(s, aimd); got > 0.012 {
		t.Errorf("AIMD: %.3f of the receivers idle, want only the hundredth that is never credited", got)
	}
	if aimd.Credit.Wasted > original.Credit.Wasted*3/10 || aimd.Credit.Lost > original.Credit.Lost/10 {
		t.Errorf("wasted %s with AIMD, %s without, lost %s and %s", aimd.Credit.Wasted, original.Credit.Wasted, aimd.Credit.Lost, original.Credit.Lost)
	}
	// Of each receiver's link s has a third, and the receiver's own sender a half, or,
	// with AIMD, what s leaves.
	for _, tt := range []struct {
		run            *measure.Run
		flow           string
		least, largest float64
	}{
		{original, "A", 0.31, 0.35},
		{original, "B", 0.47, 0.51},
		{aimd, "A", 0.31, 0.35},
		{aimd, "B", 0.64, 0.68},
	} {
		for _, receiver := range []string{"1", "2", "3"} {
			if got := shareOf(s, tt.run, tt.flow+receiver); got < tt.least || got > tt.largest {
				t.Errorf("%s: %s%s has %.3f of its receiver's link, want %.2f to %.2f", tt.run.Scheme, tt.flow, receiver, got, tt.least, tt.largest)
			}
		}
	}
	if original.Credit.Indicated != 0 || aimd.Credit.Indicated == 0 {
		t.Errorf("indicated %d and %d packets", original.Credit.Indicated, aimd.Credit.Indicated)
	}
}

// CBRC-36: the modes are selectable per receiver. Under cbrc r1 alone has mode B: the
// sender signals to it alone, and B1, which shares r1 with it, gets what it cannot
// spend. Under cbrc-aimd r1 alone has mode A: B1 alone gets nothing more than before.
func TestReceiversOfOneRackMayUseDifferentModes(t *testing.T) {
	goodput := func(run *measure.Run) map[string]float64 {
		rates := map[string]float64{}
		for _, f := range run.Flows {
			rates[f.Name] = float64(f.Goodput) / 1e9
		}
		return rates
	}
	for _, c := range []struct {
		scheme string
		policy credit.Policy
		other  string // the scheme under which all receivers do as r1 does
	}{
		{"cbrc", credit.PolicyAIMD, "cbrc-aimd"}, {"cbrc-aimd", credit.PolicyOriginal, "cbrc"},
	} {
		s := waste(t, c.scheme)
		r1 := nodeNamed(s, "r1")
		s.Nodes[r1].NIC.Credit = c.policy
		run := measured(t, s)
		mixed, uniform, all := goodput(run), goodput(measured(t, waste(t, c.scheme))), goodput(measured(t, waste(t, c.other)))
		t.Logf("%s, r1 %s: B1 %.2f B2 %.2f B3 %.2f; without %.2f %.2f, all %.2f", c.scheme, c.policy,
			mixed["B1"], mixed["B2"], mixed["B3"], uniform["B1"], uniform["B2"], all["B1"])
		if change, full := mixed["B1"]-uniform["B1"], all["B1"]-uniform["B1"]; change/full < 0.5 {
			t.Errorf("%s, r1 %s: B1 has %.2f Gbit/s more, and %.2f where all receivers do so", c.scheme, c.policy, change, full)
		}
		if gap := mixed["B1"] - mixed["B2"]; (gap > 1) != (c.policy == credit.PolicyAIMD) || gap > -1 && gap < 1 {
			t.Errorf("%s, r1 %s: B1 has %.2f Gbit/s, B2 %.2f", c.scheme, c.policy, mixed["B1"], mixed["B2"])
		}
		if run.Credit.Indicated == 0 || run.Drops != 0 {
			t.Errorf("%s, r1 %s: %d packets indicated, %d drops", c.scheme, c.policy, run.Credit.Indicated, run.Drops)
		}
	}
}

// CBRC-43: senders that ask only for what their credit does not cover do not
// waste: the baseline that wastes asks for its whole backlog.
func TestOnlyTheBacklogLawWastesCredit(t *testing.T) {
	lost := map[string]unit.Bytes{}
	for _, law := range []string{"backlog", "backlog-credit", "shared"} {
		s := waste(t, "cbrc")
		text, err := scenariofile.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		lawful, err := scenariofile.Parse(law, bytes.Replace(text, []byte("law: backlog"), []byte("law: "+law), 1))
		if err != nil {
			t.Fatal(err)
		}
		lost[law] = measured(t, lawful).Credit.Lost
	}
	if lost["backlog-credit"] > lost["backlog"]/10 || lost["shared"] > lost["backlog"]/10 {
		t.Errorf("lost %v, want a tenth at most of what the law backlog loses", lost)
	}
}

// CBRC-32, CBRC-3: 128 senders to one receiver share its link within 2 %, and the
// last hop's queue is bounded: by a speculative window of each sender, which the
// hundredth of the link that is never credited takes long to drain, or, where
// senders ask first, by a packet of each.
func TestManySendersShareAReceiver(t *testing.T) {
	const senders = 128
	for start, most := range map[string]int64{
		"speculative": senders * 37_500, // 1.5 x 40 Gbit/s x 5 us
		"asked":       senders * (1000 + 106),
	} {
		t.Run(start, func(t *testing.T) {
			run := measured(t, incast(t, senders, start))
			from := int(4 * unit.Millisecond / run.Series.Bin)
			shares := make([]int64, 0, senders)
			for _, g := range run.Series.Goodput {
				sum := int64(0)
				for _, b := range g.Bins[from:] {
					sum += b
				}
				shares = append(shares, sum)
			}
			low, high := slices.Min(shares), slices.Max(shares)
			if len(shares) != senders || float64(high-low) > 0.02*float64(high) {
				t.Errorf("%d shares from %d to %d bytes, want 128 within 2 %%", len(shares), low, high)
			}
			peak := int64(0)
			for _, q := range run.Series.Queues {
				if q.Port == "x->r0" {
					peak = slices.Max(q.Peak)
				}
			}
			t.Logf("x->r0: at most %d bytes queued; shares from %d to %d bytes", peak, low, high)
			if peak == 0 || peak > most || run.Drops != 0 {
				t.Errorf("%d bytes queued at the last hop, want at most %d; %d drops", peak, most, run.Drops)
			}
		})
	}
}

// incast returns that many senders, each with an endless flow to one receiver.
func incast(t *testing.T, senders int, start string) *topology.Scenario {
	t.Helper()
	text := fmt.Sprintf(`
name: incast
duration: 12ms
scheme: cbrc
defaults:
  link: {rate: 40Gbps, delay: 1us}
  switch: {buffer: 64MB}
nics: {h0..h%d: , r0: }
switches: {x: }
links:
  - endpoints: ["h0..h%d, r0", x]
schemes:
  cbrc: {base_rtt: 5us, start: %s}
flows:
`, senders-1, senders-1, start)
	for i := range senders {
		text += fmt.Sprintf("  - {name: F%d, from: h%d, to: r0, size: endless}\n", i, i)
	}
	s, err := scenariofile.Parse("incast", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// CBRC-35: the receiver reports granted credit with its coefficient; packets that signal
// excess halve it.
func TestGrantsHalve(t *testing.T) {
	s := waste(t, "cbrc-aimd")
	l, err := lab.New(s)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[float64]bool{}
	l.PerFrame = true
	l.Listen = func(_ int, notes []fabric.Note) {
		for _, n := range notes {
			if n.Kind == fabric.CreditGranted {
				seen[n.Coefficient()] = true
			}
		}
	}
	l.Run(2 * unit.Millisecond)
	for _, coefficient := range []float64{1, 0.5, 0.25} {
		if !seen[coefficient] {
			t.Errorf("no grant at a coefficient of %g: %v", coefficient, seen)
		}
	}
}

// CBRC-32: with one set of settings a flow has its link at once, at 40, 800 and 1600
// Gbit/s, and a second one takes half of it within four round trips, without a queue
// above what the two send before the first credit.
func TestCreditRampsToLineRate(t *testing.T) {
	for _, link := range []unit.Rate{40 * unit.GigabitPerSec, 800 * unit.GigabitPerSec, 1600 * unit.GigabitPerSec} {
		s, err := scenariofile.Parse("ramp", fmt.Appendf(nil, `
name: ramp
duration: 200us
bin: 20us
scheme: cbrc
defaults:
  nic: {payload: 4096B}
  link: {rate: %dGbps, delay: 1us, mtu: 4500B}
  switch: {buffer: 64MB}
nics: {h0..h1: , r0: }
switches: {x: }
links:
  - endpoints: ["h0..h1, r0", x]
schemes:
  cbrc: {base_rtt: 5us}
flows:
  - {name: F0, from: h0, to: r0, size: endless}
  - {name: F1, from: h1, to: r0, size: endless, start: 100us}
`, link/unit.GigabitPerSec))
		if err != nil {
			t.Fatal(err)
		}
		run := measured(t, s)
		share := func(flow string, bin int) float64 {
			for _, g := range run.Series.Goodput {
				if g.Name == flow {
					return float64(g.Bins[bin]) * (4096 + 106) / 4096 / float64(link.In(s.Bin))
				}
			}
			return 0
		}
		if got := share("F0", 1); got < 0.97 {
			t.Errorf("%s: alone F0 has %.3f of its link from 20 us on", link, got)
		}
		for _, flow := range []string{"F0", "F1"} {
			if got := share(flow, 6); got < 0.47 || got > 0.52 {
				t.Errorf("%s: %s has %.3f of the link 20 us after F1 began", link, flow, got)
			}
		}
		for _, q := range run.Series.Queues {
			if most := int64(2 * link.In(7500*unit.Nanosecond)); slices.Max(q.Peak) > most || run.Drops != 0 {
				t.Errorf("%s: %d bytes queued, want at most %d; %d drops", link, slices.Max(q.Peak), most, run.Drops)
			}
		}
	}
}

// CBRC-36: original CBRC and CBRC with AIMD at receivers of one rack: r1 grants a full
// MTU at every turn, r2 and r3 give less to the sender that signals excess.
func TestEachReceiverHasItsOwnPolicy(t *testing.T) {
	text, _ := scenariofile.Builtin("cbrc-waste")
	s, err := scenariofile.Parse("cbrc-waste", bytes.Replace(text, []byte("  r1..r3:\n"), []byte("  r1: {credit: original}\n  r2..r3:\n"), 1))
	if err != nil {
		t.Fatal(err)
	}
	s.Scheme = "cbrc-aimd"
	least := map[string]float64{}
	l, err := lab.New(s)
	if err != nil {
		t.Fatal(err)
	}
	l.PerFrame = true
	l.Listen = func(node int, notes []fabric.Note) {
		for _, n := range notes {
			if name := s.Nodes[node].Name; n.Kind == fabric.CreditGranted && (least[name] == 0 || n.Coefficient() < least[name]) {
				least[name] = n.Coefficient()
			}
		}
	}
	l.Run(2 * unit.Millisecond)
	if least["r1"] != 1 || least["r2"] > 0.5 || least["r3"] > 0.5 || least["r2"] == 0 || least["r3"] == 0 {
		t.Errorf("least coefficients %v, want 1 at r1, and at most 0.5 at the others", least)
	}
}
