package qp

import (
	"slices"

	"github.com/rackfab/rackfab/fabric"
)

// Index finds a queue pair by its flow.
type Index struct {
	base  fabric.FlowID
	index []int32 // by flow minus base; -1 for none
}

// Add adds a flow to the index.
func (x *Index) Add(id fabric.FlowID, place int) {
	if len(x.index) == 0 {
		x.base = id
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

// Find returns the position of a flow's queue pair, false if there is none.
func (x *Index) Find(flow fabric.FlowID) (int, bool) {
	i := flow - x.base
	if uint64(i) >= uint64(len(x.index)) || x.index[i] < 0 {
		return 0, false
	}
	return int(x.index[i]), true
}
