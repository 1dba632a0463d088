package tracing_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/tracing"
)

// Names of flows, bursts and commands choose their messages; patterns that match
// nothing are told, and bad ones refused.
func TestChoose(t *testing.T) {
	s, err := topology.Parse("test.yaml", []byte(get+`
flows: [{name: F0, from: h0, to: r0, size: 1KB}, {name: G0, from: h0, to: r0, size: 1KB}]
bursts: [{name: rush, from: h0, to: r0, flows_per_sender: 2, size: 1KB, at: 1us}]
`))
	if err != nil {
		t.Fatal(err)
	}
	flow := func(id uint64) fabric.Message { return fabric.Message{First: (id + 1) << 32, End: (id + 2) << 32} }
	first := (uint64(topology.FirstConnection) + 1) << 32
	for patterns, want := range map[string][]fabric.Message{
		"": nil, "F*": {flow(0)}, "?0": {flow(0), flow(1)}, "rush": {flow(2), flow(3)}, "fetch, G0": {{First: first, End: first + 1}, flow(1)},
	} {
		if got, idle, err := tracing.Choose(s, patterns); err != nil || len(idle) > 0 || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v, %v, want %v", patterns, got, idle, err, want)
		}
	}
	if _, idle, err := tracing.Choose(s, "F0,none"); err != nil || !slices.Equal(idle, []string{"none"}) {
		t.Errorf("idle %v, %v", idle, err)
	}
	if _, err := tracing.Follow(s, 1, "F[", nil); err == nil || !strings.Contains(err.Error(), `"F["`) {
		t.Errorf("a bad pattern: %v", err)
	}
}

// A node that has too many messages under way ends the one touched least recently,
// and counts it.
func TestWhatIsOpenIsBounded(t *testing.T) {
	s, err := topology.Parse("test.yaml", []byte(get))
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
		tr.Observe([]fabric.Note{{Kind: fabric.Posted, Trace: 1<<32 | i}})
	}
	if want := []uint64{1 << 32, 1<<32 | 1, 1<<32 | 2}; tr.Cut() != 3 || !slices.Equal(cut, want) {
		t.Errorf("cut %x, counted %d", cut, tr.Cut())
	}
}
