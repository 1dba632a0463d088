package imports

import (
	"slices"
	"strings"
	"testing"
)

// IMP-17: A stage receives what the one before it sends, for each microbatch, and sends its own after the layers of the
// microbatch. In the backward pass it is the other way round.
func TestSimAIStages(t *testing.T) {
	layer := func(name string) string { return name + " -1 1 NONE 0 2 NONE 0 3 NONE 0 0" }
	out, err := SimAI(workloadOf("model_parallel_NPU_group: 1 pp: 3 vpp: 2 ga: 2 all_gpus: 6 pp_comm: 70000.0",
		layer("grads"), layer("a"), layer("b"), layer("a"), layer("b"), layer("optimizer")), nil, nil, testLayout)
	if err != nil {
		t.Fatal(err)
	}
	const want = `  h3: |
    f0: calc 1ns
    a0: receive from h1 after f0
    f1: calc 1ns after a0
    f2: calc 1ns after f1
    send 70000B to h5 after f2
    a1: receive from h1 after f2
    f3: calc 1ns after a1
    f4: calc 1ns after f3
    send 70000B to h5 after f4
    f5: calc 1ns after f4
    i5: calc 2ns after f5
    w5: calc 3ns after i5
    b1: receive from h5 after w5
    i4: calc 2ns after b1
    w4: calc 3ns after i4
    i3: calc 2ns after w4
    send 70000B to h1 after i3
    w3: calc 3ns after i3
    b0: receive from h5 after w3
    i2: calc 2ns after b0
    w2: calc 3ns after i2
    i1: calc 2ns after w2
    send 70000B to h1 after i1
    w1: calc 3ns after i1
    i0: calc 2ns after w1
    w0: calc 3ns after i0
`
	if !strings.Contains(string(out.Scenario), want) {
		t.Errorf("%s\nlacks\n%s", out.Scenario, want)
	}
	for host, n := range map[string]int{"h0": 2, "h1": 2, "h2": 4, "h4": 2} { // messages to the stages
		if got := strings.Count(string(out.Scenario), "to "+host+" "); got != n {
			t.Errorf("%d messages to %s, want %d", got, host, n)
		}
	}
	if note := "w.txt:1: ignored: vpp: 2, each stage passes on a microbatch once"; !slices.Contains(out.Notes, note) {
		t.Errorf("%q lack %s", out.Notes, note)
	}
}

// IMP-17: Microbatches are as many layers as possible, which are repeated by name.
func TestSimAIMicrobatches(t *testing.T) {
	for _, c := range []struct {
		layers string
		ga     int
		want   batches
	}{
		{"g p E L L N E L L N c o", 2, batches{2, 4, 2}},
		{"E L L E L L E L L", 3, batches{0, 3, 3}},
		{"g L L L L o", 2, batches{1, 2, 2}},
		{"g E L o", 1, batches{0, 4, 1}},
		{"a b a b b", 2, batches{0, 2, 2}},
		{"c a b c a b", 2, batches{0, 3, 2}},
		{"a b c d", 2, batches{}},
		{"a", 2, batches{}},
	} {
		s := &simai{ga: c.ga, pp: 2}
		for _, name := range strings.Fields(c.layers) {
			s.layers = append(s.layers, simaiLayer{name: name})
		}
		got := s.microbatches()
		if (got == nil) != (c.want == batches{}) || got != nil && *got != c.want {
			t.Errorf("%s, %d times: %v, want %v", c.layers, c.ga, got, c.want)
		}
	}
}
