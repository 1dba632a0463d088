package topology

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Pair is the data traffic from one NIC to another. From and To index Scenario.Nodes.
type Pair struct{ From, To int }

// Everything is the pattern that matches every pair.
const Everything = "*->*"

// Pairs returns the pairs of NICs that match a pattern "FROM->TO", in the order of
// the nodes. Each side is a list of names, ranges and patterns: "h2..h5, r*->r1".
func (s *Scenario) Pairs(pattern string) ([]Pair, error) {
	left, right, ok := strings.Cut(pattern, "->")
	if !ok || strings.Contains(right, "->") {
		return nil, fmt.Errorf("invalid pattern %q: want FROM->TO, like h*->r1", pattern)
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
		return nil, fmt.Errorf("pattern %q matches no pair of NICs", pattern)
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
				return nil, fmt.Errorf("unknown NIC %s", name)
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
