package lab_test

import (
	"fmt"
	"math/bits"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/unit"
)

// collectiveOn runs a collective of n hosts on a star of idle links of 100 Gbit/s and 1 us.
func collectiveOn(t *testing.T, n int, entry string) measure.Collective {
	t.Helper()
	text := fmt.Sprintf("name: star\nduration: 10ms\nscheme: pcn\ndefaults: {nic: {payload: 1024B}, link: {rate: 100Gbps, delay: 1us}}\n"+
		"nics: {h0..h%d: }\nswitches: {s0: }\nlinks:\n  - endpoints: [h0..h%d, s0]\ncollectives:\n  - {name: c, ranks: h0..h%d, %s}\n", n-1, n-1, n-1, entry)
	s, err := scenariofile.Parse("star.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	l, err := lab.New(s)
	if err != nil {
		t.Fatal(err)
	}
	l.Run(s.Duration)
	run, err := measure.Merge(s, l.Results())
	if err != nil {
		t.Fatal(err)
	}
	c := run.Collectives[0]
	if !c.Finished() {
		t.Fatalf("%s of %d: %d of %d steps are done", entry, n, c.Done, c.Steps)
	}
	return c
}

// COLL-3: A collective on idle links takes the time of its closed form: the messages of a host one after the other,
// of 1,024 bytes of payload and 82 of headers, preamble and gap in each packet, and the way of the last of
// each chain. To this come at most an ACK of 84 bytes per packet and 1 us for each of the chain.
func TestTimesOfCollectivesOnIdleStar(t *testing.T) {
	const size, rate = 8 * unit.Megabyte, 100 * unit.GigabitPerSec
	for _, tt := range []struct {
		entry           string
		messages, chain func(n int) int // of a host; each after the one before
		factor          func(n float64) float64
	}{
		{"kind: all-reduce, algorithm: ring", func(n int) int { return 2 * (n - 1) }, func(n int) int { return 2 * (n - 1) }, func(n float64) float64 { return 2 * (n - 1) / n }},
		{"kind: all-reduce, algorithm: ring, channels: 2, chunks: 4", func(n int) int { return 2 * (n - 1) }, func(n int) int { return 2 * (n - 1) }, func(n float64) float64 { return 2 * (n - 1) / n }},
		{"kind: all-reduce, algorithm: direct", func(n int) int { return 2 * (n - 1) }, func(int) int { return 2 }, func(n float64) float64 { return 2 * (n - 1) / n }},
		{"kind: all-reduce, algorithm: halving-doubling", func(n int) int { return 2 * (n - 1) }, func(n int) int { return 2 * bits.Len(uint(n-1)) }, func(n float64) float64 { return 2 * (n - 1) / n }},
		{"kind: all-gather, algorithm: ring", func(n int) int { return n - 1 }, func(n int) int { return n - 1 }, func(n float64) float64 { return (n - 1) / n }},
		{"kind: all-to-all", func(n int) int { return n - 1 }, func(int) int { return 1 }, func(n float64) float64 { return (n - 1) / n }},
	} {
		for _, n := range []int{2, 4, 8} {
			c := collectiveOn(t, n, tt.entry+", size: 8MB")
			bytes := unit.Bytes(tt.messages(n)) * size / unit.Bytes(n)
			way, chain := 2*unit.Microsecond, unit.Time(tt.chain(n))
			least := rate.Serialise(bytes*1106/1024) + way
			if !strings.Contains(tt.entry, "chunks") { // each message of a chain waits for the whole one before it
				least += (chain - 1) * way
			}
			most := rate.Serialise(bytes*(1106+84)/1024) + chain*(way+unit.Microsecond) + way
			if c.Time < least || c.Time > most {
				t.Errorf("%s of %d: %v, want %v to %v", tt.entry, n, c.Time, least, most)
			}
			if want := float64(unit.Over(size, c.Time)) * tt.factor(float64(n)); float64(c.BusBW) < want-1 || float64(c.BusBW) > want+1 {
				t.Errorf("%s of %d: bus bandwidth %v, want %.0f", tt.entry, n, c.BusBW, want)
			}
		}
	}
}

// COLL-5: A double binary tree in many chunks takes the time in which the link of a rank with two children carries
// the data twice, and at most a quarter more: chunks are one after the other on each link of a tree. In two
// chunks each level of the trees takes a quarter of the data's time, up and down.
func TestTimesOfDoubleBinaryTrees(t *testing.T) {
	const size, rate = 8 * unit.Megabyte, 100 * unit.GigabitPerSec
	for _, n := range []int{4, 8} {
		least := 2 * rate.Serialise(size*1106/1024)
		if c := collectiveOn(t, n, "kind: all-reduce, algorithm: double-binary-tree, size: 8MB, chunks: 64"); c.Time < least || c.Time > least*5/4 {
			t.Errorf("%d ranks in 64 chunks: %v, want %v and at most a quarter more", n, c.Time, least)
		}
		levels := unit.Time(2 * bits.Len(uint(n-1)))
		if c := collectiveOn(t, n, "kind: all-reduce, algorithm: double-binary-tree, size: 8MB, chunks: 2"); c.Time < (levels+1)*least/8 {
			t.Errorf("%d ranks in 2 chunks: %v, want at least %v", n, c.Time, (levels+1)*least/8)
		}
	}
}

// COLL-7: The rank of an all-to-allv that sends the most, 6 MB to three others, takes the longest: its link carries
// these bytes, with 62 of headers per packet, at its rate, and the bus bandwidth is what it carries. Its own 9 MB do not pass the link.
func TestTimeOfAllToAllV(t *testing.T) {
	c := collectiveOn(t, 4, "kind: all-to-allv, sizes: [[9MB, 2MB, 2MB, 2MB], [0, 0, 0, 0], [1KB, 0, 0, 0], [0, 0, 0, 0]]")
	least := (100 * unit.GigabitPerSec).Serialise(6 * unit.Megabyte * 1086 / 1024)
	if c.Time < least || c.Time > least*11/10 || c.Slowest != 0 || c.Steps != 2*4 {
		t.Errorf("%v by rank %d in %d steps, want %v and at most a tenth more", c.Time, c.Slowest, c.Steps, least)
	}
	if want := unit.Over(6*unit.Megabyte, c.Time); c.BusBW < want-1 || c.BusBW > want+1 {
		t.Errorf("bus bandwidth %v, want %v", c.BusBW, want)
	}
}

// COLL-8: A barrier takes the way of each message of a chain: one for direct, three for 8 ranks by doubling.
func TestTimesOfBarriers(t *testing.T) {
	for algorithm, chain := range map[string]unit.Time{"direct": 1, "halving-doubling": 3} {
		c := collectiveOn(t, 8, "kind: barrier, algorithm: "+algorithm)
		if least := chain * 2 * unit.Microsecond; c.Time < least || c.Time > least+3*unit.Microsecond {
			t.Errorf("%s: %v, want %v and at most 3us more", algorithm, c.Time, least)
		}
	}
}

// COLL-11: A rank begins its part of a collective when the steps that it waits for are done at this rank, and its program goes
// on when its own part is done.
func TestCollectivesBetweenStepsOfPrograms(t *testing.T) {
	s := programs(t, `programs:
  h0: |
    work: calc 30us
    then: calc 10us after sum
    with: calc 1us once_started sum
  h1: |
    work: calc 70us
collectives:
  - {name: sum, kind: all-gather, ranks: h0..h2, size: 30KB, after: [work]}
`)
	l, err := lab.New(s)
	if err != nil {
		t.Fatal(err)
	}
	l.Run(s.Duration)
	results := l.Results()
	for host, begins := range []unit.Time{30 * unit.Microsecond, 70 * unit.Microsecond, 0} {
		share, steps := s.StepsOf(host).Shares[0], results[host].Steps
		for i := share.First; i <= share.End; i++ {
			if !steps[i].Done || steps[i].Begun < begins || i < share.End && steps[i].End > steps[share.End].End {
				t.Errorf("h%d, step %d: %+v, want from %v to %v", host, i, steps[i], begins, steps[share.End].End)
			}
		}
		if steps[share.First].Begun != begins { // its first message
			t.Errorf("h%d begins at %v, want %v", host, steps[share.First].Begun, begins)
		}
	}
	h0 := results[0].Steps
	if end := h0[s.StepsOf(0).Shares[0].End].End; h0[1].Begun != end || h0[2].Begun != 30*unit.Microsecond || end < 70*unit.Microsecond {
		t.Errorf("then begins at %v, with at %v, after a collective that ends at %v", h0[1].Begun, h0[2].Begun, end)
	}
}
