package inspect

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/routes"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/load"
	"github.com/rackfab/rackfab/report/table"
)

func topologyCommand() *cobra.Command {
	c := &cobra.Command{Use: "topology", Short: "Check or show the rack of a scenario", Example: "rackfab topology show pcn-16to2"}
	c.AddCommand(
		&cobra.Command{
			Use:     "check FILE",
			Short:   "Report all errors of a scenario file, and warn of likely mistakes",
			Example: "rackfab topology check rack.yaml",
			Args:    cobra.ExactArgs(1),
			RunE: func(c *cobra.Command, args []string) error {
				s, err := load.Scenario(c.ErrOrStderr(), args[0])
				if err != nil {
					return err
				}
				under := load.UnderSchemes(s)
				if err := load.Warn(c.ErrOrStderr(), under...); err != nil {
					return err
				}
				if slices.ContainsFunc(under, lossless) {
					if err := load.WriteWarnings(c.ErrOrStderr(), cyclicRoutes(s)); err != nil {
						return err
					}
				}
				_, err = fmt.Fprintf(c.OutOrStdout(), "%s: valid: %d nodes, %d links, %d flows\n", args[0], len(s.Nodes), len(s.Links), len(s.Flows))
				return err
			},
		},
		showCommand())
	return c
}

// lossless reports whether a switch has PFC.
func lossless(s *topology.Scenario) bool {
	return slices.ContainsFunc(s.AsBuilt().Nodes, func(n topology.Node) bool { return n.Kind == topology.Switch && len(n.Switch.Lossless) > 0 })
}

// cyclicRoutes warns of a cyclic buffer dependency, if the routes in use have one.
func cyclicRoutes(s *topology.Scenario) []scenariofile.Fault {
	var links []string
	for _, h := range routes.Cycle(s) {
		links = append(links, s.DirectionName(h.Node, h.End))
	}
	if links == nil {
		return nil
	}
	return []scenariofile.Fault{{Key: "links", What: "frames can wait in a cycle: " + strings.Join(links, ", ") + "; with PFC these links can pause one another permanently, a deadlock"}}
}

func showCommand() *cobra.Command {
	n, programs := 0, false
	c := &cobra.Command{
		Use:     "show FILE",
		Short:   "List nodes, links, traffic classes, routes and steps, or print a cut into groups or the steps as programs",
		Example: "rackfab topology show pcn-16to2 --groups 2",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := load.Scenario(c.ErrOrStderr(), args[0])
			if err != nil {
				return err
			}
			if c.Flags().Changed("groups") {
				return showGroups(c.OutOrStdout(), s, n)
			}
			if programs {
				return scenariofile.WritePrograms(c.OutOrStdout(), s)
			}
			return showTopology(c.OutOrStdout(), s)
		},
	}
	c.Flags().IntVar(&n, "groups", 0, "show the cut of the rack into this many groups instead: the group of each node, expected work, and links across")
	c.Flags().BoolVar(&programs, "programs", false, "print the steps of all hosts, those of collectives too, as the key programs of a scenario")
	c.MarkFlagsMutuallyExclusive("groups", "programs")
	return c
}

func showTopology(w io.Writer, s *topology.Scenario) error {
	ends := s.PortMap()
	nodes := table.New(1, "node", "kind", "ports")
	for i, n := range s.Nodes {
		nodes.Row(n.Name, n.Kind, len(ends[i]))
	}
	links := table.New(1, "link", "ports", "rate", "delay", "mtu", "loss", "corrupt")
	for i, l := range s.Links {
		links.Row(s.LinkName(i), fmt.Sprintf("%d--%d", l.APort, l.BPort), l.Rate, l.Delay, l.MTU, l.Loss, l.Corrupt)
	}
	rows := table.New(1, "at", "to", "next hop")
	paths := routes.New(s, ends)
	for i := range s.NodesOf(topology.Switch) {
		for host, ports := range paths.By(i) {
			rows.Row(s.Nodes[i].Name, hostName(s, host), nextHops(s, ends[i], ports))
		}
	}
	nodes.Title, links.Title, rows.Title = "nodes", "links", "routes"
	return table.WriteAll(w, append([]*table.Table{nodes, links, classTable(s), rows}, programTables(s)...)...)
}

// classTable lists the settings of each switch's traffic classes. Classes with equal
// settings share a row.
func classTable(s *topology.Scenario) *table.Table {
	t := table.New(2, "switch", "class", "DSCP", "kind", "reserve", "threshold", "headroom", "marking")
	t.Title = "traffic classes"
	s = s.AsBuilt()
	for i, n := range s.Nodes {
		if n.Kind != topology.Switch {
			continue
		}
		var order []string
		classes, codes := map[string][]string{}, map[string][]string{}
		m := s.DSCPMapAt(i)
		for class := range fabric.Priority(fabric.Priorities) {
			key := strings.Join(profileCells(s, &n.Switch, class), "\t")
			if classes[key] == nil {
				order = append(order, key)
			}
			classes[key] = append(classes[key], fmt.Sprint(class))
			for dscp, c := range m {
				if c == class && (class != 0 || dscp == 0) { // class 0 has all other code points
					codes[key] = append(codes[key], fmt.Sprint(dscp))
				}
			}
		}
		for _, key := range order {
			row := []string{n.Name, strings.Join(classes[key], ","), strings.Join(codes[key], ",")}
			t.Strings(append(row, strings.Split(key, "\t")...)...)
		}
	}
	return t
}

// profileCells returns the settings of a traffic class at a switch.
func profileCells(s *topology.Scenario, set *topology.SwitchSettings, class fabric.Priority) []string {
	p := set.Profile(class)
	scheme, _ := cc.Find(s.Scheme) // the scenario is valid
	kind, headroom, marking := "lossy", "-", set.Marking[class]
	if p.Lossless {
		kind, headroom = "lossless", p.Headroom.String()
		if marking == "" {
			marking = scheme.Marking
		}
	}
	threshold := p.Threshold.String()
	if p.Threshold == 0 {
		threshold = "alpha " + topology.AlphaText(-p.AlphaShift)
	}
	threshold += queueText(set, class)
	law := string(marking)
	switch marking {
	case "", cc.MarkNone:
		law = "-"
	case cc.MarkRED:
		law = fmt.Sprintf("red %s..%s, %v", p.Kmin, p.Kmax, p.Pmax)
	case cc.MarkBDP:
		law = fmt.Sprintf("red %vbdp..%vbdp, %v", set.Queues.Kmin, set.Queues.Kmax, set.Queues.Pmax)
	case cc.MarkStep:
		if law = "step " + set.Step.String(); set.StepPer > 0 {
			law += " per " + set.StepPer.String()
		}
	default:
	}
	return []string{kind, p.Reserve.String(), threshold, headroom, law}
}

// queueText describes the bound of the egress queues of a class; empty if there is none.
func queueText(set *topology.SwitchSettings, class fabric.Priority) (text string) {
	limit, lastHop, trims := set.Queue(class)
	if limit != (topology.Extent{}) {
		text += ", queue " + limit.String()
	}
	if lastHop != (topology.Extent{}) {
		text += ", last hop " + lastHop.String()
	}
	if trims {
		text += ", trims"
	}
	return text
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
		names[i] = fmt.Sprintf("%s (p%d)", s.PeerName(ends[p]), p)
	}
	return strings.Join(names, ", ")
}
