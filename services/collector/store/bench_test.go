package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// The load of the benchmark: GETs through two switches, ten spans each, received from
// twenty nodes in turn.
const (
	benchTraces = 100_000
	benchWindow = 512 // traces whose spans arrive in the same round of deliveries
	benchFlows  = 226
	benchNodes  = 20
)

func intValue(key string, value int64) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: value}}}
}

// benchTrace returns the spans of a GET.
func benchTrace(rnd *rand.Rand, n int) []Span {
	var id [16]byte
	for i := range id {
		id[i] = byte(rnd.Uint32())
	}
	flow, start := fmt.Sprintf("F%d", rnd.IntN(benchFlows)), int64(n)*800_000
	took := int64(10e6 + rnd.ExpFloat64()*2e9)
	from, to := rnd.IntN(benchNodes-2), rnd.IntN(benchNodes-2)
	names := []string{"GET", "request", "switch", "switch", "receive", "respond", "switch", "switch", "wire", "wire"}
	at := []int{from, from, benchNodes - 2, benchNodes - 1, to, to, benchNodes - 1, benchNodes - 2, from, from}
	spans := make([]Span, len(names))
	for i := range spans {
		s := Span{
			Trace: id, ID: rnd.Uint64() | 1, Parent: 1, Name: names[i], Node: fmt.Sprintf("n%d", at[i]), Service: "rackfab-nic", Flow: flow,
			Start: start + int64(i)*1000, End: start + took/int64(i+1) + int64(i)*1000,
			Attributes: []*commonpb.KeyValue{
				intValue("rackfab.message", int64(n)), intValue("rackfab.wall_unix_nano", 1_800_000_000_000_000_000+int64(n)), textValue("rackfab.direction", "forward"),
				intValue("rackfab.port.in", int64(rnd.IntN(18))), intValue("rackfab.port.out", int64(rnd.IntN(18))), intValue("rackfab.queue_bytes.max", int64(rnd.IntN(1<<20))),
				intValue("rackfab.frames", 64), intValue("rackfab.queueing_ps", int64(rnd.IntN(1e9))),
			},
		}
		if i == 0 {
			s.Parent = 0
		}
		spans[i] = s
	}
	return spans
}

// benchLoad returns the deliveries, one round of all nodes at a time, as the queue
// passes them on when all nodes export.
func benchLoad(yield func([]*Delivery)) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for first := 0; first < benchTraces; first += benchWindow {
		byNode := map[string][]Span{}
		for n := first; n < min(first+benchWindow, benchTraces); n++ {
			for _, s := range benchTrace(rnd, n) {
				byNode[s.Node] = append(byNode[s.Node], s)
			}
		}
		var round []*Delivery
		for n := range benchNodes {
			round = append(round, &Delivery{Run: RunInfo{Run: "bench"}, Spans: byNode[fmt.Sprintf("n%d", n)]})
		}
		yield(round)
	}
}

// BenchmarkMillionSpans stores a million spans and queries them. It reports spans per
// second, bytes per span, and the median and 99th percentile of the time of each query.
//
//	go test -run '^$' -bench MillionSpans -benchtime 1x ./services/collector/store
func BenchmarkMillionSpans(b *testing.B) {
	for b.Loop() {
		s, err := Open(b.TempDir(), Options{})
		if err != nil {
			b.Fatal(err)
		}
		var spent time.Duration
		var ids [][16]byte
		spans := 0
		benchLoad(func(round []*Delivery) {
			for _, d := range round {
				spans += len(d.Spans)
			}
			ids = append(ids, round[benchNodes-1].Spans[0].Trace)
			begun := time.Now()
			if err := s.Write(begun, round); err != nil {
				b.Fatal(err)
			}
			spent += time.Since(begun)
		})
		b.ReportMetric(float64(spans)/spent.Seconds(), "spans/s")
		b.ReportMetric(float64(s.Size())/float64(spans), "B/span")
		benchQuestions(b, s, ids)
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func benchQuestions(b *testing.B, s *Store, ids [][16]byte) {
	rnd := rand.New(rand.NewPCG(3, 4))
	list := func(q *rackfabv1.ListTracesRequest) error {
		q.Limit = 20
		_, err := s.ListTraces(q)
		return err
	}
	for _, q := range []struct {
		name  string
		times int
		do    func() error
	}{
		{"slowest-of-a-flow", 500, func() error {
			return list(&rackfabv1.ListTracesRequest{Flow: fmt.Sprintf("F%d", rnd.IntN(benchFlows))})
		}},
		{"latest", 500, func() error {
			return list(&rackfabv1.ListTracesRequest{Order: rackfabv1.TraceOrder_TRACE_ORDER_LATEST})
		}},
		{"at-a-node-by-duration", 500, func() error {
			return list(&rackfabv1.ListTracesRequest{Node: fmt.Sprintf("n%d", rnd.IntN(benchNodes)), MinDurationPs: 1e9, MaxDurationPs: 3e9})
		}},
		{"by-attribute-of-a-flow", 100, func() error {
			return list(&rackfabv1.ListTracesRequest{Flow: fmt.Sprintf("F%d", rnd.IntN(benchFlows)), Attributes: []*rackfabv1.AttributeMatch{{Key: "rackfab.port.in", Value: "3"}}})
		}},
		{"one-trace", 500, func() error {
			_, err := s.GetTrace("", fmt.Sprintf("%x", ids[rnd.IntN(len(ids))]))
			return err
		}},
		{"percentiles-per-flow", 20, func() error {
			_, err := s.GetPercentiles(&rackfabv1.GetPercentilesRequest{})
			return err
		}},
	} {
		var took []time.Duration
		for range q.times {
			begun := time.Now()
			if err := q.do(); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(begun))
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds()), q.name+"-p50-us")
		b.ReportMetric(float64(took[(len(took)*99+99)/100-1].Microseconds()), q.name+"-p99-us")
	}
}
