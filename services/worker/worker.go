// Package worker implements the processes that run several nodes of a rack: a worker of
// fixed nodes, and a free worker, which hosts the groups of nodes that its clients give it
// in child processes. It knows the nodes' names and kinds; package nodeservice does the
// rest.
package worker

import (
	"context"
	"fmt"
	"slices"

	"github.com/rackfab/rackfab/fabric/topology"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/nodeservice"
	"github.com/rackfab/rackfab/services/nic"
	switchd "github.com/rackfab/rackfab/services/switch"
)

// Options configure the process of fixed nodes.
type Options = nodeservice.Options

// Main runs the process of NICs and switches until ctx ends. nics and switches are lists
// of names and ranges, "h0..h3,h7"; one of them may be empty. The process has the name of
// one of the nodes.
func Main(ctx context.Context, o Options, nics, switches string) (err error) {
	if o.Nodes, err = nodesOf(nics, switches); err != nil {
		return err
	}
	if !has(o.Nodes, o.Name) {
		return fmt.Errorf("--name %q: must be one of the nodes of --nics and --switches", o.Name)
	}
	o.APIs = []nodeservice.API{nic.Register, switchd.Register}
	return nodeservice.Main(ctx, o)
}

// nodesOf parses the lists of a group.
func nodesOf(nics, switches string) (nodes []topology.Node, err error) {
	for _, list := range []struct {
		flag, names string
		kind        topology.NodeKind
	}{{"--nics", nics, topology.NIC}, {"--switches", switches, topology.Switch}} {
		if list.names == "" {
			continue
		}
		names, err := topology.Names(list.names)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", list.flag, err)
		}
		for _, n := range names {
			nodes = append(nodes, topology.Node{Name: n, Kind: list.kind})
		}
	}
	return nodes, nil
}

// has reports whether a group has a node of the name.
func has(nodes []topology.Node, name string) bool {
	return slices.ContainsFunc(nodes, func(n topology.Node) bool { return n.Name == name })
}

// Group returns the group of some nodes, named after the first.
func Group(nodes []topology.Node) *rackfabv1.HostedGroup {
	names := map[topology.NodeKind][]string{}
	for _, n := range nodes {
		names[n.Kind] = append(names[n.Kind], n.Name)
	}
	return &rackfabv1.HostedGroup{Name: nodes[0].Name, Nics: topology.JoinNames(names[topology.NIC]), Switches: topology.JoinNames(names[topology.Switch])}
}

// Role returns the command of the program that runs a group of nodes, and its flags.
func Role(g *rackfabv1.HostedGroup) (role string, flags []string) {
	flags = []string{"--name", g.GetName()}
	switch g.GetName() {
	case g.GetNics() + g.GetSwitches():
		if g.GetNics() != "" {
			return string(topology.NIC), flags
		}
		return string(topology.Switch), flags
	}
	for _, f := range []struct{ flag, names string }{{"--nics", g.GetNics()}, {"--switches", g.GetSwitches()}} {
		if f.names != "" {
			flags = append(flags, f.flag, f.names)
		}
	}
	return "worker", flags
}
