package topology

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/rackfab/rackfab/fabric/nic/program"
)

// StepsOf returns the program of a NIC, nil if it has none.
func (s *Scenario) StepsOf(node int) *HostSteps {
	i, ok := slices.BinarySearchFunc(s.Steps, node, func(h HostSteps, node int) int { return cmp.Compare(h.Node, node) })
	if !ok {
		return nil
	}
	return &s.Steps[i]
}

// Sends yields the steps that send a message, each with its number, in the order of the hosts.
func (s *Scenario) Sends() iter.Seq2[*HostSteps, int] {
	return func(yield func(*HostSteps, int) bool) {
		for i := range s.Steps {
			h := &s.Steps[i]
			for k := range h.Len() {
				if h.At(k).Kind == program.Send && !yield(h, k) {
					return
				}
			}
		}
	}
}

// SendsTags reports whether a NIC exchanges messages with tags: its program has a step that sends or
// receives.
func (s *Scenario) SendsTags(node int) bool {
	h := s.StepsOf(node)
	for i := 0; h != nil && i < h.Len(); i++ {
		if k := h.At(i).Kind; k == program.Send || k == program.Receive {
			return true
		}
	}
	return false
}

// Label returns the name of a step: its label, or what it does: "send to h3 tag 2".
func (s *Scenario) Label(h *HostSteps, i int) string {
	if h.Labels[i] != "" {
		return h.Labels[i]
	}
	return s.Describe(h, i)
}

// Describe returns what a step does: "receive from h0 tag 1", "send to h1 message 5 of sum", "flow F0".
func (s *Scenario) Describe(h *HostSteps, i int) string {
	step := h.At(i)
	switch step.Kind {
	case program.Transfer:
		return "flow " + s.Flows[step.Flow].Name
	case program.Arrival:
		return "arrival of flow " + s.Flows[step.Flow].Name
	default:
	}
	peer := "any"
	if step.Peer >= 0 {
		peer = s.Nodes[step.Peer].Name // NICs come first, so that a host has the index of its node
	}
	tag := fmt.Sprint("tag ", step.Tag)
	switch {
	case step.AnyTag:
		tag = "tag any"
	case step.Tag >= CollectiveTag:
		c := s.taggedWith(step.Tag)
		tag = fmt.Sprintf("message %d of %s", step.Tag-c.Tag, c.Name)
	}
	switch step.Kind {
	case program.Send:
		return fmt.Sprintf("send to %s %s", peer, tag)
	case program.Receive:
		return fmt.Sprintf("receive from %s %s", peer, tag)
	default:
		return fmt.Sprintf("calc on processor %d", step.Processor)
	}
}
