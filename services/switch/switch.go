// Package switchd implements SwitchService, the API of the switches of a rack, and the process of
// one switch. What NICs and switches share, the run above all, is in package nodeservice.
package switchd

import (
	"context"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/services/internal/nodeservice"
)

// Options configure the process.
type Options = nodeservice.Options

// Main runs the process until ctx ends.
func Main(ctx context.Context, o Options) error {
	o.APIs = []nodeservice.API{Register}
	o.Nodes = []topology.Node{{Name: o.Name, Kind: topology.Switch}}
	return nodeservice.Main(ctx, o)
}
