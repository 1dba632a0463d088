package store

import (
	"cmp"
	"math"
	"slices"

	"go.etcd.io/bbolt"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// ListSeries lists the series of a run without their points.
func (s *Store) ListSeries(q *rackfabv1.SeriesSelector) (*rackfabv1.ListSeriesResponse, error) {
	out := &rackfabv1.ListSeriesResponse{}
	err := s.view(q.GetRun(), func(r *run, tx *bbolt.Tx) error {
		out.Run = r.info.Run
		return eachSeries(tx, q, func(_ uint32, one *rackfabv1.Series) { out.Series = append(out.Series, one) })
	})
	slices.SortFunc(out.Series, compareSeries)
	return out, err
}

// QuerySeries returns the points of series. The request's limit must be set.
func (s *Store) QuerySeries(q *rackfabv1.QuerySeriesRequest) (*rackfabv1.QuerySeriesResponse, error) {
	out := &rackfabv1.QuerySeriesResponse{}
	left := int(q.GetLimit())
	err := s.view(q.GetSelect().GetRun(), func(r *run, tx *bbolt.Tx) error {
		out.Run = r.info.Run
		return eachSeries(tx, q.GetSelect(), func(number uint32, one *rackfabv1.Series) {
			f := folder{q: q, to: one, left: left}
			f.read(tx, number)
			left, out.Truncated = f.left, out.Truncated || f.truncated
			if len(one.GetTimesPs()) > 0 {
				out.Series = append(out.Series, one)
			}
		})
	})
	slices.SortFunc(out.Series, compareSeries)
	return out, err
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

func orNever(v int64) int64 {
	if v == 0 {
		return math.MaxInt64
	}
	return v
}

// folder reads the points of one series and folds those of one step into one point.
type folder struct {
	q         *rackfabv1.QuerySeriesRequest
	to        *rackfabv1.Series
	left      int // number of points that may still be added
	truncated bool
	n         float64 // points in the current step
}

// read reads the points in the requested range.
func (f *folder) read(tx *bbolt.Tx, number uint32) {
	from, to := f.q.GetFromPs(), orNever(f.q.GetToPs())
	for first, v := range chunks(tx.Bucket(bucketPoints), number, from) {
		if first >= to || f.truncated {
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
		if f.left == 0 {
			f.truncated = true
			return
		}
		f.left, f.n = f.left-1, 1
		s.TimesPs, s.Values = append(s.TimesPs, at), append(s.Values, value)
		return
	}
	f.n++
	s.Values[last] = f.fold(s.Values[last], value)
}

// fold combines the n-th value of a step with the result of the previous ones.
func (f *folder) fold(have, value float64) float64 {
	kind := f.q.GetFold()
	if kind == rackfabv1.Fold_FOLD_UNSPECIFIED {
		kind = defaultFolds[f.to.GetKind()]
	}
	switch kind {
	case rackfabv1.Fold_FOLD_LAST:
		return value
	case rackfabv1.Fold_FOLD_SUM:
		return have + value
	case rackfabv1.Fold_FOLD_MIN:
		return min(have, value)
	case rackfabv1.Fold_FOLD_MEAN:
		return have + (value-have)/f.n
	default:
		return max(have, value)
	}
}

// defaultFolds lists the folds of series kinds; any other kind uses the maximum.
var defaultFolds = map[rackfabv1.SeriesKind]rackfabv1.Fold{
	rackfabv1.SeriesKind_SERIES_KIND_DELTA:      rackfabv1.Fold_FOLD_SUM,
	rackfabv1.SeriesKind_SERIES_KIND_CUMULATIVE: rackfabv1.Fold_FOLD_LAST,
}
