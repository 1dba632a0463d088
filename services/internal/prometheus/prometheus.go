// Package prometheus serves the part of Prometheus' HTTP API that Grafana and promtool
// need, over the time series of a collector, and in fabric time: 1 us of fabric time is
// 1 s of Prometheus. Prometheus counts time in ms, which is 1 ns of fabric time here, and
// Grafana offers no steps below 1 ms; a bin of 50 us is 50 s. Instant 0 of every run is
// its epoch, 2020-01-01T00:00:00Z, so that runs lie upon each other.
//
// Expressions are evaluated by Prometheus' own engine. The package asks a collector by
// gRPC, and stores nothing.
package prometheus

import (
	"context"
	"net/http"
	"runtime"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/collector/store"
)

// Path is the prefix of the API.
const Path = "/api/v1/"

// Limits of one query.
const (
	maxSamples = 50_000_000 // in memory at a time, as in Prometheus
	maxPoints  = 20_000_000 // read from the collector, including those of bins without a change
	maxSteps   = 11_000     // of a range, as in Prometheus
	queryLimit = 30 * time.Second
)

// version is that of Prometheus whose query language the module implements. Grafana asks
// for it.
const version = "3.16.0"

// server serves the API.
type server struct {
	collector rackfabv1.CollectorServiceClient
	engine    *promql.Engine
	parser    parser.Parser
}

// Handler serves the API below Path for the runs of a collector. Anybody who reaches it
// may read all series.
func Handler(collector rackfabv1.CollectorServiceClient) http.Handler {
	s := &server{collector: collector, parser: parser.NewParser(parser.Options{})}
	s.engine = promql.NewEngine(promql.EngineOpts{
		MaxSamples: maxSamples, Timeout: queryLimit, EnableAtModifier: true, EnableNegativeOffset: true, Parser: s.parser,
		NoStepSubqueryIntervalFn: func(int64) int64 { return defaultLookback.Milliseconds() },
	})
	mux := http.NewServeMux()
	for path, serve := range map[string]func(*http.Request) (any, error){
		"query": s.query, "query_range": s.queryRange, "series": s.series, "labels": s.labelNames, "label/{name}/values": s.labelValues,
		"metadata": s.metadata, "status/buildinfo": buildInfo,
	} {
		mux.Handle("GET "+Path+path, answer(serve))
		mux.Handle("POST "+Path+path, answer(serve))
	}
	return mux
}

// runs lists the runs that have fabric time, the latest first.
func (s *server) runs(ctx context.Context) ([]*rackfabv1.CollectedRun, error) {
	out, err := s.collector.ListRuns(ctx, &rackfabv1.ListRunsRequest{})
	if err != nil {
		return nil, failed(err)
	}
	return slices.DeleteFunc(out.GetRuns(), func(r *rackfabv1.CollectedRun) bool { return r.GetRun() == store.Foreign }), nil
}

// query evaluates an expression at an instant, by default that of the latest point of the
// latest run.
func (s *server) query(r *http.Request) (any, error) {
	q, err := s.newQuerier(r.Context())
	if err != nil {
		return nil, err
	}
	at := q.end()
	if text := r.FormValue("time"); text != "" {
		if at, err = parseTime("time", text); err != nil {
			return nil, err
		}
	}
	query, err := s.engine.NewInstantQuery(r.Context(), q, q.options(), r.FormValue("query"), at)
	return evaluate(r.Context(), query, err)
}

// queryRange evaluates an expression at the steps of a range.
func (s *server) queryRange(r *http.Request) (any, error) {
	start, err1 := parseTime("start", r.FormValue("start"))
	end, err2 := parseTime("end", r.FormValue("end"))
	step, err3 := parseStep(r.FormValue("step"))
	if err := firstOf(err1, err2, err3); err != nil {
		return nil, err
	}
	switch {
	case end.Before(start):
		return nil, badData("end: want no time before start")
	case end.Sub(start)/step > maxSteps:
		return nil, badData("step: want at most %d steps between start and end", maxSteps)
	}
	q, err := s.newQuerier(r.Context())
	if err != nil {
		return nil, err
	}
	query, err := s.engine.NewRangeQuery(r.Context(), q, q.options(), r.FormValue("query"), start, end, step)
	return evaluate(r.Context(), query, err)
}

// evaluate runs a query of the engine. err is that of parsing it.
func evaluate(ctx context.Context, query promql.Query, err error) (any, error) {
	if err != nil {
		return nil, badData("%v", err)
	}
	defer query.Close()
	result := query.Exec(ctx)
	if result.Err != nil {
		return nil, failed(result.Err)
	}
	value := any(result.Value)
	if m, ok := value.(promql.Matrix); ok && m == nil {
		value = promql.Matrix{} // encoded as a list
	}
	// The result refers to memory that Close gives back, so it is encoded here.
	return encoded(struct {
		Type   parser.ValueType `json:"resultType"`
		Result any              `json:"result"`
	}{result.Value.Type(), value})
}

// series lists the series that match.
func (s *server) series(r *http.Request) (any, error) {
	if len(r.Form["match[]"]) == 0 {
		return nil, badData("match[]: want a selector, such as rackfab_port_queue_bytes")
	}
	out := []labels.Labels{}
	err := s.each(r, func(l labels.Labels) { out = append(out, l) })
	return out, err
}

// labelNames lists the names of labels.
func (s *server) labelNames(r *http.Request) (any, error) {
	return s.distinct(r, func(l labels.Labels, put func(string)) { l.Range(func(one labels.Label) { put(one.Name) }) })
}

// labelValues lists the values of a label.
func (s *server) labelValues(r *http.Request) (any, error) {
	name := r.PathValue("name")
	return s.distinct(r, func(l labels.Labels, put func(string)) {
		if value := l.Get(name); value != "" {
			put(value)
		}
	})
}

// distinct returns the sorted distinct texts of the series that match.
func (s *server) distinct(r *http.Request, of func(l labels.Labels, put func(string))) ([]string, error) {
	out := []string{}
	err := s.each(r, func(l labels.Labels) {
		of(l, func(text string) {
			if at, known := slices.BinarySearch(out, text); !known {
				out = slices.Insert(out, at, text)
			}
		})
	})
	return out, err
}

// each calls do with the labels of every series that matches one of the selectors
// match[], or of every series if there are none.
func (s *server) each(r *http.Request, do func(labels.Labels)) error {
	selectors, err := s.parser.ParseMetricSelectors(r.Form["match[]"])
	if err != nil {
		return badData("match[]: %v", err)
	}
	q, err := s.newQuerier(r.Context())
	if err != nil {
		return err
	}
	if len(selectors) == 0 {
		selectors = append(selectors, nil)
	}
	seen := map[uint64]bool{}
	for _, matchers := range selectors {
		err := q.list(r.Context(), matchers, func(one series) {
			if hash := one.labels.Hash(); !seen[hash] {
				seen[hash] = true
				do(one.labels)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// metadata describes the metrics.
func (*server) metadata(*http.Request) (any, error) {
	out := map[string]any{}
	for _, m := range catalogue() {
		out[m.name] = []map[string]string{{"type": "gauge", "help": m.meaning, "unit": ""}}
	}
	return out, nil
}

func buildInfo(*http.Request) (any, error) {
	return map[string]string{"version": version, "revision": "rackfab", "branch": "", "buildUser": "", "buildDate": "", "goVersion": runtime.Version()}, nil
}
