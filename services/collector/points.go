package collector

import (
	"cmp"
	"fmt"
	"slices"

	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricpb "go.opentelemetry.io/proto/otlp/metrics/v1"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/collector/store"
)

// noValue is the flag of a point without a value.
const noValue = uint32(metricpb.DataPointFlags_DATA_POINT_FLAGS_NO_RECORDED_VALUE_MASK)

// points converts a request to deliveries. why lists the reasons for rejected points.
func (e *epochs) points(q *metricspb.ExportMetricsServiceRequest) (all []*store.Delivery, why *reasons) {
	why = &reasons{}
	for _, r := range q.GetResourceMetrics() {
		list := metricsOf(r)
		if len(list) == 0 {
			continue
		}
		m := &metrics{splitter: e.splitter(r.GetResource(), firstPoint(list)), why: why, at: map[seriesKey]int{}}
		for _, one := range list {
			m.add(one)
		}
		all = append(all, m.deliveries...)
	}
	return all, why
}

// metricsOf returns the metrics of a resource.
func metricsOf(r *metricpb.ResourceMetrics) (all []*metricpb.Metric) {
	for _, scope := range r.GetScopeMetrics() {
		all = append(all, scope.GetMetrics()...)
	}
	return all
}

// pointsOf returns the points of a metric, or in other the number of its points if its kind
// is not supported.
func pointsOf(m *metricpb.Metric) (points []*metricpb.NumberDataPoint, kind rackfabv1.SeriesKind, other int) {
	switch d := m.GetData().(type) {
	case *metricpb.Metric_Gauge:
		return d.Gauge.GetDataPoints(), rackfabv1.SeriesKind_SERIES_KIND_GAUGE, 0
	case *metricpb.Metric_Sum:
		kind = rackfabv1.SeriesKind_SERIES_KIND_CUMULATIVE
		if d.Sum.GetAggregationTemporality() == metricpb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA {
			kind = rackfabv1.SeriesKind_SERIES_KIND_DELTA
		}
		return d.Sum.GetDataPoints(), kind, 0
	case *metricpb.Metric_Histogram:
		return nil, kind, len(d.Histogram.GetDataPoints())
	case *metricpb.Metric_ExponentialHistogram:
		return nil, kind, len(d.ExponentialHistogram.GetDataPoints())
	case *metricpb.Metric_Summary:
		return nil, kind, len(d.Summary.GetDataPoints())
	}
	return nil, kind, 0
}

// firstPoint returns the first time in the points of metrics, or 0 if no point has one.
func firstPoint(list []*metricpb.Metric) uint64 {
	for _, one := range list {
		points, _, _ := pointsOf(one)
		for _, p := range points {
			if at := p.GetTimeUnixNano(); at != 0 {
				return at
			}
		}
	}
	return 0
}

// metrics groups the points of a resource by series.
type metrics struct {
	*splitter
	why *reasons
	at  map[seriesKey]int
}

// seriesKey identifies a series within a request.
type seriesKey struct {
	run, metric, node, peer, flow, direction string
	port                                     int32
	more                                     string
}

// add adds the points of a metric.
func (m *metrics) add(one *metricpb.Metric) {
	points, kind, other := pointsOf(one)
	if other > 0 {
		m.reject(m.deliveries[0], other, fmt.Sprintf("metric %s: want a gauge or a sum", one.GetName()))
	}
	for _, p := range points {
		d, at, ok := m.deliveryAt(p.GetTimeUnixNano())
		switch {
		case !ok:
			m.reject(d, 1, fmt.Sprintf("time_unix_nano: want an instant within 100 days of the epoch of run %s", d.Run.Run))
			continue
		case p.GetFlags()&noValue != 0 || p.GetValue() == nil:
			m.reject(d, 1, fmt.Sprintf("metric %s: want a value at every point", one.GetName()))
			continue
		case one.GetName() == "":
			m.reject(d, 1, "metric: want a name")
			continue
		}
		key, more := m.key(d, one.GetName(), p)
		i, ok := m.at[key]
		if !ok {
			i = len(d.Points)
			m.at[key] = i
			d.Points = append(d.Points, store.Points{Series: key.series(one.GetUnit(), kind, more)})
		}
		to := &d.Points[i]
		to.Times, to.Values = append(to.Times, at), append(to.Values, value(p))
	}
}

func (m *metrics) reject(d *store.Delivery, points int, why string) {
	d.Rejected.Points += int64(points)
	m.why.add(why)
}

func value(p *metricpb.NumberDataPoint) float64 {
	if v, ok := p.GetValue().(*metricpb.NumberDataPoint_AsInt); ok {
		return float64(v.AsInt)
	}
	return p.GetAsDouble()
}

// noPort marks a series without a port.
const noPort = -1

// key returns the series key of a point, from its attributes, and the attributes without
// a field in the key.
func (m *metrics) key(d *store.Delivery, metric string, p *metricpb.NumberDataPoint) (k seriesKey, more []*commonpb.KeyValue) {
	k = seriesKey{run: d.Run.Run, metric: metric, node: m.origin.node}
	port := int64(noPort)
	more = take(p.GetAttributes(), field{key: attrNode, text: &k.node}, field{key: attrPeer, text: &k.peer}, field{key: attrFlow, text: &k.flow},
		field{key: attrDirection, text: &k.direction}, field{key: attrPort, number: &port})
	k.port = int32(port)
	for _, a := range more {
		k.more += a.GetKey() + "=" + a.GetValue().String() + "\n"
	}
	return k, more
}

// series returns the series with the key.
func (k seriesKey) series(unit string, kind rackfabv1.SeriesKind, more []*commonpb.KeyValue) *rackfabv1.Series {
	s := &rackfabv1.Series{Metric: k.metric, Unit: unit, Kind: kind, Node: k.node, Peer: k.peer, Flow: k.flow, Direction: k.direction}
	if k.port != noPort {
		s.Port = &k.port
	}
	if len(more) > 0 {
		slices.SortFunc(more, func(a, b *commonpb.KeyValue) int { return cmp.Compare(a.GetKey(), b.GetKey()) })
		s.Attributes = store.Attributes(more)
	}
	return s
}
