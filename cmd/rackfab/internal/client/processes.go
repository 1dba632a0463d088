package client

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/services/controller"
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

// Recover is the time that a run over NATS waits for a lost process to be started again; 0
// means that the loss ends the run.
type Recover time.Duration

// AddFlag adds the flag --recover.
func (r *Recover) AddFlag(c *cobra.Command) {
	c.Flags().DurationVar((*time.Duration)(r), "recover", controller.NodeLimit, "time that a run over NATS waits for a lost process to be started again; 0 ends the run at a loss")
}

// Check checks the flag. The error names it.
func (r Recover) Check() error {
	if r < 0 {
		return fmt.Errorf("--recover %s: must be 0 or above", time.Duration(r))
	}
	return nil
}

// Workers is the number of free workers that run the nodes of a rack, 0 for none.
type Workers int

// AddFlag adds the flag --workers. more says what else the command gives to workers.
func (w *Workers) AddFlag(c *cobra.Command, more string) {
	c.Flags().IntVar((*int)(w), "workers", 0, "number of free workers, see rackfab worker --help, at --nats-url to wait for: they run the nodes, each a share by its cores"+more+" (default: none)")
}

// Check checks the flag for a rack. The error names the flags.
func (w Workers) Check(s *topology.Scenario, bus NATS) error {
	switch {
	case w == 0:
		return nil
	case bus.URL == "":
		return errors.New("--workers: needs --nats-url URL, the bus that the workers have joined")
	case w < 0 || int(w) > len(s.Nodes):
		return fmt.Errorf("--workers %d: must be 1 to %d, the nodes of %s", w, len(s.Nodes), s.Name)
	}
	return nil
}

// Joined returns a function that shows on out how many of the workers have joined.
func (w Workers) Joined(out io.Writer) func(int) {
	return func(count int) { _, _ = fmt.Fprintf(out, "%d of %d workers have joined\n", count, w) }
}
