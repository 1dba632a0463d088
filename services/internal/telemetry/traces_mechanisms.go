package telemetry

import (
	"fmt"

	"go.opentelemetry.io/otel/attribute"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/tracing"
)

// mechanisms maps the events of congestion control, credit and token mechanisms to their
// names. Marks, pauses and rate changes are not among them.
var mechanisms = map[fabric.Kind]string{
	fabric.EventCounted:    "count",
	fabric.LevelChanged:    "level",
	fabric.Rewritten:       "rewrite",
	fabric.Indicated:       "indicate",
	fabric.IndicationIn:    "indication",
	fabric.CongestionIn:    "congestion-information",
	fabric.CreditGranted:   "credit",
	fabric.ExcessSignalled: "excess",
	fabric.PassedOver:      "passed-over",
	fabric.TokensAwaited:   "tokens-awaited",
}

// mechanismAttributes returns the attributes of an event of a mechanism.
func mechanismAttributes(e *tracing.Event) []attribute.KeyValue {
	switch e.Kind {
	case fabric.EventCounted:
		return []attribute.KeyValue{attribute.Int64("rackfab.queue_bytes", int64(e.Queue()))}
	case fabric.LevelChanged:
		return []attribute.KeyValue{attribute.Int("rackfab.level.new", e.Level()), attribute.Int("rackfab.level.old", e.OldLevel())}
	case fabric.Rewritten:
		return []attribute.KeyValue{attribute.Int64("rackfab.increment_ps", int64(e.Duration())), attribute.Int("rackfab.level", e.Level())}
	case fabric.Indicated, fabric.IndicationIn:
		return []attribute.KeyValue{attribute.Bool("rackfab.congested", e.Congested()), attribute.String("rackfab.degree", cc.Degree(e.Degree()).String())}
	case fabric.CongestionIn:
		return pathAttributes(cc.FromWords(e.Encoded()))
	case fabric.CreditGranted:
		return []attribute.KeyValue{
			attribute.Int64("rackfab.credit.granted_bytes", e.Quanta()*int64(credit.Quantum)),
			attribute.Float64("rackfab.credit.coefficient", e.Coefficient()),
		}
	case fabric.ExcessSignalled:
		return []attribute.KeyValue{attribute.Int64("rackfab.credit.held_bytes", int64(e.Credit())), attribute.Int64("rackfab.psn", int64(e.PSN()))}
	case fabric.PassedOver, fabric.TokensAwaited:
		return []attribute.KeyValue{
			attribute.Int64("rackfab.response_bytes", int64(e.Response())), attribute.Int64("rackfab.tokens.in_bytes", int64(e.Tokens())),
			attribute.String("rackfab.reason", fmt.Sprintf("response of %s exceeds the IN tokens of %s", e.Response(), e.Tokens())),
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
