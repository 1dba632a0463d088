package main

import "github.com/spf13/cobra"

// experiment is a run with a table of its own.
type experiment func(*cobra.Command, runFlags) error

// experimentOf gives the experiment of that name, nil if there is none. One that
// is also a scenario is run as such if a scheme, a bus or a rack is asked for.
func experimentOf(c *cobra.Command, name string) experiment {
	plain := c.Flags().Changed("scheme") || c.Flags().Changed("bus") || c.Flags().Changed("controller")
	switch {
	case name == fig5:
		return runFig5
	case name == "rttx-compare":
		return runRTTXCompare
	case name == cethReaction && !plain:
		return runReaction
	case name == "rttx-example" && !plain:
		return runRTTXExample
	}
	return nil
}
