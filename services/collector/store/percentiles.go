package store

import (
	"cmp"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/rackfab/rackfab/fabric/measure"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// group is the key by which durations are grouped.
type group struct{ run, scheme, flow, name string }

// GetPercentiles returns percentiles of the durations of root spans.
func (s *Store) GetPercentiles(q *rackfabv1.GetPercentilesRequest) (*rackfabv1.GetPercentilesResponse, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	runs, err := s.several(q.GetRuns())
	if err != nil {
		return nil, err
	}
	durations := map[group]*[]int64{}
	for _, r := range runs {
		if err := r.durations(q, durations); err != nil {
			return nil, err
		}
	}
	out := &rackfabv1.GetPercentilesResponse{}
	for g, list := range durations {
		slices.Sort(*list)
		out.Rows = append(out.Rows, percentiles(g, *list))
	}
	slices.SortFunc(out.Rows, func(a, b *rackfabv1.Percentiles) int {
		return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Scheme, b.Scheme), cmp.Compare(a.Flow, b.Flow), cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}

// several returns the runs with the given IDs. No ID means the latest run, "*" all runs.
func (s *Store) several(ids []string) ([]*run, error) {
	if slices.Equal(ids, []string{"*"}) {
		return s.runs, nil
	}
	if len(ids) == 0 {
		ids = []string{""}
	}
	var runs []*run
	for _, id := range ids {
		r, err := s.find(id)
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// durations adds the durations of a run to their groups. The index by flow suffices
// unless the name of the span matters.
func (r *run) durations(q *rackfabv1.GetPercentilesRequest, to map[group]*[]int64) error {
	texts := *r.texts.Load()
	byName := q.GetName() != "" || q.GetGroup() == rackfabv1.PercentileGroup_PERCENTILE_GROUP_NAME
	return r.db.View(func(tx *bbolt.Tx) error {
		var at group
		var list *[]int64 // of group at; saves a map access per trace
		for k := range withPrefix(tx.Bucket(bucketFlow), nil) {
			flow, name := texts.of(number32(k)), ""
			duration, number := parseIndexKey(k)
			if q.GetFlow() != "" && flow != q.GetFlow() {
				continue
			}
			if byName {
				t, err := readRecord(tx, number)
				if err != nil {
					return err
				}
				if name = texts.of(t.name); q.GetName() != "" && name != q.GetName() {
					continue
				}
			}
			if g := r.group(q.GetGroup(), flow, name); g != at || list == nil {
				if at, list = g, to[g]; list == nil {
					list = &[]int64{}
					to[g] = list
				}
			}
			*list = append(*list, duration)
		}
		return nil
	})
}

// group returns the group of a root span.
func (r *run) group(by rackfabv1.PercentileGroup, flow, name string) group {
	switch by {
	case rackfabv1.PercentileGroup_PERCENTILE_GROUP_SCHEME:
		return group{scheme: r.info.Scheme}
	case rackfabv1.PercentileGroup_PERCENTILE_GROUP_RUN:
		return group{run: r.info.Run, scheme: r.info.Scheme}
	case rackfabv1.PercentileGroup_PERCENTILE_GROUP_NAME:
		return group{run: r.info.Run, scheme: r.info.Scheme, name: name}
	default:
		return group{run: r.info.Run, scheme: r.info.Scheme, flow: flow}
	}
}

// percentiles computes the percentiles of a sorted list, which must not be empty.
func percentiles(g group, sorted []int64) *rackfabv1.Percentiles {
	return &rackfabv1.Percentiles{
		Run: g.run, Scheme: g.scheme, Flow: g.flow, Name: g.name, Count: int64(len(sorted)),
		MinPs: sorted[0], MaxPs: sorted[len(sorted)-1],
		P50Ps: measure.Quantile(sorted, 500), P90Ps: measure.Quantile(sorted, 900), P99Ps: measure.Quantile(sorted, 990), P999Ps: measure.Quantile(sorted, 999),
	}
}
