// Package cabling describes a rack for display: its nodes by layer, its links, and
// the path of every flow. It does not know the state of a run.
package cabling

import (
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/rack"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// maxFlows bounds the number of flows listed.
const maxFlows = 8192

// Describe returns the topology of a scenario at an instant.
func Describe(s *topology.Scenario, at unit.Time) *rackfabv1.Topology {
	state := scenariofile.StateBefore(s, at+1)
	out := &rackfabv1.Topology{Scenario: s.Name, Scheme: s.SchemeText(at + 1), Seed: s.Seed, Changes: int32(len(s.Changes))}
	if own, err := cc.Find(s.Scheme); err == nil && own.Static == "" {
		out.Choices = cc.Choices()
	}
	settings, layers := state.LiveSettings(), layersOf(s)
	for i, n := range s.Nodes {
		node := &rackfabv1.TopologyNode{Name: n.Name, Kind: Kind(n.Kind), Layer: layers[i]}
		for _, set := range settings[i] {
			node.Settings = append(node.Settings, &rackfabv1.Setting{Key: set.Key, Value: set.Value})
		}
		out.Nodes = append(out.Nodes, node)
	}
	for i, l := range s.Links {
		out.Links = append(out.Links, &rackfabv1.TopologyLink{
			A: s.Nodes[l.A].Name, B: s.Nodes[l.B].Name, APort: int32(l.APort), BPort: int32(l.BPort),
			RateBps: int64(l.Rate), DelayPs: int64(l.Delay), Down: state.Down[i],
		})
	}
	addFlows(s, rack.NewPaths(s, state.Down), out)
	return out
}

// addFlows adds the flows. If there are more than maxFlows, it omits those of the
// earliest changes.
func addFlows(s *topology.Scenario, paths *rack.Paths, out *rackfabv1.Topology) {
	founding := min(s.InitialFlows(), maxFlows)
	left := max(s.FlowCount()-maxFlows, 0)
	out.FlowsLeftOut = int32(left)
	for i := range s.FlowCount() {
		if i >= founding && i < founding+left {
			continue
		}
		f := s.Flow(i)
		flow := &rackfabv1.TopologyFlow{
			Name: f.Name, From: s.Nodes[f.From].Name, To: s.Nodes[f.To].Name, SizeBytes: int64(f.Size), StartPs: int64(f.Start),
		}
		if f.Burst >= 0 {
			flow.Burst = s.Bursts[f.Burst].Name
		}
		for _, node := range paths.Of(f) {
			flow.Path = append(flow.Path, s.Nodes[node].Name)
		}
		out.Flows = append(out.Flows, flow)
	}
}

// layersOf returns the distance of each node from the nearest NIC, in links; -1 if
// there is no path to a NIC.
func layersOf(s *topology.Scenario) []int32 {
	layers := make([]int32, len(s.Nodes))
	next := []int{}
	for i, n := range s.Nodes {
		layers[i] = -1
		if n.Kind == topology.NIC {
			layers[i] = 0
			next = append(next, i)
		}
	}
	ends := s.PortMap()
	for len(next) > 0 {
		at := next[0]
		next = next[1:]
		for _, e := range ends[at] {
			if layers[e.Peer] < 0 {
				layers[e.Peer] = layers[at] + 1
				next = append(next, e.Peer)
			}
		}
	}
	return layers
}

// Kind converts the kind of a node to its wire form.
func Kind(k topology.NodeKind) rackfabv1.NodeKind {
	switch k {
	case topology.NIC:
		return rackfabv1.NodeKind_NODE_KIND_NIC
	case topology.Switch:
		return rackfabv1.NodeKind_NODE_KIND_SWITCH
	}
	return rackfabv1.NodeKind_NODE_KIND_UNSPECIFIED
}
