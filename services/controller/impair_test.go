package controller

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// bad impairs every eighth envelope.
var bad = &rackfabv1.BusImpairment{Lose: 0.025, Repeat: 0.05, Delay: 0.05, Seed: 7}

// impair sets or clears the impairment of nodes and returns all impaired nodes.
func (r *rig) impair(t *testing.T, nodes string, what *rackfabv1.BusImpairment) []string {
	t.Helper()
	out, err := r.API().ImpairBus(t.Context(), &rackfabv1.ImpairBusRequest{Nodes: nodes, Impairment: what})
	if err != nil {
		t.Fatal(err)
	}
	return out.GetImpairedNodes()
}

// impaired returns the numbers of envelopes that the impairment of each node lost,
// repeated and delayed.
func (r *rig) impaired(t *testing.T) map[string][3]int64 {
	t.Helper()
	out, err := r.API().GetStats(t.Context(), &rackfabv1.GetStatsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][3]int64{}
	for _, n := range out.GetNodes() {
		if b := n.GetBus(); b.GetStruckLost()+b.GetStruckRepeated()+b.GetStruckDelayed() > 0 {
			all[n.GetNode()] = [3]int64{b.GetStruckLost(), b.GetStruckRepeated(), b.GetStruckDelayed()}
		}
	}
	return all
}

// Impairing the bus during a live run, for some nodes or for all, and clearing the
// impairment does not change the digest. Impaired envelopes are counted at their node.
func TestImpairedBusChangesNoDigest(t *testing.T) {
	r := started(t, Options{NodeLimit: NodeLimit})
	if got := r.impair(t, "", nil); len(got) > 0 {
		t.Errorf("impaired before any call: %s", got)
	}
	r.step(t, 100*unit.Microsecond)
	if got := r.impaired(t); len(got) > 0 {
		t.Errorf("impaired envelopes on an unimpaired bus: %v", got)
	}
	if diff := cmp.Diff([]string{"s0", "s3"}, r.impair(t, "s3, s0", bad)); diff != "" {
		t.Error(diff)
	}
	at := r.step(t, 100*unit.Microsecond)
	if diff := cmp.Diff([]string{"s0", "s3"}, at.GetImpairedNodes()); diff != "" {
		t.Error(diff)
	}
	if got := r.impaired(t); !slices.Equal(slices.Sorted(maps.Keys(got)), []string{"s0", "s3"}) || got["s0"][0]*got["s0"][1]*got["s0"][2] == 0 {
		t.Errorf("impaired s0 and s3: %v", got)
	}
	if got := r.impair(t, "", bad); len(got) != 8 {
		t.Errorf("impaired all: %v", got)
	}
	r.step(t, 50*unit.Microsecond)
	r.impair(t, "", nil)
	r.step(t, unit.Microsecond) // the nodes' bus counters are those of the last instant
	before := r.impaired(t)
	r.step(t, 200*unit.Microsecond)
	if diff := cmp.Diff(before, r.impaired(t)); diff != "" {
		t.Errorf("faults after the impairment ended:\n%s", diff)
	}
	j := r.journal(t)
	replayed(t, j)
	if s := parse(t, j.GetScenario()); len(s.Changes) > 0 {
		t.Errorf("the journal contains %v", s.Changes)
	}
}

// An impairment set before a batch run applies to that run and does not change its
// digest.
func TestBatchRunOnAnImpairedBus(t *testing.T) {
	r := newRig(t, NodeLimit)
	s := parse(t, []byte(pair))
	r.nodes(t, s)
	want, err := lab.Measure(s)
	if err != nil {
		t.Fatal(err)
	}
	request := &Request{RunId: "pair", Scenario: []byte(pair)}
	worst := &rackfabv1.BusImpairment{Lose: 0.1, Repeat: 0.7, Delay: 0.1, Seed: 7} // the run has few envelopes
	if _, err := r.Run(t.Context(), request, nil); err != nil {                    // afterwards, all nodes are known
		t.Fatal(err)
	}
	for _, test := range []struct {
		what *rackfabv1.BusImpairment
		bad  bool
	}{{nil, false}, {worst, true}, {nil, false}} {
		r.impair(t, "h0..h1, s0", test.what)
		report, err := r.Run(t.Context(), request, nil)
		if err != nil {
			t.Fatal(err)
		}
		var faults int64
		for _, n := range report.Results() {
			faults += n.Struck
		}
		if faults > 0 != test.bad {
			t.Errorf("%v: %d faults", test.what, faults)
		}
		if got := fmt.Sprintf("%016x", report.Digest); got != want.Digest {
			t.Errorf("%v: digest %s, in memory %s", test.what, got, want.Digest)
		}
	}
}

// An invalid impairment is refused with every invalid field, and has no effect.
func TestInvalidImpairments(t *testing.T) {
	r := started(t, Options{NodeLimit: NodeLimit})
	for name, test := range map[string]struct {
		nodes string
		what  *rackfabv1.BusImpairment
		want  []string
	}{
		"unknown node":    {"h0, h9", bad, []string{"nodes"}},
		"bad range":       {"h3..h1", bad, []string{"nodes"}},
		"negative":        {"", &rackfabv1.BusImpairment{Lose: -0.1}, []string{"impairment.lose"}},
		"no number":       {"", &rackfabv1.BusImpairment{Delay: math.NaN()}, []string{"impairment.delay"}},
		"several":         {"", &rackfabv1.BusImpairment{Lose: 1, Repeat: 2}, []string{"impairment.lose", "impairment.repeat"}},
		"too much in all": {"", &rackfabv1.BusImpairment{Lose: 0.5, Repeat: 0.3, Delay: 0.2}, []string{"impairment"}},
	} {
		_, err := r.API().ImpairBus(t.Context(), &rackfabv1.ImpairBusRequest{Nodes: test.nodes, Impairment: test.what})
		got := slices.Sorted(maps.Keys(serve.Violations(err)))
		if status.Code(err) != codes.InvalidArgument || !slices.Equal(got, test.want) {
			t.Errorf("%s: %v names %s, want %s", name, err, got, test.want)
		}
	}
	if got := r.step(t, unit.Microsecond).GetImpairedNodes(); len(got) > 0 {
		t.Errorf("impaired: %s", got)
	}
}
