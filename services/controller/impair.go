package controller

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// impairments holds the impairment of the bus for each node. It persists across
// runs and is safe for concurrent use.
type impairments struct {
	mu     sync.Mutex
	byNode map[string]*rackfabv1.BusImpairment // nodes without impairment have no entry
}

// set replaces the impairment of some nodes.
func (i *impairments) set(nodes []string, impairment *rackfabv1.BusImpairment) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.byNode == nil {
		i.byNode = map[string]*rackfabv1.BusImpairment{}
	}
	for _, n := range nodes {
		if impairment.GetLose()+impairment.GetRepeat()+impairment.GetDelay() == 0 {
			delete(i.byNode, n)
		} else {
			i.byNode[n] = impairment
		}
	}
}

// get returns the impairment of a node, never nil.
func (i *impairments) get(node string) *rackfabv1.BusImpairment {
	i.mu.Lock()
	defer i.mu.Unlock()
	return cmp.Or(i.byNode[node], &rackfabv1.BusImpairment{})
}

// nodes returns the names of the impaired nodes, sorted.
func (i *impairments) nodes() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Sorted(maps.Keys(i.byNode))
}
