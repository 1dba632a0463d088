package topology

import (
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/switching/rttx"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Special values of rttx.Params.D in a scenario; see Scenario.Increment.
const (
	AutoIncrement    unit.Time = -1 // the value that [0060] requires for the path
	DefaultIncrement unit.Time = -2 // not set
)

// exampleRate is the port rate of the document's example value of D ([0065]).
const exampleRate = 100 * unit.GigabitPerSec

// Increment resolves a value of rttx_d at a switch with those ports, or returns 0 for the formula of its
// buffer and ports ([0058]).
func (s *Scenario) Increment(d unit.Time, ports []End) unit.Time {
	if d == DefaultIncrement && s.example(ports) {
		return rttx.Default().D
	}
	if d == DefaultIncrement || d == AutoIncrement {
		return rttx.EqualD(s.CC.TIMELYRTTX.Beta, s.CC.TIMELYRTTX.MinRTT)
	}
	return d
}

// example reports whether all ports of a switch have the rate of the document's
// example.
func (s *Scenario) example(ports []End) bool {
	return !slices.ContainsFunc(ports, func(e End) bool { return s.Links[e.Link].Rate != exampleRate })
}

// Converts reports whether a switch turns ECN into RTT in one of its classes. It
// considers the scenario's scheme and, unless it is a live run, those in Compare.
func (s *Scenario) Converts(node int) bool {
	set := &s.Nodes[node].Switch
	if slices.Contains(set.Rewrite[:], cc.RewriteRTTX) {
		return true
	}
	open := slices.ContainsFunc(set.Lossless, func(c fabric.Priority) bool { return set.Rewrite[c] == "" })
	schemes := []string{s.Scheme}
	if !s.Live {
		schemes = append(schemes, s.Compare...)
	}
	return open && slices.ContainsFunc(schemes, func(name string) bool {
		scheme, err := cc.Find(name)
		return err == nil && scheme.Rewrite == cc.RewriteRTTX
	})
}

// defaultRTTX returns the published settings. It leaves open the values that the rest
// of the scenario determines.
func defaultRTTX() rttx.Params {
	p := rttx.Default()
	p.Stamp, p.D = "", DefaultIncrement
	return p
}
