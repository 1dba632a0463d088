package nodeservice

import (
	"testing"

	"google.golang.org/protobuf/proto"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// The configuration of a run of any bytes is refused, or names a group for each node.
func FuzzConfig(f *testing.F) {
	data, err := proto.Marshal(&rackfabv1.RunConfig{Node: "h0", RunId: "a", Scenario: []byte("name: x\nduration: 1us\nnics: {h0..h1: }\nlinks: [{endpoints: [h0, h1], rate: 1Gbps, delay: 1us}]\n")})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		var c rackfabv1.RunConfig
		if proto.Unmarshal(data, &c) != nil {
			return
		}
		c.Node = "h0"
		scenario, err := (&Service{name: "h0"}).check(&c)
		if err != nil {
			return
		}
		if of, err := groupsOf(scenario, &c); err == nil && len(of) != len(scenario.Nodes) {
			t.Errorf("%d groups for %d nodes", len(of), len(scenario.Nodes))
		}
	})
}
