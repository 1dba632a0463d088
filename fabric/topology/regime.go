package topology

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/unit"
)

// SchemeSpec selects the scheme of the flows between some pairs of NICs.
type SchemeSpec struct {
	Name  string
	Flows string // "FROM->TO", each names, ranges and patterns with *
}

// Pair is the data traffic from one NIC to another. From and To index Scenario.Nodes.
type Pair struct{ From, To int }

// Everything is the pattern that matches every pair.
const Everything = "*->*"

// Pairs returns the pairs of NICs that match a pattern "FROM->TO", in the order of
// the nodes. Each side is a list of names, ranges and patterns: "h2..h5, r*->r1".
func (s *Scenario) Pairs(pattern string) ([]Pair, error) {
	left, right, ok := strings.Cut(pattern, "->")
	if !ok || strings.Contains(right, "->") {
		return nil, fmt.Errorf("%q is no pattern, want FROM->TO, like h*->r1", pattern)
	}
	from, err := s.matching(left)
	if err != nil {
		return nil, err
	}
	to, err := s.matching(right)
	if err != nil {
		return nil, err
	}
	var pairs []Pair
	for _, f := range from {
		for _, t := range to {
			if f != t {
				pairs = append(pairs, Pair{f, t})
			}
		}
	}
	if len(pairs) == 0 {
		return nil, fmt.Errorf("%q names no pair of NICs", pattern)
	}
	return pairs, nil
}

// matching returns the NICs that match a list of names, ranges and patterns, in the
// order of the nodes.
func (s *Scenario) matching(list string) ([]int, error) {
	found := map[int]bool{}
	for item := range strings.SplitSeq(list, ",") {
		item = strings.TrimSpace(item)
		names := []string{item}
		if !strings.Contains(item, "*") {
			var err error
			if names, err = expandRange(item); err != nil {
				return nil, err
			}
		}
		for _, name := range names {
			before := len(found)
			for i, n := range s.Nodes {
				if n.Kind == NIC && !found[i] && glob(name, n.Name) {
					found[i] = true
				}
			}
			if len(found) == before && !slices.ContainsFunc(s.Nodes, func(n Node) bool { return n.Kind == NIC && glob(name, n.Name) }) {
				return nil, fmt.Errorf("no NIC is called %s", name)
			}
		}
	}
	var nics []int
	for i := range s.Nodes {
		if found[i] {
			nics = append(nics, i)
		}
	}
	return nics, nil
}

