package controller

import (
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// A watch ends with its live run, even if another run begins afterwards.
func TestWatchEndsWithItsRun(t *testing.T) {
	r := started(t, Options{NodeLimit: NodeLimit})
	watch, err := r.API().Watch(t.Context(), &rackfabv1.WatchRequest{EveryMs: watchMost})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.API().StopRack(t.Context(), &rackfabv1.StopRackRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.API().StartRack(t.Context(), &rackfabv1.StartRackRequest{RunId: "next", Scenario: []byte(looped)}); err != nil {
		t.Fatal(err)
	}
	if event, err := watch.Recv(); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("after the end: %v, %v", event, err)
	}
}

// GetTopology returns the current cabling and settings: layers, cut links, settings,
// scheme, and the path of every flow around a cut link.
func TestTopologyFollowsChanges(t *testing.T) {
	r := started(t, Options{NodeLimit: NodeLimit})
	topology := func() *rackfabv1.Topology {
		out, err := r.API().GetTopology(t.Context(), &rackfabv1.GetTopologyRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return out.GetTopology()
	}
	before := topology()
	layers := map[string]int32{}
	for _, n := range before.GetNodes() {
		layers[n.GetName()] = n.GetLayer()
	}
	if layers["h0"] != 0 || layers["s0"] != 1 || layers["s1"] != 2 || layers["s3"] != 1 {
		t.Errorf("layers %v", layers)
	}
	if l := before.GetLinks()[0]; l.GetA() != "h0" || l.GetB() != "s0" || l.GetRateBps() != 40e9 || l.GetDelayPs() != 1e6 || l.GetDown() {
		t.Errorf("link %v", l)
	}
	if !slices.Equal(before.GetChoices(), cc.Choices()) {
		t.Errorf("flows can change to %v, want %v", before.GetChoices(), cc.Choices())
	}
	way := before.GetFlows()[0].GetPath()
	if len(way) != 5 || way[0] != "h0" || way[4] != "r0" {
		t.Fatalf("path of F0: %v", way)
	}
	for _, c := range []*rackfabv1.Change{
		{Verb: &rackfabv1.Change_LinkDown{LinkDown: "s0--" + way[2]}},
		{Verb: &rackfabv1.Change_Set{Set: &rackfabv1.Setting{Key: "s3.xoff", Value: "50KB"}}},
		{Verb: &rackfabv1.Change_Scheme{Scheme: &rackfabv1.SchemeChoice{Name: "pcn"}}},
		{Verb: &rackfabv1.Change_Burst{Burst: &rackfabv1.Burst{
			Name: "b", From: "h1..h2", To: "r0", FlowsPerSender: 2, Volume: &rackfabv1.Burst_SizeBytes{SizeBytes: 1000},
		}}},
	} {
		if _, err := r.API().Apply(t.Context(), &rackfabv1.ApplyRequest{Change: c}); err != nil {
			t.Fatal(err)
		}
	}
	r.step(t, unit.Microsecond)
	after := topology()
	if after.GetChanges() != 4 || len(after.GetFlows()) != 5 || after.GetFlows()[1].GetName() != "b/h1/0" || after.GetFlows()[1].GetBurst() != "b" {
		t.Errorf("changes %d, flows %v", after.GetChanges(), after.GetFlows())
	}
	if before.GetScheme() != "dcqcn" || after.GetScheme() != "pcn" {
		t.Errorf("scheme %s, after the change %s", before.GetScheme(), after.GetScheme())
	}
	if round := after.GetFlows()[0].GetPath(); len(round) != 5 || round[2] == way[2] {
		t.Errorf("path of F0: %v, after the link failed: %v", way, round)
	}
	for _, l := range after.GetLinks() {
		if want := l.GetA() == "s0" && l.GetB() == way[2]; l.GetDown() != want {
			t.Errorf("link %v", l)
		}
	}
	settings := after.GetNodes()[slices.IndexFunc(after.GetNodes(), func(n *rackfabv1.TopologyNode) bool { return n.GetName() == "s3" })].GetSettings()
	if i := slices.IndexFunc(settings, func(s *rackfabv1.Setting) bool { return s.GetKey() == "xoff" }); i < 0 || settings[i].GetValue() != "50KB" {
		t.Errorf("settings of s3: %v", settings)
	}
}
