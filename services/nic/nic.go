// Package nic implements the process of one NIC of a rack. It knows only that its
// node is a NIC; package nodeservice does the rest.
package nic

import (
	"context"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/services/internal/nodeservice"
)

// Options configure the process.
type Options = nodeservice.Options

// Main runs the process until ctx ends.
func Main(ctx context.Context, o Options) error {
	o.Nodes = []topology.Node{{Name: o.Name, Kind: topology.NIC}}
	return nodeservice.Main(ctx, o)
}
