package shaper

import (
	"slices"
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
)

// GET-40 (i): the link partner's priority flow control pauses a class.
func TestPausedClassIsSkipped(t *testing.T) {
	s := mustNew(t, config(2, func(c *Config) { c.Leaves[1].Class = 5 }))
	s.Offer(0, put(1062))
	s.Offer(1, Packet{Leaf: 1, Out: 1062})
	s.Pause(0, 1<<3)
	if u, _ := next(t, s, 0); u != 1 {
		t.Errorf("unit %d goes, its class is paused", u)
	}
	if _, ok := s.Pick(us); ok || s.Due() != unit.Never {
		t.Errorf("due %v, want never while the class is paused", s.Due())
	}
	s.Pause(2*us, 0)
	if u, at := next(t, s, 2*us); u != 0 || at != 2*us {
		t.Errorf("unit %d at %v after the pause", u, at)
	}
	if stall := s.Stalls(9 * us); stall[0] != (Stall{}) {
		t.Errorf("a pause counts as a stall for tokens: %v", stall[0])
	}
}

// GET-40 (ii): classes share by weight, by priority, and by their assured
// rates.
func TestClassesShareTheBandwidth(t *testing.T) {
	half := Pair{Assured: Limit{20 * gbps, 8444}}
	for name, c := range map[string]struct {
		change func(*Config)
		share  float64 // of the first leaf
	}{
		"equal":    {func(*Config) {}, 0.5},
		"weights":  {func(c *Config) { c.Leaves[0].Weight = 3 }, 0.75},
		"priority": {func(c *Config) { c.Leaves[0].Priority = 1 }, 1},
		"assured beats priority": {func(c *Config) {
			c.Leaves[0].Priority, c.Leaves[1].Out = 1, half
		}, 0.8},
		"ceiling": {func(c *Config) { c.Leaves[0].Out.Ceiling = Limit{10 * gbps, 8444} }, 0.1},
	} {
		s := mustNew(t, config(2, c.change))
		sources := []source{{Packet: put(1000)}, {Packet: Packet{Leaf: 1, Out: 1000}}}
		saturate(t, s, 100*gbps, sources, 1000*us)
		share := float64(sources[0].out) / float64(sources[0].out+sources[1].out)
		if share < c.share-0.01 || share > c.share+0.01 {
			t.Errorf("%s: the first class gets %.3f, want %.2f", name, share, c.share)
		}
	}
}

// GET-40 (iii): the units of a class share its bandwidth, in bytes.
func TestUnitsOfAClassShareByBytes(t *testing.T) {
	s := mustNew(t, config(3))
	sources := []source{{Packet: put(100)}, {Packet: put(1000)}, {Packet: put(2000)}}
	saturate(t, s, 100*gbps, sources, 1000*us)
	for u, src := range sources {
		share := float64(src.out) / float64(sources[0].out+sources[1].out+sources[2].out)
		if share < 0.32 || share > 0.35 {
			t.Errorf("unit %d, packets of %d bytes, gets %.3f", u, src.Out, share)
		}
	}
}

// GET-47: the policies. The ranks are 1, 3, 3 and 2.
func TestPolicies(t *testing.T) {
	for policy, want := range map[Policy][]int{
		RoundRobin:   {0, 1, 2, 3},
		ByLoad:       {1, 2, 3, 0},
		ByPriority:   {1, 2, 3, 0},
		Availability: {1, 2, 3, 0},
	} {
		s := mustNew(t, config(4, func(c *Config) { c.Policy = policy }))
		for u, rank := range []int64{1, 3, 3, 2} {
			p := put(1000)
			p.Rank = rank
			s.Offer(u, p)
		}
		var order []int
		for range 4 {
			u, _ := next(t, s, 0)
			order = append(order, u)
		}
		if !slices.Equal(order, want) {
			t.Errorf("%s: %v, want %v", policy, order, want)
		}
	}
	s := mustNew(t, config(2, func(c *Config) { c.Policy = ByPriority }))
	sources := []source{{Packet: Packet{Out: 1000, Rank: 1}}, {Packet: Packet{Out: 1000}}}
	saturate(t, s, 100*gbps, sources, 10*us)
	if sources[1].sent != 0 {
		t.Errorf("the less urgent unit sent %d packets beside the urgent one", sources[1].sent)
	}
}

// GET-52: a unit with long responses is served among units with short ones, and
// gets its share of the bytes; its waiting time is bounded by a round.
func TestLongResponseIsNotStarved(t *testing.T) {
	for _, policy := range []Policy{RoundRobin, ByLoad, Availability} {
		s := mustNew(t, config(9, inLimit(10*gbps, maxFrame), func(c *Config) { c.Policy = policy }))
		sources := []source{{Packet: get(maxFrame)}}
		for range 8 {
			sources = append(sources, source{Packet: get(100)})
		}
		order := saturate(t, s, 200*gbps, sources, 2000*us)
		longest, since := 0, 0
		for _, u := range order {
			if since++; u == 0 {
				longest, since = max(longest, since), 0
			}
		}
		if most := 8*maxFrame/100 + 9; longest > most || sources[0].sent < 100 {
			t.Errorf("%s: %d long responses, up to %d packets of others in between, want at most %d",
				policy, sources[0].sent, longest, most)
		}
		share := float64(sources[0].in) / float64((10 * gbps).In(2000*us))
		if policy == RoundRobin && (share < 0.10 || share > 0.13) {
			t.Errorf("%s: the long responses get %.3f of the bytes, want a ninth", policy, share)
		}
	}
}
