package tracing

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
)

// Choose gives the messages of the flows, bursts and commands whose names match
// one of the patterns, and the patterns that match none. Patterns are separated by
// commas; * stands for any run of characters, ? for one, as in path.Match.
func Choose(s *topology.Scenario, patterns string) (chosen []fabric.Message, idle []string, err error) {
	streams, connections := s.Streams(), s.Connections()
	for pattern := range strings.SplitSeq(patterns, ",") {
		pattern = strings.TrimSpace(pattern)
		if pattern == "" {
			continue
		}
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, nil, fmt.Errorf("%q is no pattern: want names with * and ?", pattern)
		}
		matches := func(name string) bool {
			ok, _ := path.Match(pattern, name) // the pattern is sound
			return ok
		}
		before := len(chosen)
		for i, f := range s.Flows {
			if matches(f.Name) || f.Burst >= 0 && matches(s.Bursts[f.Burst].Name) {
				chosen = append(chosen, messages(fabric.FlowID(i), 0, 1<<32))
			}
		}
		for _, st := range streams {
			if c := &s.Commands[st.Command]; st.Connection >= 0 && matches(c.Name) {
				chosen = append(chosen, messages(connections[st.Connection].ID, uint64(st.First), uint64(st.First)+uint64(c.Count)))
			}
		}
		if len(chosen) == before && !slices.ContainsFunc(s.Bursts, func(b topology.Burst) bool { return matches(b.Name) }) {
			idle = append(idle, pattern)
		}
	}
	return chosen, idle, nil
}

// messages gives the numbers of a flow's messages from first up to, but not
// including, end.
func messages(flow fabric.FlowID, first, end uint64) fabric.Message {
	base := (uint64(flow) + 1) << 32
	return fabric.Message{First: base + first, End: base + end}
}

// Follow gives the selection of a run: a share of all messages by a hash with the
// scenario's seed, those that the patterns choose, and some more.
func Follow(s *topology.Scenario, share float64, patterns string, more []fabric.Message) (*fabric.Selection, error) {
	chosen, _, err := Choose(s, patterns)
	if err != nil {
		return nil, err
	}
	return fabric.NewSelection(s.Seed, share, append(chosen, more...)), nil
}

// OfChange gives the messages that a change begins: those of its burst or of the
// commands that it posts.
func OfChange(s *topology.Scenario, c *topology.Change) (chosen []fabric.Message) {
	switch c.Verb {
	case topology.ChangeBurst:
		for i, f := range s.Flows {
			if f.Burst >= 0 && s.Bursts[f.Burst].Name == c.Burst.Name {
				chosen = append(chosen, messages(fabric.FlowID(i), 0, 1<<32))
			}
		}
	case topology.ChangePost:
		connections := s.Connections()
		for _, st := range s.Streams() {
			if s.Commands[st.Command].Name == c.Post.Name && st.Connection >= 0 {
				chosen = append(chosen, messages(connections[st.Connection].ID, uint64(st.First), uint64(st.First)+uint64(s.Commands[st.Command].Count)))
			}
		}
	default:
	}
	return chosen
}
