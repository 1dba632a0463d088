package topology

import (
	"fmt"
	"path"
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
func (s *Scenario) matching(list string) (nics []int, err error) {
	found := make([]bool, len(s.Nodes))
	for item := range strings.SplitSeq(list, ",") {
		patterns := []string{strings.TrimSpace(item)}
		if !strings.Contains(item, "*") {
			if patterns, err = expandRange(patterns[0]); err != nil {
				return nil, err
			}
		}
		for _, pattern := range patterns {
			matched := false
			for i, n := range s.NodesOf(NIC) {
				if ok, err := path.Match(pattern, n.Name); ok && err == nil {
					found[i], matched = true, true
				}
			}
			if !matched {
				return nil, fmt.Errorf("unknown NIC %s", pattern)
			}
		}
	}
	for i := range s.NodesOf(NIC) {
		if found[i] {
			nics = append(nics, i)
		}
	}
	return nics, nil
}

// schemeTextLimit is the number of bytes of changes that SchemeText lists at most.
const schemeTextLimit = 200

// SchemeText describes the congestion control of the rack before an instant, "dcqcn,
// pcn for h*->r1". If many changes apply to some flows only, it lists the latest and
// the number of the others: "dcqcn, 40 more, pcn for h*->r1".
func (s *Scenario) SchemeText(before unit.Time) string {
	all, some := s.Scheme, []string(nil)
	for _, c := range s.OrderedChanges() {
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
