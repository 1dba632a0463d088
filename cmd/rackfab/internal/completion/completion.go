// Package completion completes the arguments and flags of commands in a shell: fixed
// names, and names from the running rack and the collector.
package completion

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/inspect"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/query"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// Add adds completion to every command below top.
func Add(top *cobra.Command) {
	for _, c := range top.Commands() {
		Add(c)
		if names, ok := argumentNames[c.CommandPath()]; ok {
			c.ValidArgsFunction = firstArgument(names, cobra.ShellCompDirectiveNoFileComp)
		} else if strings.Contains(c.Use, "[SCENARIO|") || c.Parent().Name() == "topology" {
			scenarios := func(*cobra.Command) []string { return scenariofile.Builtins() }
			c.ValidArgsFunction = firstArgument(scenarios, cobra.ShellCompDirectiveDefault)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if names, ok := flagNames[f.Name]; ok {
				_ = c.RegisterFlagCompletionFunc(f.Name, lastElement(names)) // fails for flags that complete their values by themselves
			}
		})
	}
}

// argumentNames completes arguments by command path; flagNames completes flags by name.
var (
	argumentNames = map[string]func(*cobra.Command) []string{
		"rackfab scheme":    func(*cobra.Command) []string { return cc.Choices() },
		"rackfab schemes":   schemes,
		"rackfab scenario":  func(*cobra.Command) []string { return scenariofile.Builtins() },
		"rackfab query":     metrics,
		"rackfab link down": links,
		"rackfab link up":   links,
		"rackfab freeze":    nodes(rackfabv1.NodeKind_NODE_KIND_NIC),
		"rackfab thaw":      nodes(rackfabv1.NodeKind_NODE_KIND_NIC),
		"rackfab settings":  nodes(),
		"rackfab stats":     nodes(),
		"rackfab set":       settings,
	}
	flagNames = map[string]func(*cobra.Command) []string{
		"scheme": schemes,
		"bus":    func(*cobra.Command) []string { return []string{"nats", "memory"} },
		"format": func(*cobra.Command) []string { return inspect.ExportFormats },
		"filter": func(*cobra.Command) []string { return inspect.CaptureKinds() },
		"flow":   flows,
		"link":   directions,
		"run":    runs,
	}
)

// firstArgument completes only the first argument.
func firstArgument(names func(*cobra.Command) []string, files cobra.ShellCompDirective) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names(c), files
	}
}

// lastElement completes the element after the last comma.
func lastElement(names func(*cobra.Command) []string) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, typed string) (offers []string, _ cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		for _, name := range names(c) {
			offers = append(offers, before+name)
		}
		return offers, cobra.ShellCompDirectiveNoFileComp
	}
}

func schemes(*cobra.Command) []string { return cc.Names() }

// patience bounds how long completion waits for a server.
const patience = time.Second

// callRack calls do with the running rack. Errors are ignored: without a rack,
// completion offers nothing.
func callRack(c *cobra.Command, do func(context.Context, rackfabv1.FabricServiceClient) error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	rack := client.Rack{Address: c.Flag("address").Value.String(), TLS: c.Flag("tls").Value.String()}
	_ = rack.Call(func(api rackfabv1.FabricServiceClient) error { return do(ctx, api) })
}

// rackTopology returns the topology of the running rack, or nil if none runs.
func rackTopology(c *cobra.Command) (t *rackfabv1.Topology) {
	callRack(c, func(ctx context.Context, api rackfabv1.FabricServiceClient) error {
		out, err := api.GetTopology(ctx, &rackfabv1.GetTopologyRequest{})
		t = out.GetTopology()
		return err
	})
	return t
}

// nodes completes the names of nodes of the given kinds, or of all nodes without kinds.
func nodes(kinds ...rackfabv1.NodeKind) func(*cobra.Command) []string {
	return func(c *cobra.Command) (names []string) {
		for _, n := range rackTopology(c).GetNodes() {
			if len(kinds) == 0 || slices.Contains(kinds, n.GetKind()) {
				names = append(names, n.GetName())
			}
		}
		return names
	}
}

func links(c *cobra.Command) (names []string) {
	between := map[[2]string]int{}
	for _, l := range rackTopology(c).GetLinks() {
		pair, name := [2]string{min(l.GetA(), l.GetB()), max(l.GetA(), l.GetB())}, l.GetA()+"--"+l.GetB()
		if between[pair]++; between[pair] > 1 { // a parallel link
			name += fmt.Sprintf("#%d", between[pair])
		}
		names = append(names, name)
	}
	return names
}

// directions returns the links as `rackfab explain pause` names them, X->Y.
func directions(c *cobra.Command) (names []string) {
	for _, l := range links(c) {
		ends, nth, parallel := strings.Cut(l, "#")
		a, b, _ := strings.Cut(ends, "--")
		if parallel {
			nth = "#" + nth
		}
		names = append(names, a+"->"+b+nth, b+"->"+a+nth)
	}
	return names
}

// flows returns the names of flows, and of bursts in place of theirs. Commands without a rack get
// none.
func flows(c *cobra.Command) (names []string) {
	if c.Flag("address") == nil {
		return nil
	}
	for _, f := range rackTopology(c).GetFlows() {
		name := cmp.Or(f.GetBurst(), f.GetName())
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// settings returns the keys that `rackfab set` can change, with their values. Loss and
// corruption of links have no value unless they are set.
func settings(c *cobra.Command) (keys []string) {
	for _, l := range links(c) {
		keys = append(keys, l+".loss", l+".corrupt")
	}
	callRack(c, func(ctx context.Context, api rackfabv1.FabricServiceClient) error {
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

// callCollector calls do with the collector, or the stored data, of the command. Errors are ignored,
// as those of callRack are.
func callCollector(c *cobra.Command, do func(context.Context, rackfabv1.CollectorServiceClient) error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	value := func(flag string) string { return c.Flag(flag).Value.String() }
	stored := client.Collector{Address: value("collector"), Data: value("data"), TLS: value("tls")}
	_ = stored.Call(ctx, func(api rackfabv1.CollectorServiceClient) error { return do(ctx, api) })
}

// runs returns the stored runs, with their scheme and scenario.
func runs(c *cobra.Command) (names []string) {
	callCollector(c, func(ctx context.Context, api rackfabv1.CollectorServiceClient) error {
		out, err := api.ListRuns(ctx, &rackfabv1.ListRunsRequest{})
		for _, r := range out.GetRuns() {
			names = append(names, cobra.CompletionWithDesc(r.GetRun(), r.GetScheme()+" of "+r.GetScenario()))
		}
		return err
	})
	return names
}

// metrics returns the metrics of the collector's latest run.
func metrics(c *cobra.Command) (names []string) {
	callCollector(c, func(ctx context.Context, api rackfabv1.CollectorServiceClient) error {
		out, err := api.ListSeries(ctx, &rackfabv1.ListSeriesRequest{Select: &rackfabv1.SeriesSelector{}})
		names = query.Metrics(out.GetSeries())
		return err
	})
	return names
}
