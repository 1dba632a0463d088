package collector

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricpb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

func TestPointsAreStored(t *testing.T) {
	c, _, _ := start(t, Options{Data: t.TempDir()})
	follow, err := c.api.Follow(t.Context(), &rackfabv1.FollowRequest{AllMetrics: true, Traces: true})
	if err != nil {
		t.Fatal(err)
	}
	point := func(at uint64, v int64, port int) *metricpb.NumberDataPoint {
		return &metricpb.NumberDataPoint{TimeUnixNano: epoch + at, Value: &metricpb.NumberDataPoint_AsInt{AsInt: v}, Attributes: []*commonpb.KeyValue{attr("rackfab.port", port)}}
	}
	resource := node("s0")
	resource.Attributes = append(resource.Attributes, attr("rackfab.bin_ps", 50))
	q := &metricspb.ExportMetricsServiceRequest{ResourceMetrics: []*metricpb.ResourceMetrics{{Resource: resource, ScopeMetrics: []*metricpb.ScopeMetrics{{Metrics: []*metricpb.Metric{
		{Name: "rackfab.port.queue", Unit: "By", Data: &metricpb.Metric_Gauge{Gauge: &metricpb.Gauge{DataPoints: []*metricpb.NumberDataPoint{point(10, 5, 1), point(20, 6, 1), point(10, 7, 2), {TimeUnixNano: epoch}}}}},
		{Name: "rackfab.port.sent", Unit: "By", Data: &metricpb.Metric_Sum{Sum: &metricpb.Sum{
			AggregationTemporality: metricpb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA, DataPoints: []*metricpb.NumberDataPoint{point(10, 100, 1)},
		}}},
		{Name: "rpc.duration", Data: &metricpb.Metric_Histogram{Histogram: &metricpb.Histogram{DataPoints: []*metricpb.HistogramDataPoint{{}}}}},
	}}}}}}
	// The call of Follow may not have arrived yet: until it responds, each request sent is a
	// new one.
	var first *rackfabv1.FollowResponse
	answers, failed := make(chan *rackfabv1.FollowResponse, 1), make(chan error, 1)
	go func() {
		r, err := follow.Recv()
		if err != nil {
			failed <- err
			return
		}
		answers <- r
	}()
	for first == nil {
		out, err := c.metrics.Export(t.Context(), q)
		if err != nil || out.GetPartialSuccess().GetRejectedDataPoints() != 2 ||
			out.GetPartialSuccess().GetErrorMessage() != "metric rackfab.port.queue: want a value at every point; metric rpc.duration: want a gauge or a sum" {
			t.Fatal(out, err)
		}
		select {
		case first = <-answers:
		case err := <-failed:
			t.Fatal(err)
		default:
		}
	}
	if len(first.GetSeries()) != 3 || !slices.Equal(first.GetSeries()[0].GetValues(), []float64{5, 6}) {
		t.Errorf("%v", first)
	}
	out, err := c.api.QuerySeries(t.Context(), &rackfabv1.QuerySeriesRequest{Select: &rackfabv1.SeriesSelector{Metric: "rackfab.port.queue", Node: "s0", Port: proto.Int32(1)}})
	want := &rackfabv1.QuerySeriesResponse{Run: "a", Series: []*rackfabv1.Series{{
		Metric: "rackfab.port.queue", Unit: "By", Kind: rackfabv1.SeriesKind_SERIES_KIND_GAUGE, Node: "s0", Port: proto.Int32(1),
		TimesPs: []int64{10_000, 20_000}, Values: []float64{5, 6},
	}}}
	if diff := cmp.Diff(want, out, protocmp.Transform()); err != nil || diff != "" {
		t.Error(err, diff)
	}
	runs, err := c.api.ListRuns(t.Context(), &rackfabv1.ListRunsRequest{})
	if err != nil || runs.GetRuns()[0].GetBinPs() != 50 || runs.GetRuns()[0].GetLastPointPs() != 20_000 {
		t.Error(runs, err)
	}
	if p := counters(t, c).GetPoints(); p.GetStored() != 4 || p.GetReceived() != p.GetStored()+p.GetDuplicates()+p.GetRejected() {
		t.Errorf("%v", p)
	}
}
