package live

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/fabric/cc"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// schemeCommand returns the command that changes the congestion control of flows.
func schemeCommand() *cobra.Command {
	var flows string
	c := change("scheme NAME", "Put flows under another congestion control: "+strings.Join(cc.Choices(), ", "), cobra.ExactArgs(1),
		func(args []string) (*rackfabv1.Change, error) {
			choice := &rackfabv1.SchemeChoice{Name: args[0], Flows: flows}
			return &rackfabv1.Change{Verb: &rackfabv1.Change_Scheme{Scheme: choice}}, nil
		})
	c.Flags().StringVar(&flows, "flows", "*->*", "whose flows, those to come too: FROM->TO with names, ranges and *, such as 'h*->r1'")
	return c
}
