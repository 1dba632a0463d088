package collector

import (
	"fmt"
	"testing"
	"time"

	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricpb "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
)

// The number of epochs is bounded however many runs clients invent. The epochs of stored
// and of recently received runs stay.
func TestEpochsAreBounded(t *testing.T) {
	e := epochs{now: map[string]int64{}, stored: func(run string) (int64, bool) { return 42, run == "stored" }}
	want := func(run string, epoch, want int64) {
		t.Helper()
		if have := e.of(run, func() int64 { return epoch }); have != want {
			t.Errorf("%s begins at %d, want %d", run, have, want)
		}
	}
	for i := range int64(5 * maxEpochs) {
		want(fmt.Sprint(i), i, i)
		want("stored", i, 42)
		want(fmt.Sprint(max(0, i-maxEpochs/4)), -1, max(0, i-maxEpochs/4))
		if n := len(e.now) + len(e.before); n > 2*maxEpochs {
			t.Fatalf("%d epochs at hand after %d runs", n, i)
		}
	}
}

// Data without a time does not set the epoch of the run of foreign data: later data is
// accepted.
func TestMissingInstantSetsNoEpoch(t *testing.T) {
	now := uint64(time.Now().UnixNano())
	stock := &resourcepb.Resource{Attributes: []*commonpb.KeyValue{attr("service.name", "stock")}}
	gauge := func(at uint64) *metricpb.Metric {
		p := &metricpb.NumberDataPoint{TimeUnixNano: at, Value: &metricpb.NumberDataPoint_AsInt{AsInt: 1}}
		return &metricpb.Metric{Name: "load", Data: &metricpb.Metric_Gauge{Gauge: &metricpb.Gauge{DataPoints: []*metricpb.NumberDataPoint{p}}}}
	}
	histogram := &metricpb.Metric{Name: "took", Data: &metricpb.Metric_Histogram{Histogram: &metricpb.Histogram{
		DataPoints: []*metricpb.HistogramDataPoint{{TimeUnixNano: now}},
	}}}
	for name, first := range map[string]*metricpb.Metric{"histogram": histogram, "no instant": gauge(0), "beyond all": gauge(1 << 63)} {
		t.Run(name, func(t *testing.T) {
			c, _, _ := start(t, Options{Data: t.TempDir()})
			export := func(all ...*metricpb.Metric) int64 {
				t.Helper()
				out, err := c.metrics.Export(t.Context(), &metricspb.ExportMetricsServiceRequest{ResourceMetrics: []*metricpb.ResourceMetrics{
					{Resource: stock, ScopeMetrics: []*metricpb.ScopeMetrics{{Metrics: all}}},
				}})
				if err != nil {
					t.Fatal(err)
				}
				return out.GetPartialSuccess().GetRejectedDataPoints()
			}
			if n := export(first); n != 1 {
				t.Errorf("%d rejected of one", n)
			}
			if n := export(gauge(now)); n != 0 {
				t.Errorf("%d rejected after it", n)
			}
			late := write(1, 0)
			late.StartTimeUnixNano, late.EndTimeUnixNano, late.Attributes = now, now+1, nil
			if out, err := c.traces.Export(t.Context(), request(stock, late)); err != nil || out.GetPartialSuccess() != nil {
				t.Errorf("%v, %v", out, err)
			}
		})
	}
}

// The first valid time sets the epoch of the run of foreign data, even after a span
// without a time.
func TestFirstValidInstantSetsTheEpoch(t *testing.T) {
	c, _, _ := start(t, Options{Data: t.TempDir()})
	bad, good := write(1, 0), write(2, 0)
	bad.StartTimeUnixNano, bad.Attributes, good.Attributes = 0, nil, nil
	out, err := c.traces.Export(t.Context(), request(&resourcepb.Resource{}, bad, good))
	if err != nil || out.GetPartialSuccess().GetRejectedSpans() != 1 {
		t.Errorf("%v, %v", out, err)
	}
}
