package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/rackfab/rackfab/fabric/topology"
)

// warn writes the distinct warnings of scenarios. Warnings do not fail the command, and
// go to standard error so that they do not mix with JSON.
func warn(w io.Writer, scenarios ...*topology.Scenario) error {
	var list []topology.Fault
	for _, s := range scenarios {
		list = append(list, s.Warnings()...)
	}
	return writeWarnings(w, list)
}

func writeWarnings(w io.Writer, list []topology.Fault) error {
	for i, f := range list {
		if slices.Contains(list[:i], f) {
			continue
		}
		if _, err := fmt.Fprintf(w, "rackfab: warning: %s: %s\n", f.Key, f.What); err != nil {
			return err
		}
	}
	return nil
}

// underSchemes returns the scenario under its own scheme, and under each scheme that
// `rackfab run` selects by default.
func underSchemes(s *topology.Scenario) (list []*topology.Scenario) {
	for _, scheme := range append([]string{s.Scheme}, schemeNames("", s.Compare)...) {
		list = append(list, s.Under(scheme))
	}
	return list
}
