package inspect

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/export"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/report"
	"github.com/rackfab/rackfab/sweep"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/report/table"
)

// folderStats prints the counters of the runs in a folder, restricted to schemes and to
// the nodes in args; empty means all.
func folderStats(c *cobra.Command, args, schemes []string, format string) error {
	folder, err := report.Read(args[0])
	if err != nil {
		return err
	}
	var faults []error
	var names []string
	if len(args) > 1 {
		names, err = topology.Names(args[1])
		faults = append(faults, err)
	}
	for _, name := range names {
		if !slices.ContainsFunc(folder.Scenario.Nodes, func(n topology.Node) bool { return n.Name == name }) {
			faults = append(faults, fmt.Errorf("no node %q in %s", name, args[0]))
		}
	}
	runs, err := ofSchemes(folder, schemes)
	if err := errors.Join(append(faults, err)...); err != nil {
		return err
	}
	for _, run := range runs {
		run.Nodes = slices.DeleteFunc(run.Nodes, func(n measure.Node) bool { return len(names) > 0 && !slices.Contains(names, n.Name) })
	}
	switch format {
	case "csv":
		return sweep.WriteCSV(c.OutOrStdout(), export.Counters(runs...))
	case "json":
		return folderJSON(c.OutOrStdout(), runs)
	}
	return folderTables(c.OutOrStdout(), runs)
}

// ofSchemes returns the runs of the schemes, or all runs if schemes is empty.
func ofSchemes(f *report.Folder, schemes []string) (runs []*measure.Run, err error) {
	faults := []error{cli.Distinct("scheme", schemes)}
	for _, scheme := range schemes {
		if !slices.Contains(f.Manifest.Schemes, scheme) {
			faults = append(faults, fmt.Errorf("--scheme %q: runs of %s: %s", scheme, f.Dir, strings.Join(f.Manifest.Schemes, ", ")))
		}
	}
	for _, run := range f.Results.Runs {
		if len(schemes) == 0 || slices.Contains(schemes, run.Scheme) {
			runs = append(runs, run)
		}
	}
	return runs, errors.Join(faults...)
}

// folderTables prints the tables of traffic classes, NICs and commands, run by run.
func folderTables(w io.Writer, runs []*measure.Run) error {
	for i, run := range runs {
		if i > 0 {
			_, _ = fmt.Fprintln(w)
		}
		tables := newCounterTables()
		for j := range run.Nodes {
			tables.add(nodeStats(&run.Nodes[j]))
		}
		commands := table.New(1, "commands", "verb", "posted", "completed", "failed")
		for _, k := range run.Commands {
			commands.Row(k.Name, k.Verb, k.Commands, k.Completed, k.Failed)
		}
		if _, err := fmt.Fprintf(w, "%s at %s\n", run.Scheme, run.FabricTime); err != nil {
			return err
		}
		if err := table.WriteAll(w, append(tables.all(), commands)...); err != nil {
			return err
		}
	}
	return nil
}

// nodeStats converts the counters of a finished run's node to the form of a running
// rack.
func nodeStats(n *measure.Node) *rackfabv1.NodeStats {
	out := &rackfabv1.NodeStats{Node: n.Name, Counters: n.Counters}
	for _, p := range n.Ports {
		port := &rackfabv1.PortStats{Peer: p.Peer}
		for _, c := range p.Classes {
			port.Classes = append(port.Classes, &rackfabv1.ClassStats{
				Class: int32(c.Class), Counters: c.Counters,
				FirstCePs: int64(c.CE), FirstPauseSentPs: int64(c.PauseSent), FirstPauseReceivedPs: int64(c.PauseReceived),
			})
		}
		out.Ports = append(out.Ports, port)
	}
	return out
}

func folderJSON(w io.Writer, runs []*measure.Run) error {
	type counters struct {
		Scheme   string             `json:"scheme"`
		Nodes    []measure.Node     `json:"nodes"`
		Commands []measure.Commands `json:"commands,omitempty"`
	}
	list := []counters{}
	for _, run := range runs {
		list = append(list, counters{run.Scheme, run.Nodes, run.Commands})
	}
	return cli.WriteJSON(w, list)
}
