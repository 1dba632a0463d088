// Package traces writes the messages of a run from a collector in the file formats of
// other programs: Chrome's trace events, which Perfetto opens, OTLP/JSON, and the JSON of
// Jaeger's user interface. It knows the answers of CollectorService, and not how to ask
// for them.
package traces

import (
	"encoding/json"
	"io"
	"math"
	"strconv"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/collector/store"
)

// The formats.
const (
	Chrome = "chrome"
	OTLP   = "otlp-json"
	Jaeger = "jaeger"
)

// Formats lists the formats.
var Formats = []string{Chrome, OTLP, Jaeger}

// Metrics whose series a file in the format Chrome shows beside the messages.
const (
	Paused = "rackfab.port.paused"
	Queue  = "rackfab.port.queue.max"
)

// Data is the content of a file.
type Data struct {
	Run      *rackfabv1.CollectedRun
	FromPs   int64 // the part of the run before it is not in the file
	Messages []*rackfabv1.GetTraceResponse
	Series   []*rackfabv1.Series // of Paused and Queue, every point; only Chrome uses them
}

// Write writes data in one of Formats.
func Write(w io.Writer, format string, d *Data) error {
	switch format {
	case Chrome:
		return d.writeChrome(w)
	case OTLP:
		return d.writeOTLP(w)
	default:
		return d.writeJaeger(w)
	}
}

// identity returns the attributes that describe the run, without those that are unknown.
func (d *Data) identity() (list []*rackfabv1.Attribute) {
	add := func(key, value string) {
		if value != "" {
			list = append(list, text(key, value))
		}
	}
	r := d.Run
	if r.GetRun() == store.Foreign {
		return nil // its data comes from programs that take part in no run
	}
	add("rackfab.run", r.GetRun())
	add("rackfab.scenario", r.GetScenario())
	add("rackfab.scheme", r.GetScheme())
	add("rackfab.sampled", r.GetSampled())
	seed := number("rackfab.seed", int64(r.GetUnsignedSeed()))
	if r.GetUnsignedSeed() > math.MaxInt64 {
		seed = text("rackfab.seed", strconv.FormatUint(r.GetUnsignedSeed(), 10)) // as OpenTelemetry maps it
	}
	return append(list, seed, number("rackfab.epoch_unix_nano", r.GetEpochUnixNano()))
}

// nano converts an instant of the run to ns since 1970, rounded down.
func (d *Data) nano(ps int64) int64 { return d.Run.GetEpochUnixNano() + floor(ps, 1000)/1000 }

// floor rounds down to a multiple of unit.
func floor(v, unit int64) int64 { return v - ((v%unit)+unit)%unit }

func text(key, value string) *rackfabv1.Attribute {
	return &rackfabv1.Attribute{Key: key, Value: &rackfabv1.Attribute_Text{Text: value}}
}

func number(key string, value int64) *rackfabv1.Attribute {
	return &rackfabv1.Attribute{Key: key, Value: &rackfabv1.Attribute_Number{Number: value}}
}

// mostExact is the largest integer that a browser reads exactly.
const mostExact = 1 << 53

// typed returns the value of an attribute and the name of its type in Jaeger. A number that a browser
// would round is text.
func typed(a *rackfabv1.Attribute) (value any, kind string) {
	switch v := a.GetValue().(type) {
	case *rackfabv1.Attribute_Number:
		if max(v.Number, -v.Number) > mostExact {
			return strconv.FormatInt(v.Number, 10), "string"
		}
		return v.Number, "int64"
	case *rackfabv1.Attribute_Real:
		return v.Real, "float64"
	case *rackfabv1.Attribute_Flag:
		return v.Flag, "bool"
	default:
		return a.GetText(), "string"
	}
}

// encoder returns an encoder that leaves names of links, such as x->y, as they are.
func encoder(w io.Writer) *json.Encoder {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e
}
