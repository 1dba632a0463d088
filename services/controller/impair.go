package controller

import (
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
	mu sync.Mutex
	of map[string]*rackfabv1.BusImpairment // by node; nodes without impairment have no entry
}

// set replaces the impairment of some nodes.
func (i *impairments) set(nodes []string, what *rackfabv1.BusImpairment) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.of == nil {
		i.of = map[string]*rackfabv1.BusImpairment{}
	}
	for _, n := range nodes {
		if what.GetLose()+what.GetRepeat()+what.GetDelay() == 0 {
			delete(i.of, n)
		} else {
			i.of[n] = what
		}
	}
}

// get returns the impairment of a node, never nil.
func (i *impairments) get(node string) *rackfabv1.BusImpairment {
	i.mu.Lock()
	defer i.mu.Unlock()
	if what := i.of[node]; what != nil {
		return what
	}
	return &rackfabv1.BusImpairment{}
}

// nodes returns the names of the impaired nodes, sorted.
func (i *impairments) nodes() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Sorted(maps.Keys(i.of))
}

// step returns the step that sets the impairment of a node.
func (i *impairments) step(node string) *rackfabv1.RunRequest {
	return &rackfabv1.RunRequest{Step: &rackfabv1.RunRequest_Impair{Impair: i.get(node)}}
}

// ImpairBus sets or clears the impairment of the bus; see FabricService.
func (s *service) ImpairBus(_ context.Context, q *rackfabv1.ImpairBusRequest) (*rackfabv1.ImpairBusResponse, error) {
	var known []string
	for _, n := range s.directory.Nodes() {
		known = append(known, n.Name)
	}
	names, err := named(q.GetNodes(), known)
	if err != nil {
		return nil, err
	}
	if err := changes.CheckImpairment("impairment", q.GetImpairment()); err != nil {
		return nil, err
	}
	s.bad.set(names, q.GetImpairment())
	if batch := s.playing.Load(); batch != nil {
		select {
		case batch.impaired <- struct{}{}:
		default: // the token of an earlier change is still there
		}
	}
	if live := s.present.Load(); live != nil {
		live.do(live.impair)
	}
	return &rackfabv1.ImpairBusResponse{ImpairedNodes: s.bad.nodes()}, nil
}

// impair sends the nodes of a live run their impairments.
func (s *session) impair() {
	for _, m := range s.members {
		s.send(m, s.bad.step(m.name))
	}
}

// impair sends the nodes of a batch run their impairments.
func (r *run) impair() error {
	for _, m := range r.members {
		if err := m.send(r.bad.step(m.name)); err != nil {
			return err
		}
	}
	return nil
}
