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

// ClassOf returns the traffic class of a step's message.
func (s *Scenario) ClassOf(h *HostSteps, step int) fabric.Priority {
	i, _ := slices.BinarySearchFunc(h.Shares, step, func(share Share, step int) int { return cmp.Compare(share.End, step) })
	if i < len(h.Shares) && step >= h.Shares[i].First {
		return s.Collectives[h.Shares[i].Collective].Class
	}
	return DataClass
}
