// Package nic is the process of one network interface of a rack.
package nic

import (
	"context"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/services/internal/nodeservice"
)

// Options say which node the process is and where it works.
type Options = nodeservice.Options

// Main runs the process until ctx ends.
func Main(ctx context.Context, o Options) error {
	return nodeservice.Main(ctx, topology.NIC, o)
}
