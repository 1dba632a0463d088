package nic

import (
	"slices"

	"github.com/rackfab/rackfab/fabric"
)

// qpIndex finds a queue pair by its flow.
type qpIndex struct {
	base  fabric.FlowID
	index []int32 // by flow minus base; -1 for none
}

// newQPIndex returns an index of the flows by their position in ids.
func newQPIndex(ids []fabric.FlowID) qpIndex {
	if len(ids) == 0 {
		return qpIndex{}
	}
	x := qpIndex{base: slices.Min(ids)}
	x.index = make([]int32, slices.Max(ids)-x.base+1)
	for i := range x.index {
		x.index[i] = -1
	}
	for i, id := range ids {
		x.index[id-x.base] = int32(i)
	}
	return x
}

// add adds a flow to the index.
func (x *qpIndex) add(id fabric.FlowID, place int) {
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

// find returns the position of a flow's queue pair, false if there is none.
func (x *qpIndex) find(flow fabric.FlowID) (int, bool) {
	i := flow - x.base
	if uint64(i) >= uint64(len(x.index)) || x.index[i] < 0 {
		return 0, false
	}
	return int(x.index[i]), true
}
