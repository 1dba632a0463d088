package tracing

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
)

// MaxLong is the largest number of endless flows sampled by default.
const MaxLong = 16

// Follow returns the selection of a run: a share of all messages, 0 to 1, by a hash
// with the scenario's seed; the messages of the flows, bursts and commands whose names
// match one of the patterns; and the messages in more. Patterns are separated by
// commas; * matches any run of characters and ? one character, as in path.Match. With a
// share and no pattern, the first MaxLong endless flows are sampled as well: a victim
// of a congestion tree is one of these, and a share rarely includes its slowest
// message.
func Follow(s *topology.Scenario, share float64, patterns string, more []fabric.Message) (*fabric.Selection, error) {
	chosen, err := choose(s, patterns)
	if err != nil {
		return nil, err
	}
	if share > 0 && patterns == "" {
		for _, i := range endless(s) {
			chosen = append(chosen, messages(fabric.FlowID(i), 0, PerFlow))
		}
	}
	return fabric.NewSelection(s.Seed, share, append(chosen, more...)), nil
}

// endless lists the endless flows that are sampled by default.
func endless(s *topology.Scenario) (list []int) {
	for i, f := range s.Flows {
		if f.Burst < 0 && f.Size == topology.Endless && len(list) < MaxLong {
			list = append(list, i)
		}
	}
	return list
}

// Sampled describes the selection of Follow in words: "1 % of the messages, all of F0,
// F1".
func Sampled(s *topology.Scenario, share float64, patterns string) string {
	all := patterns
	if patterns == "" && share > 0 {
		var names []string
		for _, i := range endless(s) {
			names = append(names, s.Flows[i].Name)
		}
		all = strings.Join(names, ", ")
	}
	switch {
	case share >= 1:
		return "all messages"
	case share > 0 && all != "":
		return fmt.Sprintf("%.4g %% of the messages, all of %s", 100*share, all)
	case share > 0:
		return fmt.Sprintf("%.4g %% of the messages", 100*share)
	case all != "":
		return "all messages of " + all + ", no others"
	}
	return "no messages"
}

// OfChange returns the messages that a change starts: those of its burst or of the
// commands that it posts.
func OfChange(s *topology.Scenario, c *topology.Change) []fabric.Message {
	switch c.Verb {
	case topology.ChangeBurst:
		for _, b := range slices.Backward(s.Bursts) { // it is one of the last
			if b.Name == c.Burst.Name {
				return []fabric.Message{allOf(b.First, b.First+b.Flows)}
			}
		}
		return nil
	case topology.ChangePost:
		return named(s, func(name string) bool { return name == c.Post.Name })
	default:
		return nil
	}
}

// choose returns the messages of the flows, bursts and commands whose names match one
// of the patterns.
func choose(s *topology.Scenario, patterns string) (chosen []fabric.Message, err error) {
	for pattern := range strings.SplitSeq(patterns, ",") {
		of, err := matching(s, pattern)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, of...)
	}
	return chosen, nil
}

// Unmatched returns the patterns that match no flow, burst or command of the scenario.
func Unmatched(s *topology.Scenario, patterns string) (list []string, err error) {
	for pattern := range strings.SplitSeq(patterns, ",") {
		of, err := matching(s, pattern)
		if err != nil {
			return nil, err
		}
		if pattern != "" && len(of) == 0 {
			list = append(list, strings.TrimSpace(pattern))
		}
	}
	return list, nil
}

// matching returns the messages of the flows, bursts and commands whose names match the pattern.
func matching(s *topology.Scenario, pattern string) ([]fabric.Message, error) {
	if pattern = strings.TrimSpace(pattern); pattern == "" {
		return nil, nil
	}
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, fmt.Errorf("invalid pattern %q: must be a name with * and ?", pattern)
	}
	return named(s, func(name string) bool {
		ok, _ := path.Match(pattern, name) // the pattern is valid
		return ok
	}), nil
}

// named returns the messages of the flows, bursts and commands whose names match.
func named(s *topology.Scenario, matches func(name string) bool) (chosen []fabric.Message) {
	for _, r := range s.FlowsMatching(matches) {
		chosen = append(chosen, allOf(r[0], r[1]))
	}
	connections := s.Connections()
	for _, st := range s.Streams() {
		if c := &s.Commands[st.Command]; st.Connection >= 0 && matches(c.Name) {
			first := uint64(st.First)
			chosen = append(chosen, messages(connections[st.Connection].ID, first, first+uint64(c.Count)))
		}
	}
	return chosen
}

// allOf returns the messages of the flows with indices in [first, end).
func allOf(first, end int) fabric.Message {
	return fabric.Message{First: messages(fabric.FlowID(first), 0, 0).First, End: messages(fabric.FlowID(end), 0, 0).First}
}

// messages returns the messages of a flow with numbers in [first, end).
func messages(flow fabric.FlowID, first, end uint64) fabric.Message {
	base := (uint64(flow) + 1) * PerFlow
	return fabric.Message{First: base + first, End: base + end}
}
