package telemetry

import (
	"fmt"

	"go.opentelemetry.io/otel/attribute"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/tracing"
)

type attributeList = []attribute.KeyValue

// number returns an attribute with an integer value.
func number[N ~int | ~int64 | ~uint32](key string, v N) attribute.KeyValue {
	return attribute.Int64(key, int64(v))
}

// eventTypes describes the events of spans by kind: their names and attributes.
var eventTypes = map[fabric.Kind]struct {
	name  string
	about func(fabric.Event) attributeList
}{
	fabric.Marked: {"mark", func(e fabric.Event) attributeList {
		return attributeList{number("rackfab.queue_bytes", e.Queue()), number("rackfab.psn", e.PSN())}
	}},
	fabric.Paused:  {"pause", func(fabric.Event) attributeList { return nil }},
	fabric.Resumed: {"resume", func(e fabric.Event) attributeList { return attributeList{number("rackfab.paused_ps", e.Duration())} }},
	fabric.RateChanged: {"rate", func(e fabric.Event) attributeList {
		return attributeList{number("rackfab.rate.new", e.Rate()), number("rackfab.rate.old", e.OldRate())}
	}},
	fabric.Retransmitted: {"retransmit", func(e fabric.Event) attributeList {
		return attributeList{number("rackfab.psn", e.PSN()), number("rackfab.frames", e.Packets())}
	}},
	fabric.TimedOut: {"timeout", func(e fabric.Event) attributeList { return attributeList{number("rackfab.psn", e.PSN())} }},
	fabric.Dropped: {"drop", func(e fabric.Event) attributeList {
		return attributeList{number("rackfab.bytes", e.Bytes()), attribute.Stringer("rackfab.reason", e.Reason())}
	}},
	fabric.Trimmed: {"trim", func(e fabric.Event) attributeList {
		return attributeList{number("rackfab.bytes", e.Bytes()), number("rackfab.cut_bytes", e.Cut())}
	}},
	fabric.EventCounted: {"count", func(e fabric.Event) attributeList { return attributeList{number("rackfab.queue_bytes", e.Queue())} }},
	fabric.LevelChanged: {"level", func(e fabric.Event) attributeList {
		return attributeList{number("rackfab.level.new", e.Level()), number("rackfab.level.old", e.OldLevel())}
	}},
	fabric.Rewritten: {"rewrite", func(e fabric.Event) attributeList {
		return attributeList{number("rackfab.increment_ps", e.Duration()), number("rackfab.level", e.Level())}
	}},
	fabric.Indicated:    {"indicate", indication},
	fabric.IndicationIn: {"indication", indication},
	fabric.CongestionIn: {"congestion-information", congestion},
	fabric.CreditGranted: {"credit", func(e fabric.Event) attributeList {
		return attributeList{
			number("rackfab.credit.granted_bytes", e.Quanta()*int64(credit.Quantum)), attribute.Float64("rackfab.credit.coefficient", e.Coefficient()),
		}
	}},
	fabric.ExcessSignalled: {"excess", func(e fabric.Event) attributeList {
		return attributeList{number("rackfab.credit.held_bytes", e.Credit()), number("rackfab.psn", e.PSN())}
	}},
	fabric.PassedOver:    {"passed-over", excess},
	fabric.TokensAwaited: {"tokens-awaited", excess},
}

// event returns the name and the attributes of an event.
func event(e *tracing.Event) (name string, about attributeList) {
	about = attributeList{number("rackfab.at_ps", e.At)}
	if e.Times > 1 {
		about = append(about, number("rackfab.times", e.Times), number("rackfab.last_ps", e.Last))
	}
	if t, ok := eventTypes[e.Kind]; ok {
		return t.name, append(about, t.about(e.Event)...)
	}
	a, b := e.Encoded()
	return e.Kind.String(), append(about, number("rackfab.a", a), number("rackfab.b", b))
}

func indication(e fabric.Event) attributeList {
	return attributeList{attribute.Bool("rackfab.congested", e.Congested()), attribute.Stringer("rackfab.degree", cc.Degree(e.Degree()))}
}

func excess(e fabric.Event) attributeList {
	return attributeList{
		number("rackfab.response_bytes", e.Response()), number("rackfab.room_bytes", e.Room()),
		attribute.String("rackfab.reason", fmt.Sprintf("response of %s exceeds the %s: %s", e.Response(), e.Bound(), e.Room())),
	}
}

// congestion returns the known items of congestion information.
func congestion(e fabric.Event) (list attributeList) {
	path := cc.FromWords(e.Encoded())
	if path.Known&cc.ItemDegree != 0 {
		list = append(list, attribute.Stringer("rackfab.degree", path.Degree))
	}
	if path.Known&cc.ItemLocation != 0 {
		list = append(list, attribute.String("rackfab.location", fmt.Sprintf("switch %d port %d", path.Location>>8, path.Location&0xff)))
	}
	if path.Known&cc.ItemDepth != 0 {
		list = append(list, number("rackfab.depth_bytes", path.Depth))
	}
	if path.Known&cc.ItemDelay != 0 {
		list = append(list, number("rackfab.delay_ps", path.Delay))
	}
	return list
}
