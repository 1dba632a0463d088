package collector

import (
	"strings"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"

	"github.com/rackfab/rackfab/services/collector/store"
)

// Attributes that nodes put on what they tell.
const (
	prefix        = "rackfab."
	attrRun       = "rackfab.run"
	attrScenario  = "rackfab.scenario"
	attrScheme    = "rackfab.scheme"
	attrSeed      = "rackfab.seed"
	attrEpoch     = "rackfab.epoch_unix_nano"
	attrSampled   = "rackfab.sampled"
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

// origin is who tells something: what the attributes of a resource say.
type origin struct {
	run           store.RunInfo
	node, service string
	more          []*commonpb.KeyValue // that a span does not have by itself
}

// origin reads a resource. first is an instant of what it tells, in ns since 1970, 0 if
// nothing has one.
func (e *epochs) origin(r *resourcepb.Resource, first uint64) origin {
	var o origin
	instance, epoch := "", int64(0)
	for _, a := range r.GetAttributes() {
		v := a.GetValue()
		switch key := a.GetKey(); key {
		case attrRun:
			o.run.Run = v.GetStringValue()
		case attrScenario:
			o.run.Scenario = v.GetStringValue()
		case attrScheme:
			o.run.Scheme = v.GetStringValue()
		case attrSeed:
			o.run.Seed = v.GetIntValue()
		case attrSampled:
			o.run.Sampled = v.GetStringValue()
		case attrEpoch:
			epoch = v.GetIntValue()
		case attrNode:
			o.node = v.GetStringValue()
		case attrService:
			o.service = v.GetStringValue()
		case attrInstance:
			instance = v.GetStringValue()
		default:
			if !strings.HasPrefix(key, prefix) && !strings.HasPrefix(key, "service.") && !strings.HasPrefix(key, "telemetry.") {
				o.more = append(o.more, a)
			}
		}
	}
	for _, name := range []string{instance, o.service} {
		if o.node == "" {
			o.node = name
		}
	}
	if o.run.Run == "" {
		o.run.Run = store.Foreign
	}
	o.run.Epoch = e.of(o.run.Run, func() int64 {
		if epoch != 0 {
			return epoch
		}
		return wholeSecond(first)
	})
	return o
}

// teller is a resource and what it tells of its run, and apart from that what lies outside the
// times of the run.
type teller struct {
	epochs     *epochs
	origin     origin
	own, other *store.Delivery // other is nil if there is nothing of that kind
}

// teller begins with a resource; first is as of origin.
func (e *epochs) teller(r *resourcepb.Resource, first uint64) *teller {
	o := e.origin(r, first)
	return &teller{epochs: e, origin: o, own: &store.Delivery{Run: o.run}}
}

// place gives the delivery whose run has the instant, and the instant in it; false if
// none has.
func (t *teller) place(nano uint64) (*store.Delivery, int64, bool) {
	if at, ok := instant(&t.own.Run, nano); ok || t.own.Run.Run == store.Foreign {
		return t.own, at, ok
	}
	if t.other == nil {
		t.other = &store.Delivery{Run: t.epochs.foreign(nano)}
	}
	at, ok := instant(&t.other.Run, nano)
	return t.other, at, ok
}

func (t *teller) deliveries() []*store.Delivery {
	if t.other == nil {
		return []*store.Delivery{t.own}
	}
	return []*store.Delivery{t.own, t.other}
}