// glob reports whether the name matches the pattern, in which * matches any text.
func glob(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	last := parts[len(parts)-1]
	rest, ok := strings.CutPrefix(name, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return strings.HasSuffix(rest, last)
}

// Regime tracks the congestion control of each pair of NICs from change to change, in
// order of time. A pair is in use from its first flow or command until all of its
// flows are stopped. Completed flows still count as in use, because their completion
// is not known in advance.
type Regime struct {
	// Law is the marking law of the lossless classes without a law of their own.
	Law    cc.Marking
	s      *Scenario
	chosen map[Pair]string
	used   map[Pair]int
	order  []Pair // keys of used, in the order in which they were added
}

// Regime returns the state before all changes. It returns nil if no change chooses a
// scheme: the scenario's scheme then applies throughout.
func (s *Scenario) Regime() *Regime {
	if !slices.ContainsFunc(s.Changes, func(c Change) bool { return c.Verb == ChangeScheme }) {
		return nil
	}
	base, _ := cc.Find(s.Scheme) // the scenario is valid
	r := &Regime{s: s, Law: base.Marking, chosen: map[Pair]string{}, used: map[Pair]int{}}
	for _, f := range s.Flows[:s.Founding()] {
		r.use(Pair{f.From, f.To}, 1)
	}
	for i := range s.Commands[:s.FoundingCommands()] {
		r.useCommand(&s.Commands[i])
	}
	return r
}

func (r *Regime) use(p Pair, n int) {
	if _, ok := r.used[p]; !ok {
		r.order = append(r.order, p)
	}
	r.used[p] += n
}

// useCommand counts the pairs between which the data of the commands travels.
func (r *Regime) useCommand(c *Command) {
	for _, from := range c.From {
		for _, to := range c.To {
			if c.Verb == "get" {
				r.use(Pair{to, from}, 1)
			} else {
				r.use(Pair{from, to}, 1)
			}
		}
	}
}

// Scheme returns the name of the scheme of a pair.
func (r *Regime) Scheme(p Pair) string {
	if name, ok := r.chosen[p]; ok {
		return name
	}
	return r.s.Scheme
}

// Apply applies the next change. The error names the schemes in use that need
// different marking laws for one traffic class.
func (r *Regime) Apply(c *Change) error {
	switch c.Verb {
	case ChangeScheme:
		pairs, err := r.s.Pairs(c.Scheme.Flows)
		if err != nil {
			return err
		}
		for _, p := range pairs {
			r.chosen[p] = c.Scheme.Name
		}
		scheme, _ := cc.Find(c.Scheme.Name) // checked when it was read
		return r.settle(scheme.Marking)
	case ChangeBurst:
		for _, i := range r.s.FlowsNamed(c.Burst.Name) {
			r.use(Pair{r.s.Flows[i].From, r.s.Flows[i].To}, 1)
		}
		return r.settle(r.Law)
	case ChangePost:
		for i := range r.s.Commands {
			if r.s.Commands[i].Name == c.Post.Name {
				r.useCommand(&r.s.Commands[i])
			}
		}
		return r.settle(r.Law)
	case ChangeStopFlow:
		for _, i := range r.s.FlowsNamed(c.Flow) {
			r.use(Pair{r.s.Flows[i].From, r.s.Flows[i].To}, -1)
		}
	default:
	}
	return nil
}

// settle sets the marking law that the schemes in use need, or otherwise if none
// needs one.
func (r *Regime) settle(otherwise cc.Marking) error {
	needs, by := cc.MarkNone, Pair{}
	for _, p := range r.order {
		scheme, _ := cc.Find(r.Scheme(p)) // it has been checked
		if r.used[p] <= 0 || scheme.Marking == cc.MarkNone || scheme.Marking == needs {
			continue
		}
		if needs != cc.MarkNone {
			return fmt.Errorf("a switch has one marking law for a class: %s under %s needs %s, and %s under %s needs %s",
				r.name(by), r.Scheme(by), needs, r.name(p), scheme.Name, scheme.Marking)
		}
		needs, by = scheme.Marking, p
	}
	if needs == cc.MarkNone {
		needs = otherwise
	}
	r.Law = needs
	return nil
}

// schemeTextLimit is the number of bytes of changes that SchemeText lists at most.
const schemeTextLimit = 200

// SchemeText describes the congestion control of the rack before an instant, "dcqcn,
// pcn for h*->r1". If many changes apply to some flows only, it lists the latest and
// the number of the others: "dcqcn, 40 more, pcn for h*->r1".
func (s *Scenario) SchemeText(before unit.Time) string {
	all, some := s.Scheme, []string(nil)
	for _, c := range s.Timely() {
		switch {
		case c.Verb != ChangeScheme || c.At >= before:
		case c.Scheme.Flows == Everything:
			all, some = c.Scheme.Name, nil
		default:
			some = append(some, c.Scheme.Name+" for "+c.Scheme.Flows)
		}
	}
	more, size := len(some), 0
	for more > 0 && size+len(some[more-1]) <= schemeTextLimit {
		more--
		size += len(some[more])
	}
	list := []string{all}
	if more > 0 {
		list = append(list, fmt.Sprintf("%d more", more))
	}
	return strings.Join(append(list, some[more:]...), ", ")
}

func (r *Regime) name(p Pair) string { return r.s.Nodes[p.From].Name + "->" + r.s.Nodes[p.To].Name }
