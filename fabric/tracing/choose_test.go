package tracing_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/tracing"
)

// Names of flows, bursts and commands select their messages; invalid patterns are
// rejected.
func TestFollow(t *testing.T) {
	s, err := scenariofile.Parse("test.yaml", []byte(get+`
flows: [{name: F0, from: h0, to: r0, size: 1KB}, {name: G0, from: h0, to: r0, size: 1KB}]
bursts: [{name: rush, from: h0, to: r0, flows_per_sender: 2, size: 1KB, at: 1us}]
`))
	if err != nil {
		t.Fatal(err)
	}
	first := func(id fabric.FlowID) uint64 { return (uint64(id) + 1) << 32 }
	flows := []uint64{first(0), first(1), first(2), first(3), first(topology.FirstConnection)}
	for patterns, want := range map[string][]int{
		"": nil, "none": nil, "F*": {0}, "?0": {0, 1}, "rush": {2, 3}, "fetch, G0": {1, 4},
	} {
		follow, err := tracing.Follow(s, 0, patterns, nil)
		if err != nil {
			t.Errorf("%q: %v", patterns, err)
			continue
		}
		for i, message := range flows {
			if got := follow.Picks(message); got != slices.Contains(want, i) {
				t.Errorf("%q: flow %d is followed: %t", patterns, i, got)
			}
		}
		if next := flows[4] + 1; follow.Picks(next) {
			t.Errorf("%q: %x is followed, but the scenario has one command", patterns, next)
		}
	}
	if _, err := tracing.Follow(s, 1, "F[", nil); err == nil || !strings.Contains(err.Error(), `"F["`) {
		t.Errorf("an invalid pattern: %v", err)
	}
}

// Endless flows are sampled in addition to a share, unless patterns are given. The text
// describes the selection.
func TestEndlessFlowsAreSampledByDefault(t *testing.T) {
	flows := "flows: [{name: short, from: h0, to: r0, size: 1KB}"
	for range tracing.MaxLong + 1 {
		flows += ", {name: L" + strings.Repeat("o", strings.Count(flows, "name")) + "ng, from: h0, to: r0, size: endless}"
	}
	s, err := scenariofile.Parse("test.yaml", []byte(get+flows+"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	message := func(flow uint64) uint64 { return (flow + 1) << 32 }
	for _, test := range []struct {
		share    float64
		patterns string
		text     string
	}{
		{1e-9, "", "1e-07 % of the messages, all of Long, Loong, "},
		{0, "", "no messages"},
		{1e-9, "short", "1e-07 % of the messages, all of short"},
		{0, "short", "all messages of short, no others"},
		{1, "", "all messages"},
	} {
		follow, err := tracing.Follow(s, test.share, test.patterns, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range s.Flows {
			long := f.Size < 0 && i <= tracing.MaxLong // the first flow is not endless
			want := f.Name == test.patterns || test.share == 1 || long && test.share > 0 && test.patterns == ""
			if got := follow.Picks(message(uint64(i)) + 7); got != want {
				t.Errorf("%g %q: %s is followed: %t", test.share, test.patterns, f.Name, got)
			}
		}
		if text := tracing.Sampled(s, test.share, test.patterns); !strings.HasPrefix(text, test.text) {
			t.Errorf("%g %q: %s", test.share, test.patterns, text)
		}
	}
}

// A node with too many open messages ends the least recently used one and counts it.
func TestOpenStateIsBounded(t *testing.T) {
	s, err := scenariofile.Parse("test.yaml", []byte(get))
	if err != nil {
		t.Fatal(err)
	}
	var cut []uint64
	tr := tracing.New(s, 0, fabric.NewSelection(1, 1, nil), func(x *tracing.Span) {
		if x.Cut {
			cut = append(cut, x.Message)
		}
	})
	for i := range uint64(tracing.MaxOpen + 3) {
		tr.Observe([]fabric.Note{{Event: fabric.Event{Kind: fabric.Posted}, Trace: 1<<32 | i}})
	}
	if want := []uint64{1 << 32, 1<<32 | 1, 1<<32 | 2}; tr.Cut() != 3 || !slices.Equal(cut, want) {
		t.Errorf("cut %x, counted %d", cut, tr.Cut())
	}
}
