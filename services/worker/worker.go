// Package worker implements a process that runs several nodes of a rack. It knows only
// their names and kinds; package nodeservice does the rest.
package worker

import (
	"context"
	"fmt"
	"slices"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/services/internal/nodeservice"
)

// Options configure the process.
type Options = nodeservice.Options

// Main runs the process of NICs and switches until ctx ends. nics and switches are lists
// of names and ranges, "h0..h3,h7"; one of them may be empty. The process has the name of
// one of the nodes.
func Main(ctx context.Context, o Options, nics, switches string) error {
	for _, list := range []struct {
		flag, names string
		kind        topology.NodeKind
	}{{"--nics", nics, topology.NIC}, {"--switches", switches, topology.Switch}} {
		if list.names == "" {
			continue
		}
		names, err := topology.Names(list.names)
		if err != nil {
			return fmt.Errorf("%s: %w", list.flag, err)
		}
		for _, n := range names {
			o.Nodes = append(o.Nodes, topology.Node{Name: n, Kind: list.kind})
		}
	}
	if !slices.ContainsFunc(o.Nodes, func(n topology.Node) bool { return n.Name == o.Name }) {
		return fmt.Errorf("--name %q: must be one of the nodes of --nics and --switches", o.Name)
	}
	return nodeservice.Main(ctx, o)
}
