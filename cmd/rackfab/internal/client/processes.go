package client

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/fabric/topology"
)

// Processes is the number of processes that run the nodes of a rack over NATS, 0 for one
// per node.
type Processes int

// AddFlag adds the flag --processes.
func (p *Processes) AddFlag(c *cobra.Command) {
	c.Flags().IntVar((*int)(p), "processes", 0, "number of processes that run the nodes over NATS, each a group of them (default: one per node)")
}

// Of returns the number of processes for a rack. The error names the flag.
func (p Processes) Of(s *topology.Scenario) (int, error) {
	switch {
	case p < 0 || int(p) > len(s.Nodes):
		return 0, fmt.Errorf("--processes %d: must be 1 to %d, the nodes of %s, or 0 for one per node", p, len(s.Nodes), s.Name)
	case p == 0:
		return len(s.Nodes), nil
	}
	return int(p), nil
}
