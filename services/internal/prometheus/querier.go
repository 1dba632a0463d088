package prometheus

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// querier reads the series of a collector for one query. It knows the runs when the query
// begins.
type querier struct {
	server     *server
	runs       []*rackfabv1.CollectedRun
	mint, maxt int64 // ms
	read       int   // points so far
}

func (s *server) newQuerier(ctx context.Context) (*querier, error) {
	runs, err := s.runs(ctx)
	return &querier{server: s, runs: runs}, err
}

// end returns the instant of the latest point of the latest run.
func (q *querier) end() time.Time {
	if len(q.runs) == 0 {
		return time.Unix(0, 0)
	}
	return time.UnixMilli(clockOf(q.runs[0]).millis(q.runs[0].GetLastPointPs()))
}

// options makes an instant select the point of the bin before it, and of no other.
func (q *querier) options() promql.QueryOpts {
	lookback := time.Duration(0)
	for _, r := range q.runs {
		lookback = max(lookback, time.Duration(r.GetBinPs()/perMilli)*time.Millisecond)
	}
	if lookback == 0 {
		lookback = defaultLookback
	}
	return promql.NewPrometheusQueryOpts(false, lookback, nil)
}

// Querier returns a querier of a range.
func (q *querier) Querier(mint, maxt int64) (storage.Querier, error) {
	return &querier{server: q.server, runs: q.runs, mint: mint, maxt: maxt}, nil
}

// series is a series without points.
type series struct {
	labels labels.Labels
	run    *rackfabv1.CollectedRun
	is     *rackfabv1.Series // nil for binMetric
}

func matches(l labels.Labels, matchers []*labels.Matcher) bool {
	return !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(l.Get(m.Name)) })
}

// list calls do with the series that match.
func (q *querier) list(ctx context.Context, matchers []*labels.Matcher, do func(series)) error {
	for _, r := range q.selected(matchers) {
		out, err := q.server.collector.ListSeries(ctx, &rackfabv1.ListSeriesRequest{Select: selector(r, "", matchers)})
		if err != nil {
			return failed(err)
		}
		if l := binLabels(r); r.GetBinPs() > 0 && matches(l, matchers) {
			do(series{labels: l, run: r})
		}
		for _, s := range out.GetSeries() {
			if l := labelsOf(r, s); matches(l, matchers) {
				do(series{l, r, s})
			}
		}
	}
	return nil
}

// selected returns the runs whose labels match.
func (q *querier) selected(matchers []*labels.Matcher) (runs []*rackfabv1.CollectedRun) {
	for _, r := range q.runs {
		known := map[string]string{}
		addRun(func(name, value string) { known[name] = value }, r)
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool {
			value, ok := known[m.Name]
			return ok && !m.Matches(value)
		}) {
			runs = append(runs, r)
		}
	}
	return runs
}

// selector returns a selector that excludes no series that matches.
func selector(r *rackfabv1.CollectedRun, metric string, matchers []*labels.Matcher) *rackfabv1.SeriesSelector {
	out := &rackfabv1.SeriesSelector{Run: r.GetRun(), Metric: metric}
	to := map[string]*string{"node": &out.Node, "peer": &out.Peer, "flow": &out.Flow, "direction": &out.Direction}
	for _, m := range matchers {
		if m.Type != labels.MatchEqual {
			continue
		}
		if field := to[m.Name]; field != nil {
			*field = m.Value
		}
		if port, err := strconv.ParseInt(m.Value, 10, 32); m.Name == "port" && err == nil {
			n := int32(port)
			out.Port = &n
		}
	}
	return out
}

// Select reads the series that match, with their points in the range.
func (q *querier) Select(ctx context.Context, _ bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	from, to := q.mint, q.maxt
	if hints != nil {
		from, to = hints.Start, hints.End
	}
	wanted := map[*rackfabv1.CollectedRun][]string{} // metrics of the store
	var found []storage.Series
	err := q.list(ctx, matchers, func(one series) {
		switch {
		case one.is == nil:
			found = append(found, q.filled(one, from, to))
		case !slices.Contains(wanted[one.run], one.is.GetMetric()):
			wanted[one.run] = append(wanted[one.run], one.is.GetMetric())
		}
	})
	for _, r := range q.runs {
		for _, metric := range wanted[r] {
			if err != nil {
				return storage.ErrSeriesSet(err)
			}
			err = q.fetch(ctx, r, metric, matchers, from, to, func(s storage.Series) { found = append(found, s) })
		}
	}
	if err == nil && q.read > maxPoints {
		err = badData("the query reads more than %d points: select a run, or a shorter range", maxPoints)
	}
	if err != nil {
		return storage.ErrSeriesSet(err)
	}
	slices.SortFunc(found, func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) })
	return &set{series: found}
}

// fetch reads the series of a metric of a run that match.
func (q *querier) fetch(ctx context.Context, r *rackfabv1.CollectedRun, metric string, matchers []*labels.Matcher, from, to int64, do func(storage.Series)) error {
	at := clockOf(r)
	out, err := q.server.collector.QuerySeries(ctx, &rackfabv1.QuerySeriesRequest{
		Select: selector(r, metric, matchers), FromPs: max(at.ps(from)-repeated*r.GetBinPs(), 0), ToPs: at.ps(to) + perMilli, Limit: maxAnswer,
	})
	if err != nil {
		return failed(err)
	}
	if out.GetTruncated() {
		return badData("%s of run %s has more than %d points: select fewer series, or a shorter range", metric, r.GetRun(), maxAnswer)
	}
	for _, s := range out.GetSeries() {
		if l := labelsOf(r, s); matches(l, matchers) {
			do(q.filled(series{l, r, s}, from, to))
		}
	}
	return nil
}

// set is a storage.SeriesSet of series in memory.
type set struct {
	series []storage.Series
	next   int
}

func (s *set) Next() bool                        { s.next++; return s.next <= len(s.series) }
func (s *set) At() storage.Series                { return s.series[s.next-1] }
func (s *set) Err() error                        { return nil }
func (s *set) Warnings() annotations.Annotations { return nil }

// LabelValues is not called by the engine.
func (*querier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// LabelNames is not called by the engine.
func (*querier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// Close does nothing.
func (*querier) Close() error { return nil }
