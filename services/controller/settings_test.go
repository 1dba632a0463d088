package controller

import (
	"maps"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// direct returns clients of two nodes' own services, found by ListNodes.
func direct(t *testing.T, r *rig) (rackfabv1.NicServiceClient, rackfabv1.SwitchServiceClient) {
	t.Helper()
	nodes, err := r.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]string{}
	for _, n := range nodes {
		at[n.GetName()] = n.GetAddress()
	}
	h0, err := serve.DialAs(at["h0"], nil, "")
	if err != nil {
		t.Fatal(err)
	}
	s0, err := serve.DialAs(at["s0"], nil, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h0.Close(); _ = s0.Close() })
	return rackfabv1.NewNicServiceClient(h0), rackfabv1.NewSwitchServiceClient(s0)
}

// The nodes' own services return posted commands, settings and schemes by the names
// that users know, at the instant that the node has reached.
func TestServicesOfTheNodes(t *testing.T) {
	r := started(t, Options{NodeLimit: NodeLimit})
	for _, c := range []*rackfabv1.Change{
		{Verb: &rackfabv1.Change_Post{Post: &rackfabv1.Post{Name: "mine", Verb: rackfabv1.PostVerb_POST_VERB_READ, From: "h0", To: "h1", SizeBytes: 4096, Count: 3}}},
		{Verb: &rackfabv1.Change_Set{Set: &rackfabv1.Setting{Key: "s0.pfc.xoff", Value: "48KB"}}},
		{Verb: &rackfabv1.Change_Scheme{Scheme: &rackfabv1.SchemeChoice{Name: "pcn"}}},
	} {
		if _, err := r.API().Apply(t.Context(), &rackfabv1.ApplyRequest{Change: c}); err != nil {
			t.Fatal(err)
		}
	}
	r.step(t, 200*unit.Microsecond)
	nic, sw := direct(t, r)
	stats, err := nic.GetStats(t.Context(), &rackfabv1.NicServiceGetStatsRequest{Flows: []string{"F0"}})
	if err != nil || stats.GetAtPs() != int64(200*unit.Microsecond) || len(stats.GetFlows()) != 1 {
		t.Fatal(stats, err)
	}
	if f := stats.GetFlows()[0]; f.GetDataFramesTx() == 0 || f.GetScheme() != "pcn" || f.GetPortRx() != "r0" || f.GetSrcIpv4() != "10.0.0.1" || f.GetDataTxRate() <= 0 {
		t.Error(f)
	}
	if c := stats.GetCounters(); c["tx_packets_phy"] == 0 || c["commands_completed"] != 3 {
		t.Error(c)
	}
	commands, err := nic.ListCommands(t.Context(), &rackfabv1.NicServiceListCommandsRequest{Name: "mine"})
	if err != nil || len(commands.GetCommands()) != 1 || commands.GetCommands()[0].GetCompleted() != 3 || commands.GetCommands()[0].GetLongestPs() <= 0 {
		t.Error(commands, err)
	}
	ports, err := sw.GetStats(t.Context(), &rackfabv1.SwitchServiceGetStatsRequest{Peers: []string{"h0"}})
	if err != nil || len(ports.GetPorts()) != 1 || ports.GetPorts()[0].GetCounters()["SAI_PORT_STAT_IF_IN_OCTETS"] == 0 || len(ports.GetPorts()[0].GetClasses()) == 0 {
		t.Error(ports, err)
	}
	all, err := r.API().GetSettings(t.Context(), &rackfabv1.GetSettingsRequest{Nodes: "h0,s0"})
	if err != nil || len(all.GetNodes()) != 2 {
		t.Fatal(all, err)
	}
	for key, want := range map[string]string{"xoff": "48KB", "law": "npecn", "scheme": "pcn"} {
		one, err := sw.GetSettings(t.Context(), &rackfabv1.SwitchServiceGetSettingsRequest{Keys: []string{key}})
		if err != nil || len(one.GetSettings().GetSettings()) != 1 || one.GetSettings().GetSettings()[0].GetValue() != want || !one.GetSettings().GetSettings()[0].GetLive() {
			t.Errorf("%s: %v %v", key, one, err)
		}
	}
}

// A node refuses unknown names.
func TestInvalidCallsOfANode(t *testing.T) {
	r := started(t, Options{NodeLimit: NodeLimit})
	nic, sw := direct(t, r)
	for name, call := range map[string]func() error{
		"flows": func() error {
			_, err := nic.GetStats(t.Context(), &rackfabv1.NicServiceGetStatsRequest{Flows: []string{"F9"}})
			return err
		},
		"name": func() error {
			_, err := nic.ListCommands(t.Context(), &rackfabv1.NicServiceListCommandsRequest{Name: "none"})
			return err
		},
		"keys": func() error {
			_, err := nic.GetSettings(t.Context(), &rackfabv1.NicServiceGetSettingsRequest{Keys: []string{"xoff"}})
			return err
		},
		"peers": func() error {
			_, err := sw.GetStats(t.Context(), &rackfabv1.SwitchServiceGetStatsRequest{Peers: []string{"r0"}})
			return err
		},
	} {
		if err := call(); status.Code(err) != codes.InvalidArgument || serve.Violations(err)[name] == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// GetSettings marks the values that changes set at the next grant and later, and no others.
func TestPendingSettings(t *testing.T) {
	r := started(t, Options{NodeLimit: NodeLimit})
	r.step(t, 100*unit.Microsecond)
	later := int64(150 * unit.Microsecond)
	for _, q := range []*rackfabv1.ApplyRequest{
		{Change: &rackfabv1.Change{Verb: &rackfabv1.Change_Set{Set: &rackfabv1.Setting{Key: "s0.xoff", Value: "48KB"}}}},
		{Change: &rackfabv1.Change{Verb: &rackfabv1.Change_Set{Set: &rackfabv1.Setting{Key: "s0.kmin", Value: "2KB"}}}, AtPs: &later},
	} {
		if _, err := r.API().Apply(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	pending := func() map[string]string {
		out, err := r.API().GetSettings(t.Context(), &rackfabv1.GetSettingsRequest{Nodes: "s0,s1,h0"})
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		for _, n := range out.GetNodes() {
			for _, s := range n.GetSettings() {
				if s.Pending != nil {
					found[n.GetNode()+"."+s.GetKey()] = s.GetPending() + " at " + unit.Time(s.GetPendingAtPs()).String()
				}
			}
		}
		return found
	}
	for _, want := range []map[string]string{
		{"s0.xoff": "48KB at 100us", "s0.kmin": "2KB at 150us"}, {"s0.kmin": "2KB at 150us"}, {},
	} {
		if got := pending(); !maps.Equal(got, want) {
			t.Errorf("pending %v, want %v", got, want)
		}
		r.step(t, 40*unit.Microsecond)
	}
}
