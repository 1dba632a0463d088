package store

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"go.etcd.io/bbolt"
	"google.golang.org/protobuf/proto"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// ListSeries lists the series of a run without their points.
func (s *Store) ListSeries(q *rackfabv1.SeriesSelector) (*rackfabv1.ListSeriesResponse, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r, err := s.find(q.GetRun())
	if err != nil {
		return nil, err
	}
	out := &rackfabv1.ListSeriesResponse{Run: r.info.Run}
	err = r.db.View(func(tx *bbolt.Tx) error {
		return eachSeries(tx, q, func(_ uint32, one *rackfabv1.Series) error {
			out.Series = append(out.Series, one)
			return nil
		})
	})
	slices.SortFunc(out.Series, compareSeries)
	return out, err
}

// QuerySeries returns the points of series. The request's limit must be set.
func (s *Store) QuerySeries(q *rackfabv1.QuerySeriesRequest) (*rackfabv1.QuerySeriesResponse, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r, err := s.find(q.GetSelect().GetRun())
	if err != nil {
		return nil, err
	}
	out := &rackfabv1.QuerySeriesResponse{Run: r.info.Run}
	room := int(q.GetLimit())
	err = r.db.View(func(tx *bbolt.Tx) error {
		return eachSeries(tx, q.GetSelect(), func(number uint32, one *rackfabv1.Series) error {
			f := folder{q: q, to: one, room: room}
			f.walk(tx, number)
			room = f.room
			out.Truncated = out.Truncated || f.truncated
			if len(one.GetTimesPs()) > 0 {
				out.Series = append(out.Series, one)
			}
			return nil
		})
	})
	slices.SortFunc(out.Series, compareSeries)
	return out, err
}

// eachSeries calls do with every series that matches the selector.
func eachSeries(tx *bbolt.Tx, q *rackfabv1.SeriesSelector, do func(number uint32, s *rackfabv1.Series) error) error {
	return tx.Bucket(bucketSeries).ForEach(func(k, v []byte) error {
		one := &rackfabv1.Series{}
		if err := proto.Unmarshal(v, one); err != nil {
			return err
		}
		if !Selected(q, one) {
			return nil
		}
		return do(number32(k), one)
	})
}

// Selected reports whether a series matches the selector. It ignores the selector's run.
func Selected(q *rackfabv1.SeriesSelector, s *rackfabv1.Series) bool {
	fits := func(want, have string) bool { return want == "" || want == have }
	return fits(q.GetMetric(), s.GetMetric()) && fits(q.GetNode(), s.GetNode()) && fits(q.GetPeer(), s.GetPeer()) &&
		fits(q.GetFlow(), s.GetFlow()) && fits(q.GetDirection(), s.GetDirection()) &&
		(q == nil || q.Port == nil || s.Port != nil && q.GetPort() == s.GetPort())
}

func compareSeries(a, b *rackfabv1.Series) int {
	return cmp.Or(
		cmp.Compare(a.GetMetric(), b.GetMetric()), cmp.Compare(a.GetNode(), b.GetNode()), cmp.Compare(a.GetPort(), b.GetPort()),
		cmp.Compare(a.GetPeer(), b.GetPeer()), cmp.Compare(a.GetFlow(), b.GetFlow()), cmp.Compare(a.GetDirection(), b.GetDirection()),
	)
}

// folder reads the points of one series and folds those of one step into one point.
type folder struct {
	q         *rackfabv1.QuerySeriesRequest
	to        *rackfabv1.Series
	room      int // number of points that may still be added
	truncated bool
	n         float64 // points in the current step
}

// walk reads the chunks in the requested range.
func (f *folder) walk(tx *bbolt.Tx, number uint32) {
	from, to := f.q.GetFromPs(), orNever(f.q.GetToPs())
	prefix := key32(number)
	c := tx.Bucket(bucketPoints).Cursor()
	// The chunk that contains from may begin before it.
	after := append(bytes.Clone(prefix), math.MaxUint8)
	if from < math.MaxInt64 {
		after = pointsKey(number, from+1)
	}
	k, v := lastBefore(c, after)
	if k == nil || !bytes.HasPrefix(k, prefix) {
		k, v = c.Seek(prefix)
	}
	for ; k != nil && bytes.HasPrefix(k, prefix) && !f.truncated; k, v = c.Next() {
		first := firstOf(k)
		if first >= to {
			return
		}
		for _, p := range parseChunk(first, v) {
			if p.at >= from && p.at < to {
				f.add(p.at, p.value)
			}
		}
	}
}

// add adds a point. Points come in order.
func (f *folder) add(at int64, value float64) {
	step := f.q.GetStepPs()
	if step > 0 {
		at -= ((at % step) + step) % step
	}
	s := f.to
	last := len(s.TimesPs) - 1
	if step == 0 || last < 0 || s.TimesPs[last] != at {
		if f.room == 0 {
			f.truncated = true
			return
		}
		f.room, f.n = f.room-1, 1
		s.TimesPs, s.Values = append(s.TimesPs, at), append(s.Values, value)
		return
	}
	f.n++
	s.Values[last] = fold(f.kind(), s.Values[last], value, f.n)
}

// kind returns how the points of a step are folded.
func (f *folder) kind() rackfabv1.Fold {
	switch {
	case f.q.GetFold() != rackfabv1.Fold_FOLD_UNSPECIFIED:
		return f.q.GetFold()
	case f.to.GetKind() == rackfabv1.SeriesKind_SERIES_KIND_DELTA:
		return rackfabv1.Fold_FOLD_SUM
	case f.to.GetKind() == rackfabv1.SeriesKind_SERIES_KIND_CUMULATIVE:
		return rackfabv1.Fold_FOLD_LAST
	}
	return rackfabv1.Fold_FOLD_MAX
}

// fold combines the n-th value of a step with the result of the previous ones.
func fold(kind rackfabv1.Fold, have, value, n float64) float64 {
	switch kind {
	case rackfabv1.Fold_FOLD_LAST:
		return value
	case rackfabv1.Fold_FOLD_SUM:
		return have + value
	case rackfabv1.Fold_FOLD_MIN:
		return min(have, value)
	case rackfabv1.Fold_FOLD_MEAN:
		return have + (value-have)/n
	default:
		return max(have, value)
	}
}
