package telemetry

import (
	"fmt"

	"go.opentelemetry.io/otel/attribute"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/tracing"
	"github.com/rackfab/rackfab/fabric/unit"
)

// mechanisms maps the events of congestion control, credit and token mechanisms to their
// names. Marks, pauses and rate changes are not among them.
var mechanisms = map[fabric.Kind]string{
	fabric.EventCounted:    "count",
	fabric.LevelChanged:    "level",
	fabric.Rewritten:       "rewrite",
	fabric.Indicated:       "indicate",
	fabric.IndicationIn:    "indication",
	fabric.PathTold:        "congestion-information",
	fabric.CreditGranted:   "credit",
	fabric.ExcessSignalled: "excess",
	fabric.PassedOver:      "passed-over",
	fabric.TokensAwaited:   "tokens-awaited",
}

// mechanismAttributes returns the attributes of an event of a mechanism.
func mechanismAttributes(e *tracing.Event) []attribute.KeyValue {
	switch e.Kind {
	case fabric.EventCounted:
		return []attribute.KeyValue{attribute.Int64("rackfab.queue_bytes", e.A)}
	case fabric.LevelChanged:
		return []attribute.KeyValue{attribute.Int64("rackfab.level.new", e.A), attribute.Int64("rackfab.level.old", e.B)}
	case fabric.Rewritten:
		return []attribute.KeyValue{attribute.Int64("rackfab.increment_ps", e.A), attribute.Int64("rackfab.level", e.B)}
	case fabric.Indicated, fabric.IndicationIn:
		return []attribute.KeyValue{attribute.Bool("rackfab.congested", e.A == 1), attribute.String("rackfab.degree", cc.Degree(e.B).String())}
	case fabric.PathTold:
		return pathAttributes(cc.FromWords(e.A, e.B))
	case fabric.CreditGranted:
		return []attribute.KeyValue{
			attribute.Int64("rackfab.credit.granted_bytes", e.A*int64(credit.Quantum)),
			attribute.Float64("rackfab.credit.coefficient", float64(e.B)/1000),
		}
	case fabric.ExcessSignalled:
		return []attribute.KeyValue{attribute.Int64("rackfab.credit.held_bytes", e.A), attribute.Int64("rackfab.psn", e.B)}
	case fabric.PassedOver, fabric.TokensAwaited:
		return []attribute.KeyValue{
			attribute.Int64("rackfab.response_bytes", e.A), attribute.Int64("rackfab.tokens.in_bytes", e.B),
			attribute.String("rackfab.reason", fmt.Sprintf("response of %s exceeds the IN tokens of %s", unit.Bytes(e.A), unit.Bytes(e.B))),
		}
	default:
		return nil
	}
}

// pathAttributes returns the known items of congestion information as attributes.
func pathAttributes(path cc.Congestion) (list []attribute.KeyValue) {
	if path.Known&cc.ItemDegree != 0 {
		list = append(list, attribute.String("rackfab.degree", path.Degree.String()))
	}
	if path.Known&cc.ItemLocation != 0 {
		list = append(list, attribute.String("rackfab.location", fmt.Sprintf("switch %d port %d", path.Location>>8, path.Location&0xff)))
	}
	if path.Known&cc.ItemDepth != 0 {
		list = append(list, attribute.Int64("rackfab.depth_bytes", int64(path.Depth)))
	}
	if path.Known&cc.ItemDelay != 0 {
		list = append(list, attribute.Int64("rackfab.delay_ps", int64(path.Delay)))
	}
	return list
}
