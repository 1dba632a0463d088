package controller

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// seen is everything that a client sees of a live run with changes and captures, except
// the figures of processes.
type seen struct {
	Digest   uint64
	Captured []*rackfabv1.CapturedPacket
	Stats    *rackfabv1.GetStatsResponse
	Settings *rackfabv1.GetSettingsResponse
	NIC      *rackfabv1.NicServiceGetStatsResponse
	Switch   *rackfabv1.SwitchServiceGetStatsResponse
	Journal  string
}

// observe takes a live run through changes, an impaired bus and captures.
func observe(t *testing.T, r *rig) *seen {
	t.Helper()
	apply := func(c *rackfabv1.Change) {
		if _, err := r.API().Apply(t.Context(), &rackfabv1.ApplyRequest{Change: c}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.API().ImpairBus(t.Context(), &rackfabv1.ImpairBusRequest{Nodes: "h1,s3", Impairment: &rackfabv1.BusImpairment{Repeat: 0.2, Delay: 0.02, Seed: 3}}); err != nil {
		t.Fatal(err)
	}
	r.step(t, 30*unit.Microsecond)
	stream, _ := r.captureOf(t, &rackfabv1.CaptureRequest{At: []string{"s0:h0", "s0:s1", "h0", "r0"}, SpanPs: int64(50 * unit.Microsecond)})
	apply(&rackfabv1.Change{Verb: &rackfabv1.Change_Post{Post: &rackfabv1.Post{Name: "mine", Verb: rackfabv1.PostVerb_POST_VERB_READ, From: "h1", To: "r0", SizeBytes: 65536, Count: 3}}})
	apply(&rackfabv1.Change{Verb: &rackfabv1.Change_Set{Set: &rackfabv1.Setting{Key: "s3.pfc.xoff", Value: "48KB"}}})
	r.step(t, 40*unit.Microsecond)
	apply(&rackfabv1.Change{Verb: &rackfabv1.Change_Burst{Burst: &rackfabv1.Burst{From: "h1..h2", To: "r0", Volume: &rackfabv1.Burst_SizeBytes{SizeBytes: 100_000}}}})
	out := &seen{Digest: r.step(t, 150*unit.Microsecond).GetDigest()}
	out.Captured, _ = rest(t, stream)
	var err error
	check := func() {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	out.Stats, err = r.API().GetStats(t.Context(), &rackfabv1.GetStatsRequest{})
	check()
	for _, n := range out.Stats.GetNodes() {
		n.Bus = nil // of its process
	}
	out.Settings, err = r.API().GetSettings(t.Context(), &rackfabv1.GetSettingsRequest{})
	check()
	nic, sw := direct(t, r)
	out.NIC, err = nic.GetStats(t.Context(), &rackfabv1.NicServiceGetStatsRequest{Node: "h0"})
	check()
	out.Switch, err = sw.GetStats(t.Context(), &rackfabv1.SwitchServiceGetStatsRequest{Node: "s0"})
	check()
	j := r.journal(t)
	out.Journal = string(j.GetScenario())
	replayed(t, j)
	return out
}

// Captures, statistics, settings, changes, impairments and journals do not depend on the
// groups of nodes in processes: one group per node, groups with links inside and between,
// and a single group.
func TestGroupsServeTheirNodes(t *testing.T) {
	s := parse(t, []byte(looped))
	var want *seen
	for _, cut := range []string{"h0 h1 h2 r0 s0 s1 s2 s3", "h0,s0,h2 h1,r0,s3 s1,s2", "s0,s3,h0 h1,h2,r0,s1,s2", "h0,h1,h2,r0,s0,s1,s2,s3"} {
		r := newRigWith(t, Options{NodeLimit: NodeLimit})
		for _, group := range strings.Fields(cut) {
			var nodes []topology.Node
			for _, name := range strings.Split(group, ",") {
				for _, n := range s.Nodes {
					if n.Name == name {
						nodes = append(nodes, n)
					}
				}
			}
			r.process(t, nodes...)
		}
		r.startRack(t)
		got := observe(t, r)
		if want == nil {
			want = got
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" || len(got.Captured) == 0 {
			t.Errorf("%s: %d packets\n%s", cut, len(got.Captured), diff)
		}
	}
}

// A process with several nodes wants the name of one of them, of the right kind.
func TestServicesWantTheNode(t *testing.T) {
	r := newRigWith(t, Options{NodeLimit: NodeLimit})
	r.process(t, parse(t, []byte(looped)).Nodes...)
	r.startRack(t)
	nic, sw := direct(t, r)
	for name, want := range map[string]codes.Code{"": codes.InvalidArgument, "s0": codes.InvalidArgument, "h9": codes.InvalidArgument, "h1": codes.OK} {
		if _, err := nic.GetStats(t.Context(), &rackfabv1.NicServiceGetStatsRequest{Node: name}); status.Code(err) != want {
			t.Errorf("NIC %q: %v", name, err)
		}
	}
	if _, err := sw.GetSettings(t.Context(), &rackfabv1.SwitchServiceGetSettingsRequest{Node: "h0"}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("switch h0: %v", err)
	}
}
