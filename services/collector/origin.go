package collector

import (
	"cmp"
	"slices"
	"strings"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"

	"github.com/rackfab/rackfab/services/collector/store"
)

// Attributes that nodes set on their telemetry.
const (
	attrRun       = "rackfab.run"
	attrScenario  = "rackfab.scenario"
	attrScheme    = "rackfab.scheme"
	attrSeed      = "rackfab.seed"
	attrEpoch     = "rackfab.epoch_unix_nano"
	attrSampled   = "rackfab.sampled"
	attrBin       = "rackfab.bin_ps"
	attrNode      = "rackfab.node"
	attrFlow      = "rackfab.flow"
	attrPort      = "rackfab.port"
	attrPeer      = "rackfab.peer"
	attrDirection = "rackfab.direction"
	attrStart     = "rackfab.start_ps"
	attrEnd       = "rackfab.end_ps"
	attrAt        = "rackfab.at_ps"
	attrService   = "service.name"
	attrInstance  = "service.instance.id"
)

// known lists the prefixes of attributes that describe a node or its software.
var known = []string{"rackfab.", "service.", "telemetry."}

// origin identifies the source of telemetry, from the attributes of its resource.
type origin struct {
	run           store.RunInfo
	node, service string
	more          []*commonpb.KeyValue // other attributes of the resource, copied to every span
}

// origin parses a resource. first is an instant of its telemetry in ns since 1970, or 0
// if there is none.
func (e *epochs) origin(r *resourcepb.Resource, first uint64) origin {
	var o origin
	instance, epoch := "", int64(0)
	more := take(r.GetAttributes(),
		field{key: attrRun, text: &o.run.Run}, field{key: attrScenario, text: &o.run.Scenario}, field{key: attrScheme, text: &o.run.Scheme},
		field{key: attrSeed, bits: &o.run.Seed}, field{key: attrEpoch, number: &epoch}, field{key: attrSampled, text: &o.run.Sampled}, field{key: attrBin, number: &o.run.Bin},
		field{key: attrNode, text: &o.node}, field{key: attrService, text: &o.service}, field{key: attrInstance, text: &instance})
	o.more = slices.DeleteFunc(more, func(a *commonpb.KeyValue) bool {
		return slices.ContainsFunc(known, func(prefix string) bool { return strings.HasPrefix(a.GetKey(), prefix) })
	})
	o.node = cmp.Or(o.node, instance, o.service)
	o.run.Run = cmp.Or(o.run.Run, store.Foreign)
	o.run.Epoch = e.of(o.run.Run, func() int64 {
		if epoch != 0 {
			return epoch
		}
		return wholeSecond(first)
	})
	return o
}

// splitter splits the telemetry of a resource: the first of its deliveries has the items
// within the times of their run, and a second one, if necessary, all others.
type splitter struct {
	epochs     *epochs
	origin     origin
	deliveries []*store.Delivery
}

// splitter returns a splitter for a resource. first is as for origin.
func (e *epochs) splitter(r *resourcepb.Resource, first uint64) *splitter {
	o := e.origin(r, first)
	return &splitter{epochs: e, origin: o, deliveries: []*store.Delivery{{Run: o.run}}}
}

// deliveryAt returns the delivery whose run covers the instant, and the instant on that
// run's clock. It reports false if no run covers it.
func (s *splitter) deliveryAt(nano uint64) (*store.Delivery, int64, bool) {
	d := s.deliveries[0]
	if at, ok := instant(&d.Run, nano); ok || d.Run.Run == store.Foreign {
		return d, at, ok
	}
	if len(s.deliveries) == 1 {
		s.deliveries = append(s.deliveries, &store.Delivery{Run: s.epochs.foreign(nano)})
	}
	d = s.deliveries[1]
	at, ok := instant(&d.Run, nano)
	return d, at, ok
}
