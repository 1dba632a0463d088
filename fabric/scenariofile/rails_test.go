package scenariofile

import (
	"fmt"
	"testing"
)

// COLL-20: Without channels and rails, a ring collective of whole servers of the template rail has a ring per rail, unless
// it is too small. Other collectives, ranks and racks have one channel. Values that are given stay.
func TestChannelsByRail(t *testing.T) {
	const rail = "topology: {template: rail, servers: 3, nics: 4, pods: 2}\nnics: {x: }\nlinks: [{endpoints: [x, spine0], rate: 100Gbps, delay: 1us}]\n"
	const star = "topology: {template: star, hosts: 24}\n"
	for _, c := range []struct {
		rack, keys      string
		rails, channels int
	}{
		{rail, "kind: all-reduce, ranks: h0..h23, size: 80MB", 4, 4},
		{rail, "kind: all-gather, ranks: h12..h19, size: 80MB", 4, 4},
		{rail, "kind: reduce-scatter, ranks: [h1, h2, h5, h6], size: 80MB", 2, 2},
		{rail, "kind: broadcast, ranks: h0..h7, size: 80MB", 4, 4},
		{rail, "kind: all-reduce, ranks: h0..h3, size: 80MB", 0, 1},
		{rail, "kind: all-reduce, ranks: [h0, h4, h8], size: 80MB", 0, 1},
		{rail, "kind: all-reduce, ranks: [x, h0, h1, h4], size: 80MB", 0, 1},
		{rail, "kind: all-to-all, ranks: h0..h7, size: 80MB", 0, 1},
		{rail, "kind: all-reduce, ranks: h0..h7, size: 80MB, algorithm: direct", 0, 1},
		{rail, "kind: all-reduce, ranks: h0..h7, size: 20B", 4, 2},
		{rail, "kind: all-reduce, ranks: h0..h7, size: 80MB, rails: 1", 0, 1},
		{rail, "kind: all-reduce, ranks: h0..h7, size: 80MB, channels: 1", 4, 1},
		{rail, "kind: all-reduce, ranks: h0..h7, size: 80MB, channels: 8", 4, 8},
		{star, "kind: all-reduce, ranks: h0..h7, size: 80MB", 0, 1},
		{star, "kind: all-reduce, ranks: h0..h7, size: 80MB, rails: 4", 4, 4},
	} {
		s := parsed(t, "name: r\nduration: 1ms\n"+c.rack+fmt.Sprintf("collectives: [{name: sum, %s}]\n", c.keys))
		if got := s.Collectives[0]; got.Rails != c.rails || got.Channels != c.channels {
			t.Errorf("%s%s: %d rails and %d channels, want %d and %d", c.rack, c.keys, got.Rails, got.Channels, c.rails, c.channels)
		}
		if _, err := Marshal(s); err != nil {
			t.Errorf("%s: %v", c.keys, err)
		}
	}
}
