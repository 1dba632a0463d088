package collective

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/nic/program"
)

// hopsOf returns the pairs of ranks between which the ring of a channel has messages: those of an all-gather with this
// channel and the ones before it, without these.
func hopsOf(c *Spec, channel int) (hops [][2]int) {
	g := Spec{Kind: AllGather, Algorithm: Ring, Ranks: c.Ranks, Size: 1 << 20, Channels: channel + 1, Chunks: 1, Rails: c.Rails}
	first := uint32(channel * c.Ranks * (c.Ranks - 1))
	for r, p := range g.Expand() {
		for i := range p.Len() {
			hop := [2]int{r, int(p.At(i).Peer)}
			if s := p.At(i); s.Kind == program.Send && s.Tag >= first && !slices.Contains(hops, hop) {
				hops = append(hops, hop)
			}
		}
	}
	return hops
}

// COLL-20: A ring per rail visits all ranks of a server before it leaves it, and its hops between servers stay on one rail.
// The hops of all rings from a server, and to it, are on different rails. With two rails and an odd number of servers
// one hop changes the rail.
func TestRingsByRail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &Spec{Rails: rapid.IntRange(2, 8).Draw(t, "rails")}
		servers := rapid.IntRange(2, 5).Draw(t, "servers")
		c.Ranks = c.Rails * servers
		type port struct{ server, rail int }
		leaving, arriving := map[port]bool{}, map[port]bool{}
		for channel := range c.Rails {
			hops := hopsOf(c, channel)
			at, between, changes := 0, 0, 0
			next := map[int]int{}
			for _, hop := range hops {
				next[hop[0]] = hop[1]
			}
			seen := map[int]bool{}
			for !seen[at] {
				seen[at] = true
				to := next[at]
				if from := (port{at / c.Rails, at % c.Rails}); to/c.Rails != at/c.Rails {
					between++
					if to%c.Rails != from.rail {
						changes++
					}
					into := port{to / c.Rails, to % c.Rails}
					if leaving[from] || arriving[into] {
						t.Fatalf("channel %d: the hop from rank %d to rank %d shares a NIC with another channel", channel, at, to)
					}
					leaving[from], arriving[into] = true, true
				}
				at = to
			}
			want := 0
			if c.Rails == 2 && servers%2 != 0 {
				want = 1
			}
			if len(hops) != c.Ranks || len(seen) != c.Ranks || between != servers || changes != want {
				t.Fatalf("channel %d: %d of %d ranks, %d hops between %d servers, %d of them change the rail, want %d", channel, len(seen), c.Ranks, between, servers, changes, want)
			}
		}
	})
}

// COLL-20: Ranks have rails if those of each server are consecutive, as many, and on the same rails.
func TestRailsOfRanks(t *testing.T) {
	place := func(hosts ...int) (list []Place) { // servers of 4
		for _, h := range hosts {
			list = append(list, Place{h / 4, h % 4})
		}
		return list
	}
	for _, c := range []struct {
		places []Place
		want   int
	}{
		{place(0, 1, 2, 3, 4, 5, 6, 7), 4},
		{place(4, 5, 6, 7, 0, 1, 2, 3), 4},
		{place(0, 2, 4, 6, 8, 10), 2},
		{place(3, 1, 7, 5), 2},
		{place(0, 4, 8), 1},
		{place(0, 1, 2, 3), 1},
		{place(0, 1, 2, 3, 4, 5), 1},
		{place(0, 1, 5, 4), 1},
		{place(0, 1, 4, 5, 2, 3), 1},
		{place(0, 4, 1, 5), 1},
	} {
		if got := RailsOf(c.places); got != c.want {
			t.Errorf("%v: %d rails, want %d", c.places, got, c.want)
		}
	}
}

// The least number of chunks is that with which no message is too long, and one less is too few.
func TestLeastChunks(t *testing.T) {
	for _, c := range []Spec{
		{Kind: AllReduce, Algorithm: Ring, Ranks: 2, Size: 5e9, Channels: 1},
		{Kind: AllReduce, Algorithm: HalvingDoubling, Ranks: 4, Size: MaxSize, Channels: 1},
		{Kind: Broadcast, Algorithm: Ring, Ranks: 3, Size: MaxSize - 1, Channels: 1},
		{Kind: AllToAll, Algorithm: Direct, Ranks: 3, Size: 1000, Channels: 2},
		{Kind: Barrier, Algorithm: Direct, Ranks: 3, Channels: 1},
	} {
		c.Chunks = c.LeastChunks()
		if fault := c.Validate(); fault != nil {
			t.Errorf("%v: %v", c, fault)
		}
		if c.Chunks--; c.Chunks > 0 && c.Validate() == nil {
			t.Errorf("%v: is valid with fewer chunks", c)
		}
	}
}
