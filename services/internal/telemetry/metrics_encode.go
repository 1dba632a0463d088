package telemetry

import (
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

// resource returns the identity as an OTLP resource.
func (i *Identity) resource() *resource.Resource {
	return &resource.Resource{Attributes: []*common.KeyValue{
		text("service.name", "rackfab-"+string(i.Kind)), text("service.instance.id", i.Node),
		text("rackfab.run", i.Run), text("rackfab.scenario", i.Scenario), text("rackfab.scheme", i.Scheme),
		number("rackfab.seed", int64(i.Seed)), text("rackfab.node", i.Node),
		number("rackfab.epoch_unix_nano", i.Epoch), number("rackfab.bin_ps", int64(i.Bin)),
		text("rackfab.sampled", i.Sampled),
	}}
}

func text(key, value string) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: value}}}
}

func number(key string, value int64) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: value}}}
}

// Source is the node that batches come from. It caches the encoded attributes of its
// series. A Source belongs to one Points.
type Source struct {
	id         Identity
	resource   *resource.Resource
	attributes [][]*common.KeyValue // by series
}

// NewSource returns a source with the given identity.
func NewSource(id Identity) *Source { return &Source{id: id, resource: id.resource()} }

// encode encodes points of the source as OTLP.
func (s *Source) encode(batches []Batch) *otlp.ResourceMetrics {
	count := 0
	for _, b := range batches {
		s.spell(b.Series)
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

// spell adds the attributes of new series.
func (s *Source) spell(series []Series) {
	for _, one := range series[min(len(s.attributes), len(series)):] {
		var list []*common.KeyValue
		if one.Port >= 0 {
			list = append(list, number("rackfab.port", int64(one.Port)))
		}
		for _, a := range []struct{ key, value string }{
			{"rackfab.peer", one.Peer}, {"rackfab.flow", one.Flow}, {"rackfab.direction", one.Direction}, {"rackfab.reason", one.Reason},
		} {
			if a.value != "" {
				list = append(list, text(a.key, a.value))
			}
		}
		s.attributes = append(s.attributes, list)
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
