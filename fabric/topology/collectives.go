package topology

import (
	"cmp"
	"slices"

	"github.com/rackfab/rackfab/fabric"
)

// CollectiveTag is the first tag of messages of collectives. Those below are of programs.
const CollectiveTag = 1 << 31

// Limits of the collectives of a scenario.
const (
	MaxCollectives        = 1 << 16
	MaxCollectiveMessages = 1 << 26 // of all ranks of all collectives
)

// taggedWith returns the collective that a tag belongs to.
func (s *Scenario) taggedWith(tag uint32) *Collective {
	i, found := slices.BinarySearchFunc(s.Collectives, tag, func(c Collective, tag uint32) int { return cmp.Compare(c.Tag, tag) })
	if !found {
		i--
	}
	return &s.Collectives[i]
}

// ShareOf returns the part in a collective that a step belongs to. It returns false if the step belongs to
// none.
func (h *HostSteps) ShareOf(step int) (Share, bool) {
	i, _ := slices.BinarySearchFunc(h.Shares, step+1, func(share Share, end int) int { return cmp.Compare(share.End, end) })
	if i < len(h.Shares) && step >= h.Shares[i].First {
		return h.Shares[i], true
	}
	return Share{}, false
}

// ClassOf returns the traffic class of a step's message.
func (s *Scenario) ClassOf(h *HostSteps, step int) fabric.Priority {
	if share, ok := h.ShareOf(step); ok {
		return s.Collectives[share.Collective].Class
	}
	return DataClass
}
