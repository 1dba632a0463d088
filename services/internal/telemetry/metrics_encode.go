package telemetry

import (
	"math"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// scope is the name of the instrumentation scope.
const scope = "github.com/rackfab/rackfab/services/internal/telemetry"

// Identity identifies the source of telemetry: a node in a run.
type Identity struct {
	Run      string // the run's ID in the collector
	Scenario string
	Scheme   string
	Seed     uint64
	Node     string
	Kind     topology.NodeKind
	Epoch    int64     // wall-clock time of instant 0, in ns since 1970; 0 means Epoch
	Bin      unit.Time // length of a sampling span
	Sampled  string    // which messages have traces, in words
}

// IdentityOf returns the identity, in a run, of the scenario's node with index node.
func IdentityOf(run string, s *topology.Scenario, node int, bin unit.Time) Identity {
	n := &s.Nodes[node]
	return Identity{Run: run, Scenario: s.Name, Scheme: s.Scheme, Seed: s.Seed, Node: n.Name, Kind: n.Kind, Epoch: Epoch, Bin: bin}
}

// attributes returns the identity as resource attributes.
func (i *Identity) attributes() attributeList {
	return attributeList{
		attribute.String("service.name", "rackfab-"+string(i.Kind)), attribute.String("service.instance.id", i.Node),
		attribute.String("rackfab.run", i.Run), attribute.String("rackfab.scenario", i.Scenario), attribute.String("rackfab.scheme", i.Scheme),
		unsigned("rackfab.seed", i.Seed), attribute.String("rackfab.node", i.Node),
		number("rackfab.epoch_unix_nano", i.Epoch), attribute.String("rackfab.sampled", i.Sampled),
	}
}

// unsigned returns an attribute with an unsigned value. OpenTelemetry has signed integers, and maps
// larger ones to decimal text.
func unsigned(key string, v uint64) attribute.KeyValue {
	if v > math.MaxInt64 {
		return attribute.String(key, strconv.FormatUint(v, 10))
	}
	return attribute.Int64(key, int64(v))
}

// encoded returns string and integer attributes in the protocol's form.
func encoded(list attributeList) (out []*common.KeyValue) {
	for _, a := range list {
		v := &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: a.Value.AsInt64()}}
		if a.Value.Type() == attribute.STRING {
			v.Value = &common.AnyValue_StringValue{StringValue: a.Value.AsString()}
		}
		out = append(out, &common.KeyValue{Key: string(a.Key), Value: v})
	}
	return out
}

// Source is the node that batches come from. It caches the encoded attributes of its
// series. A Source belongs to one Points.
type Source struct {
	id         Identity
	resource   *resource.Resource
	attributes [][]*common.KeyValue // by series
}

// NewSource returns a source with the given identity.
func NewSource(id Identity) *Source {
	list := append(id.attributes(), number("rackfab.bin_ps", id.Bin))
	return &Source{id: id, resource: &resource.Resource{Attributes: encoded(list)}}
}

// encode encodes points of the source as OTLP.
func (s *Source) encode(batches []Batch) *otlp.ResourceMetrics {
	count := 0
	for _, b := range batches {
		s.encodeSeries(b.Series)
		count += len(b.Points)
	}
	var by [metricsEnd][]*otlp.NumberDataPoint
	points, values := make([]otlp.NumberDataPoint, count), make([]otlp.NumberDataPoint_AsInt, count)
	for _, b := range batches {
		for i := range b.Points {
			p, metric := &b.Points[i], b.Series[b.Points[i].Series].Metric
			d, v := &points[0], &values[0]
			points, values = points[1:], values[1:]
			v.AsInt, d.Value, d.Attributes = p.Value, v, s.attributes[p.Series]
			d.TimeUnixNano = s.nano(p.At)
			if Metrics[metric].Kind == Count {
				d.StartTimeUnixNano = s.nano(p.From)
			}
			by[metric] = append(by[metric], d)
		}
	}
	list := &otlp.ScopeMetrics{Scope: &common.InstrumentationScope{Name: scope}}
	for i, points := range by {
		if len(points) > 0 {
			list.Metrics = append(list.Metrics, Metrics[i].with(points))
		}
	}
	return &otlp.ResourceMetrics{Resource: s.resource, ScopeMetrics: []*otlp.ScopeMetrics{list}}
}

// nano converts an instant to ns since 1970, rounded down.
func (s *Source) nano(t unit.Time) uint64 { return uint64(s.id.Epoch + int64(t/unit.Nanosecond)) }

// encodeSeries adds the attributes of new series.
func (s *Source) encodeSeries(series []Series) {
	for _, one := range series[min(len(s.attributes), len(series)):] {
		var list attributeList
		if one.Port >= 0 {
			list = append(list, number("rackfab.port", one.Port))
		}
		for _, a := range []attribute.KeyValue{
			attribute.String("rackfab.peer", one.Peer), attribute.String("rackfab.flow", one.Flow),
			attribute.String("rackfab.direction", one.Direction), attribute.String("rackfab.reason", one.Reason),
		} {
			if a.Value.AsString() != "" {
				list = append(list, a)
			}
		}
		s.attributes = append(s.attributes, encoded(list))
	}
}

// with returns the OTLP metric with the given points.
func (m *Metric) with(points []*otlp.NumberDataPoint) *otlp.Metric {
	out := &otlp.Metric{Name: m.Name, Unit: m.Unit, Description: m.Meaning}
	if m.Kind == Count {
		out.Data = &otlp.Metric_Sum{Sum: &otlp.Sum{
			DataPoints: points, IsMonotonic: true,
			AggregationTemporality: otlp.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA,
		}}
	} else {
		out.Data = &otlp.Metric_Gauge{Gauge: &otlp.Gauge{DataPoints: points}}
	}
	return out
}
