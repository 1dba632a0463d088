package qp

import (
	"slices"

	"github.com/rackfab/rackfab/fabric"
)

// Index finds a queue pair by its flow. It has a list per span of IDs, because the IDs of
// connections begin far above those of flows.
type Index struct {
	base  fabric.FlowID
	index []int32 // by flow minus base; -1 for none
	far   *Index  // IDs that were more than maxGap from this list when added; nil for none
}

// maxGap is the largest number of unused IDs that one addition may create in a list: 256 KB.
const maxGap = 1 << 16

// Add adds a flow to the index.
func (x *Index) Add(id fabric.FlowID, place int) {
	if len(x.index) == 0 {
		x.base = id
	}
	if id+maxGap < x.base || id > x.base+fabric.FlowID(len(x.index))+maxGap {
		if x.far == nil {
			x.far = &Index{}
		}
		x.far.Add(id, place)
		return
	}
	if id < x.base {
		x.index = slices.Concat(slices.Repeat([]int32{-1}, int(x.base-id)), x.index)
		x.base = id
	}
	for len(x.index) <= int(id-x.base) {
		x.index = append(x.index, -1)
	}
	x.index[id-x.base] = int32(place)
}

// Remove removes a flow from the index.
func (x *Index) Remove(id fabric.FlowID) {
	for ; x != nil; x = x.far {
		i := id - x.base
		if uint64(i) >= uint64(len(x.index)) || x.index[i] < 0 {
			continue
		}
		x.index[i] = -1
		for n := len(x.index); n > 0 && x.index[n-1] < 0; n-- {
			x.index = x.index[:n-1]
		}
		return
	}
}

// Find returns the position of a flow's queue pair, false if there is none.
func (x *Index) Find(flow fabric.FlowID) (int, bool) {
	for ; x != nil; x = x.far {
		if i := flow - x.base; uint64(i) < uint64(len(x.index)) && x.index[i] >= 0 {
			return int(x.index[i]), true
		}
	}
	return 0, false
}
