package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/topology"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/collector"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/inspect"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/query"
)

// completionLimit bounds how long completion waits for a rack.
const completionLimit = time.Second

// completable adds completion to every command below root: fixed names, and names from
// the running rack.
func completable(root *cobra.Command) {
	for _, c := range root.Commands() {
		completable(c)
		if offer, ok := argumentOffers[c.CommandPath()]; ok {
			c.ValidArgsFunction = offer
		} else if strings.Contains(c.Use, "[SCENARIO|") {
			c.ValidArgsFunction = first(scenarioNames, cobra.ShellCompDirectiveDefault)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if offer, ok := flagOffers[f.Name]; ok {
				_ = c.RegisterFlagCompletionFunc(f.Name, offer) // the flag is there
			}
		})
	}
}

// argumentOffers completes arguments by command path; flagOffers completes flags by
// name.
var (
	argumentOffers = map[string]cobra.CompletionFunc{
		"rackfab scheme":         first(choices, cobra.ShellCompDirectiveNoFileComp),
		"rackfab schemes":        first(allSchemes, cobra.ShellCompDirectiveNoFileComp),
		"rackfab query":          first(metricNames, cobra.ShellCompDirectiveNoFileComp),
		"rackfab link down":      first(links, cobra.ShellCompDirectiveNoFileComp),
		"rackfab link up":        first(links, cobra.ShellCompDirectiveNoFileComp),
		"rackfab freeze":         first(nics, cobra.ShellCompDirectiveNoFileComp),
		"rackfab thaw":           first(nics, cobra.ShellCompDirectiveNoFileComp),
		"rackfab settings":       first(nodes, cobra.ShellCompDirectiveNoFileComp),
		"rackfab stats":          first(nodes, cobra.ShellCompDirectiveNoFileComp),
		"rackfab set":            first(settable, cobra.ShellCompDirectiveNoFileComp),
		"rackfab topology check": first(scenarioNames, cobra.ShellCompDirectiveDefault),
		"rackfab topology show":  first(scenarioNames, cobra.ShellCompDirectiveDefault),
	}
	flagOffers = map[string]cobra.CompletionFunc{
		"scheme": listed(allSchemes),
		"bus":    cobra.FixedCompletions([]string{"nats", "memory"}, cobra.ShellCompDirectiveNoFileComp),
		"format": listed(formatsOf),
	}
)

// first completes only the first argument.
func first(names func(*cobra.Command) []string, files cobra.ShellCompDirective) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names(c), files
	}
}

// listed completes the element after the last comma.
func listed(names func(*cobra.Command) []string) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, typed string) (offer []string, _ cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		for _, name := range names(c) {
			offer = append(offer, before+name)
		}
		return offer, cobra.ShellCompDirectiveNoFileComp
	}
}

func scenarioNames(*cobra.Command) []string { return topology.Builtins() }

// choices returns the schemes that flows can switch to while the rack runs.
func choices(*cobra.Command) []string { return cc.Choices() }

// formatsOf returns the output formats of a command.
func formatsOf(c *cobra.Command) []string {
	switch c.CommandPath() {
	case "rackfab export":
		return inspect.ExportFormats
	case "rackfab query", "rackfab stats":
		return []string{"table", "csv", "json"}
	}
	return []string{"table", "json"}
}

func allSchemes(*cobra.Command) []string { return cc.Names() }

// attempt calls do with the running rack. Errors are ignored: without a rack,
// completion offers nothing.
func attempt(c *cobra.Command, do func(context.Context, rackfabv1.FabricServiceClient) error) {
	ctx, cancel := context.WithTimeout(context.Background(), completionLimit)
	defer cancel()
	_ = client.WithRack(c.Flag("address").Value.String(), c.Flag("tls").Value.String(), func(api rackfabv1.FabricServiceClient) error {
		return do(ctx, api)
	})
}

// present returns the topology of the running rack, or nil if none runs.
func present(c *cobra.Command) (t *rackfabv1.Topology) {
	attempt(c, func(ctx context.Context, api rackfabv1.FabricServiceClient) error {
		out, err := api.GetTopology(ctx, &rackfabv1.GetTopologyRequest{})
		t = out.GetTopology()
		return err
	})
	return t
}

func nodes(c *cobra.Command) (names []string) {
	for _, n := range present(c).GetNodes() {
		names = append(names, n.GetName())
	}
	return names
}

func nics(c *cobra.Command) (names []string) {
	for _, n := range present(c).GetNodes() {
		if n.GetKind() == rackfabv1.NodeKind_NODE_KIND_NIC {
			names = append(names, n.GetName())
		}
	}
	return names
}

func links(c *cobra.Command) (names []string) {
	for _, l := range present(c).GetLinks() {
		names = append(names, l.GetA()+"--"+l.GetB())
	}
	return names
}

// settable returns the keys that `rackfab set` can change, with their values. Loss and
// corruption of links have no value unless they are set.
func settable(c *cobra.Command) (keys []string) {
	for _, l := range links(c) {
		keys = append(keys, l+".loss", l+".corrupt")
	}
	attempt(c, func(ctx context.Context, api rackfabv1.FabricServiceClient) error {
		out, err := api.GetSettings(ctx, &rackfabv1.GetSettingsRequest{})
		for _, n := range out.GetNodes() {
			for _, s := range n.GetSettings() {
				switch key := s.GetKey(); {
				case !s.GetLive() || key == "law" || key == "scheme":
				case strings.Contains(key, "->"): // the key names its link
					keys = append(keys, cobra.CompletionWithDesc(key, s.GetValue()))
				default:
					keys = append(keys, cobra.CompletionWithDesc(n.GetNode()+"."+key, s.GetValue()))
				}
			}
		}
		return err
	})
	return keys
}

// metricNames returns the metrics of the collector's latest run.
func metricNames(c *cobra.Command) []string {
	who, err := client.Identity(c.Flag("tls").Value.String())
	if err != nil {
		return nil
	}
	there, err := collector.DialAs(c.Flag("collector").Value.String(), who)
	if err != nil {
		return nil
	}
	defer func() { _ = there.Close() }() // the call is over
	ctx, cancel := context.WithTimeout(context.Background(), completionLimit)
	defer cancel()
	out, err := there.API().ListSeries(ctx, &rackfabv1.ListSeriesRequest{Select: &rackfabv1.SeriesSelector{}})
	if err != nil {
		return nil
	}
	return query.Metrics(out.GetSeries())
}
