package controller

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/changes"
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

// ImpairBus sets or clears the impairment of the bus; see FabricService.
func (s *service) ImpairBus(_ context.Context, q *rackfabv1.ImpairBusRequest) (*rackfabv1.ImpairBusResponse, error) {
	var known []string
	for _, n := range s.directory.Nodes() {
		known = append(known, n.Name)
	}
	names, err := selectNames(q.GetNodes(), known)
	if err != nil {
		return nil, err
	}
	if err := changes.CheckImpairment("impairment", q.GetImpairment()); err != nil {
		return nil, err
	}
	s.impairments.set(names, q.GetImpairment())
	if r := s.present.Load(); r != nil {
		r.do(func() {
			if r.members.allReady() && !r.finished() { // otherwise start impairs, or the nodes are leaving
				r.sendImpairments()
			}
		})
	}
	return &rackfabv1.ImpairBusResponse{ImpairedNodes: s.impairments.nodes()}, nil
}

// sendImpairments sends each node its impairment.
func (r *run) sendImpairments() {
	for _, m := range r.members.all {
		r.send(m, &rackfabv1.RunRequest{Step: &rackfabv1.RunRequest_Impair{Impair: r.service.impairments.get(m.name)}})
	}
}
