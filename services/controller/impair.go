package controller

import (
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

// of returns the impairment of the process of some nodes: that of the first of them that
// has one. It is never nil.
func (i *impairments) of(nodes []*hosted) *rackfabv1.BusImpairment {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, n := range nodes {
		if impairment := i.byNode[n.name]; impairment != nil {
			return impairment
		}
	}
	return &rackfabv1.BusImpairment{}
}

// impaired returns the names of the impaired nodes, sorted.
func (i *impairments) impaired() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Sorted(maps.Keys(i.byNode))
}
