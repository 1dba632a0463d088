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

func compareGroups(a, b group) int {
	return cmp.Or(cmp.Compare(a.run, b.run), cmp.Compare(a.scheme, b.scheme), cmp.Compare(a.flow, b.flow), cmp.Compare(a.name, b.name))
}

// GetPercentiles returns percentiles of the durations of root spans.
func (s *Store) GetPercentiles(q *rackfabv1.GetPercentilesRequest) (*rackfabv1.GetPercentilesResponse, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	runs, err := s.several(q.GetRuns())
	if err != nil {
		return nil, err
	}
	durations := map[group][]int64{}
	for _, r := range runs {
		if err := r.durations(q, durations); err != nil {
			return nil, err
		}
	}
	out := &rackfabv1.GetPercentilesResponse{}
	for g, list := range durations {
		slices.Sort(list)
		out.Rows = append(out.Rows, percentiles(g, list))
	}
	slices.SortFunc(out.Rows, func(a, b *rackfabv1.Percentiles) int {
		return compareGroups(group{a.Run, a.Scheme, a.Flow, a.Name}, group{b.Run, b.Scheme, b.Flow, b.Name})
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
func (r *run) durations(q *rackfabv1.GetPercentilesRequest, to map[group][]int64) error {
	texts := r.known()
	byName := q.GetName() != "" || q.GetGroup() == rackfabv1.PercentileGroup_PERCENTILE_GROUP_NAME
	return r.db.View(func(tx *bbolt.Tx) error {
		records := tx.Bucket(bucketTraces)
		var list []int64 // of the current group; saves a map access per trace
		var at group
		flush := func() {
			if len(list) > 0 {
				to[at], list = append(to[at], list...), nil
			}
		}
		err := tx.Bucket(bucketFlow).ForEach(func(k, _ []byte) error {
			flow := text(texts, number32(k))
			duration, number := ordered(k)
			if q.GetFlow() != "" && flow != q.GetFlow() {
				return nil
			}
			name := ""
			if byName {
				t, err := parseRecord(records.Get(key32(number)))
				if err != nil {
					return err
				}
				if name = text(texts, t.name); q.GetName() != "" && name != q.GetName() {
					return nil
				}
			}
			if g := r.group(q.GetGroup(), flow, name); g != at {
				flush()
				at = g
			}
			list = append(list, duration)
			return nil
		})
		flush()
		return err
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
