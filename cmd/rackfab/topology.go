package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
)

func topologyCommand() *cobra.Command {
	c := &cobra.Command{Use: "topology", Short: "Check or show a scenario's rack"}
	c.AddCommand(
		&cobra.Command{
			Use:   "check FILE",
			Short: "Report every fault of a scenario file, and warn of what is hardly meant",
			Args:  cobra.ExactArgs(1),
			RunE: func(c *cobra.Command, args []string) error {
				s, err := loadScenario(args[0])
				if err != nil {
					return err
				}
				if err := warn(c.ErrOrStderr(), underSchemes(s)...); err != nil {
					return err
				}
				_, err = fmt.Fprintf(c.OutOrStdout(), "%s: sound: %d nodes, %d links, %d flows\n", args[0], len(s.Nodes), len(s.Links), len(s.Flows))
				return err
			},
		},
		&cobra.Command{
			Use:   "show FILE",
			Short: "List nodes, links and routes",
			Args:  cobra.ExactArgs(1),
			RunE: func(c *cobra.Command, args []string) error {
				s, err := loadScenario(args[0])
				if err != nil {
					return err
				}
				showTopology(c.OutOrStdout(), s)
				return nil
			},
		})
	return c
}

func showTopology(w io.Writer, s *topology.Scenario) {
	ends := s.PortMap()
	rows := func(title string, header table.Row) table.Writer {
		t := table.NewWriter()
		t.SetOutputMirror(w)
		t.SetStyle(table.StyleLight)
		t.SetTitle(title)
		t.AppendHeader(header)
		return t
	}
	nodes := rows("nodes", table.Row{"node", "kind", "ports"})
	for i, n := range s.Nodes {
		nodes.AppendRow(table.Row{n.Name, n.Kind, len(ends[i])})
	}
	nodes.Render()
	links := rows("links", table.Row{"link", "ports", "rate", "delay", "mtu"})
	for _, l := range s.Links {
		links.AppendRow(table.Row{s.Nodes[l.A].Name + "--" + s.Nodes[l.B].Name, fmt.Sprintf("%d--%d", l.APort, l.BPort), l.Rate, l.Delay, l.MTU})
	}
	links.Render()
	routes := rows("routes", table.Row{"at", "to", "next hop"})
	for i, byHost := range topology.Routes(s) {
		if s.Nodes[i].Kind != topology.Switch {
			continue
		}
		for host, ports := range byHost {
			routes.AppendRow(table.Row{s.Nodes[i].Name, hostName(s, host), nextHops(s, ends[i], ports)})
		}
	}
	routes.Render()
}

func hostName(s *topology.Scenario, host int) string {
	for _, n := range s.Nodes {
		if n.Host == host {
			return n.Name
		}
	}
	return fmt.Sprint(host)
}

func nextHops(s *topology.Scenario, ends []topology.End, ports []fabric.Port) string {
	names := make([]string, len(ports))
	for i, p := range ports {
		names[i] = fmt.Sprintf("%s (p%d)", s.Nodes[ends[p].Peer].Name, p)
	}
	return strings.Join(names, ", ")
}
