package topology

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/switching/rttx"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Special values of rttx.Params.D in a scenario; see Increment.
const (
	autoD unit.Time = -1 // the value that [0060] requires for the path
	openD unit.Time = -2 // not set
)

// exampleRate is the port rate of the document's example value of D ([0065]).
const exampleRate = 100 * unit.GigabitPerSec

// baseIncrement is the base increment D: a time, or the word auto. The key is omitted if
// it is not set.
var baseIncrement = times.from(0, rttx.MaxD).
	orWord("auto", autoD, func(d unit.Time) bool { return d == autoD }).
	omit(func(d unit.Time) bool { return d == openD })

// Increment returns the base increment D of a switch, or 0 for the formula of its
// buffer and ports ([0058]).
func (s *Scenario) Increment(node int) unit.Time {
	return s.increment(node, s.Nodes[node].Switch.RTTX.D)
}

// increment resolves a value of rttx_d at a switch.
func (s *Scenario) increment(node int, d unit.Time) unit.Time {
	if d == openD && s.example(node) {
		return rttx.Default().D
	}
	if d == openD || d == autoD {
		return rttx.EqualD(s.CC.TIMELYRTTX.Beta, s.CC.TIMELYRTTX.MinRTT)
	}
	return d
}

// example reports whether all ports of a switch have the rate of the document's
// example.
func (s *Scenario) example(node int) bool {
	return !slices.ContainsFunc(s.Links, func(l Link) bool { return (l.A == node || l.B == node) && l.Rate != exampleRate })
}

// converts reports whether a switch turns ECN into RTT in one of its classes. It
// considers the scenario's scheme and, unless it is a live run, those in Compare.
func (s *Scenario) converts(node int) bool {
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

// checkIncrements reports a setting of D that none of its switches uses. If only some
// of them use it, it resets D at the others.
func (b *builder) checkIncrements() {
	taken := map[place]bool{}
	var idle []int
	for i := range b.s.Nodes {
		switch n := &b.s.Nodes[i]; {
		case n.Kind != Switch || n.Switch.RTTX.D == openD:
		case b.s.converts(i):
			taken[b.nodes[i].of("rttx_d")] = true
		default:
			n.Switch.RTTX.D = openD
			idle = append(idle, i)
		}
	}
	for len(idle) > 0 {
		at := b.nodes[idle[0]].of("rttx_d")
		var names []string
		idle = slices.DeleteFunc(idle, func(i int) bool {
			here := b.nodes[i].of("rttx_d") == at
			if here {
				names = append(names, b.s.Nodes[i].Name)
			}
			return here
		})
		if !taken[at] {
			b.fault(at, "%s", b.s.nothingConverts(names))
		}
	}
}

// nothingConverts returns the reason why D is refused at these switches.
func (s *Scenario) nothingConverts(names []string) string {
	return fmt.Sprintf("no class of %s converts ECN into RTT under %s, want scheme timely-rttx, or rewrite {3: rttx} there", strings.Join(names, ", "), s.Scheme)
}

// Under returns the scenario under another scheme. It drops settings that the other
// scheme does not use at all: D where no switch uses it.
func (s *Scenario) Under(scheme string) *Scenario {
	c := *s
	c.Scheme, c.Nodes = scheme, slices.Clone(s.Nodes)
	for i := range c.Nodes {
		if n := &c.Nodes[i]; n.Kind == Switch && !c.converts(i) {
			n.Switch.RTTX.D = openD
		}
	}
	state := newState(resume(&c))
	c.Changes = nil
	for _, one := range s.Changes {
		state.Apply(&one)
		if _, leaf := cut(one.Set.Key); leaf != "rttx_d" || len(state.Tunings) > 0 {
			c.Changes = append(c.Changes, one)
		}
	}
	return &c
}
