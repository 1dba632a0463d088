package lab_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/e2e/slowtest"
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/lab/steering"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// digest runs the lab to its end.
func digest(t interface{ Fatal(...any) }, l *lab.Lab) string {
	l.Run(l.Scenario().Duration)
	run, err := l.Outcome()
	if err != nil {
		t.Fatal(err)
	}
	return run.Digest
}

func newLab(t interface{ Fatal(...any) }, s *topology.Scenario) *lab.Lab {
	l, err := lab.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// looped is a rack with two paths between its sides, so that recomputed routes
// matter.
func looped(t testing.TB, scheme string) *topology.Scenario {
	t.Helper()
	s, err := scenariofile.Parse("looped.yaml", []byte(`name: looped
duration: 3ms
live: true
scheme: `+scheme+`
defaults: {link: {rate: 40Gbps, delay: 1us}, nic: {timeout: 300us}, switch: {xoff: 60KB, headroom: 60KB, rttx_match: pairs}}
nics: {h0..h3: , r0..r1: }
switches: {s0..s3: }
links:
  - endpoints: [h0..h3, s0]
  - endpoints: [s0, s1..s2]
  - endpoints: [s1..s2, s3]
  - endpoints: [r0..r1, s3]
flows:
  - {name: F0, from: h0, to: r0, size: endless}
  - {name: F1, from: h1, to: r1, size: 4MB, start: 100us}
`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// contended returns a rack whose links to r0 and r1 are congested, by data to r0 and by responses
// to the READs of r1. Random changes need not congest them, and differ with the table of schemes.
func contended(t *testing.T, scheme string) *topology.Scenario {
	t.Helper()
	s := looped(t, scheme)
	hosts := []string{"h0", "h1", "h2", "h3"}
	for _, c := range []topology.Change{
		{At: 10 * unit.Microsecond, Verb: topology.ChangeBurst, Burst: topology.BurstSpec{
			Name: "data", From: hosts, To: "r0", Flows: 2, Size: 64 << 10, Class: topology.DataClass,
		}},
		{At: 500 * unit.Microsecond, Verb: topology.ChangePost, Post: topology.PostSpec{
			Name: "reads", Verb: "get", From: []string{"r1"}, To: hosts, Size: 256 << 10, Count: 4,
		}},
	} {
		var err error
		if s, err = scenariofile.Extend(s, c); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// A run under random changes always has the same digest: in one go, in windows, with
// changes made one by one during the run, and after writing and reading a file.
func TestRandomChangesKeepTheDigest(t *testing.T) {
	seeds := slowtest.Count[uint64](t, 1, 4, "seeds of each scheme")
	for i, scheme := range cc.Schemes {
		t.Run(scheme.Name, func(t *testing.T) {
			base := looped(t, scheme.Name)
			for seed := uint64(10 * i); seed < uint64(10*i)+seeds; seed++ {
				s := steering.New(base, seed).Extend(base, 0, base.Duration, 40)
				want := digest(t, newLab(t, s))
				random := rand.New(rand.NewPCG(seed, 1))
				windows := newLab(t, s)
				for at := unit.Time(0); at < s.Duration; at += unit.Time(random.Int64N(int64(100 * unit.Microsecond))) {
					windows.Run(at)
				}
				if got := digest(t, windows); got != want {
					t.Errorf("seed %d: in windows %s, want %s", seed, got, want)
				}
				if got := digest(t, live(t, base, s, random)); got != want {
					t.Errorf("seed %d: live %s, want %s", seed, got, want)
				}
				text, err := scenariofile.Marshal(s)
				if err != nil {
					t.Fatal(err)
				}
				back, err := scenariofile.Parse("journal.yaml", text)
				if err != nil {
					t.Fatal(err)
				}
				if got := digest(t, newLab(t, back)); got != want {
					t.Errorf("seed %d: replayed %s, want %s", seed, got, want)
				}
				if got := digest(t, newLab(t, base)); got == want {
					t.Errorf("seed %d: the changes changed nothing", seed)
				}
			}
		})
	}
}

// live makes the changes of s in their order, each as late as the following ones allow,
// or earlier.
func live(t *testing.T, base, s *topology.Scenario, random *rand.Rand) *lab.Lab {
	t.Helper()
	l := newLab(t, base)
	for i, c := range s.Changes {
		latest := c.At
		for _, later := range s.Changes[i:] {
			latest = min(latest, later.At)
		}
		if random.IntN(2) == 0 {
			l.Run(latest)
		}
		if err := l.Change(c); err != nil {
			t.Fatal(err)
		}
		if c.At > 0 && l.Now() > 0 && l.Change(topology.Change{At: l.Now() - 1, Verb: topology.ChangeThaw, Nodes: []string{"h0"}}) == nil {
			t.Fatal("took a change that is too late")
		}
	}
	if diff := cmp.Diff(s, l.Scenario()); diff != "" {
		t.Fatal(diff)
	}
	return l
}

// A link loses exactly the frames in flight while it is down: those whose first bit was
// sent before it is up again, and no other.
func TestUnpluggedLinkLosesFramesInFlight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.Int64Range(0, 80_000).Draw(t, "from")
		span := rapid.Int64Range(1, 30_000).Draw(t, "span")
		s, err := scenariofile.Parse("pair.yaml", []byte(fmt.Sprintf(`name: pair
duration: 400us
defaults: {link: {rate: 40Gbps, delay: 5us}, nic: {timeout: 40us}}
nics: {h0: , h1: }
links: [{endpoints: [h0, h1]}]
flows: [{name: F, from: h0, to: h1, size: 200KB}]
changes:
  - {at: %dns, link_down: h0--h1}
  - {at: %dns, link_up: h0--h1}
`, from, from+span)))
		if err != nil {
			t.Fatal(err)
		}
		l := newLab(t, s)
		l.PerFrame = true
		w := newWire(unit.Time(from)*unit.Nanosecond, unit.Time(from+span)*unit.Nanosecond)
		l.Listen = w.listen
		l.Run(s.Duration)
		if w.lost != w.cut || w.lost+w.got > w.sent {
			t.Fatalf("of %d data frames sent, %d arrived and %d were lost; %d were on the wire while the link was down", w.sent, w.got, w.lost, w.cut)
		}
		run, err := l.Outcome()
		if err != nil {
			t.Fatal(err)
		}
		if run.Flows[0].End == s.Duration {
			t.Fatal("the flow did not recover")
		}
	})
}

// wire counts the data frames of h0 by its notes.
type wire struct {
	down, up             unit.Time
	sent, got, lost, cut int
}

func newWire(down, up unit.Time) *wire { return &wire{down: down, up: up} }

// flight returns the transfer time of a full data frame: 1062 bytes at 40 Gbit/s, and
// the propagation. The first has 16 bytes of RETH more.
const flight = 5*unit.Microsecond + 1062*200

func (w *wire) listen(node int, notes []fabric.Note) {
	for _, n := range notes {
		switch {
		case node == 0 && n.Kind == fabric.Transmitted:
			w.sent++
			// A frame is on the wire from n.At to its arrival.
			at := n.At + flight
			if n.PSN() == 0 {
				at += 16 * 200
			}
			if n.At < w.up && at >= w.down {
				w.cut++
			}
		case node == 1 && (n.Kind == fabric.Received || n.Kind == fabric.OutOfSequence):
			w.got++
		case node == 1 && n.Kind == fabric.Dropped:
			w.lost++
		}
	}
}

// A run with an open end that stops early equals the run built from its journal: the
// digests are equal at the instant of the stop.
func TestJournalReplaysItsLiveRun(t *testing.T) {
	const end = 400 * unit.Microsecond
	for _, name := range []string{"pcn-16to2", "get-incast", "cbrc-waste", "rttx-example", "star-3"} {
		text, ok := scenariofile.Builtin(name)
		if !ok {
			t.Fatalf("no scenario %s", name)
		}
		s, err := scenariofile.Parse(name, text)
		if err != nil {
			t.Fatal(err)
		}
		s.Live = true
		if s, err = scenariofile.Override(s, scenariofile.Overrides{Duration: 40 * unit.Millisecond}); err != nil {
			t.Fatal(err)
		}
		s = steering.New(s, 5).Extend(s, 0, 2*end, 20)
		journal, err := new(scenariofile.Journal).Text(s, end, s.Bin)
		if err != nil {
			t.Fatal(err)
		}
		short, err := scenariofile.Parse("journal.yaml", journal)
		if err != nil {
			t.Fatal(err)
		}
		long, batch := newLab(t, s), newLab(t, short)
		long.Run(end)
		batch.Run(end)
		for i, want := range batch.Results() {
			if got := long.Results()[i]; got.Digest != want.Digest {
				t.Errorf("%s: node %s has digest %016x live, %016x by its journal", name, got.Node, got.Digest, want.Digest)
			}
		}
	}
}
