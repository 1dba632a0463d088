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

// durations are those of the root spans of a group.
type durations struct {
	finished   []int64
	unfinished int64 // spans that ended early, whose durations say nothing
}

// GetPercentiles returns percentiles of the durations of root spans that finished.
func (s *Store) GetPercentiles(q *rackfabv1.GetPercentilesRequest) (*rackfabv1.GetPercentilesResponse, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	runs, err := s.several(q.GetRuns())
	if err != nil {
		return nil, err
	}
	groups := map[group]*durations{}
	for _, r := range runs {
		if err := r.durations(q, groups); err != nil {
			return nil, err
		}
	}
	out := &rackfabv1.GetPercentilesResponse{}
	for g, d := range groups {
		out.Rows = append(out.Rows, d.percentiles(g))
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
func (r *run) durations(q *rackfabv1.GetPercentilesRequest, to map[group]*durations) error {
	texts := *r.texts.Load()
	byName := q.GetName() != "" || q.GetGroup() == rackfabv1.PercentileGroup_PERCENTILE_GROUP_NAME
	return r.db.View(func(tx *bbolt.Tx) error {
		var at group
		var list *durations // of group at; saves a map access per trace
		for k, mark := range withPrefix(tx.Bucket(bucketFlow), nil) {
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
					list = &durations{}
					to[g] = list
				}
			}
			list.add(duration, mark)
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

// add adds a root span by the key and the value of its entry in the index.
func (d *durations) add(duration int64, mark []byte) {
	if len(mark) > 0 {
		d.unfinished++
		return
	}
	d.finished = append(d.finished, duration)
}

// percentiles computes the percentiles of a group. It sorts the durations.
func (d *durations) percentiles(g group) *rackfabv1.Percentiles {
	out := &rackfabv1.Percentiles{
		Run: g.run, Scheme: g.scheme, Flow: g.flow, Name: g.name, Count: int64(len(d.finished)), Unfinished: d.unfinished,
	}
	if len(d.finished) == 0 {
		return out
	}
	slices.Sort(d.finished)
	out.MinPs, out.MaxPs = d.finished[0], d.finished[len(d.finished)-1]
	out.P50Ps, out.P90Ps = measure.Quantile(d.finished, 500), measure.Quantile(d.finished, 900)
	out.P99Ps, out.P999Ps = measure.Quantile(d.finished, 990), measure.Quantile(d.finished, 999)
	return out
}
