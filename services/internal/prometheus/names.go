package prometheus

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/collector/store"
	"github.com/rackfab/rackfab/services/internal/telemetry"
)

// binMetric has the length of the bins of a run, for sums of bins that become rates. Its
// label step is the length on Prometheus' clock.
const binMetric = "rackfab_bin_ps"

// endings maps units of metrics to the ends of names.
var endings = map[string]string{"By": "_bytes", "bit/s": "_bits_per_second", "ps": "_ps"}

var invalid = regexp.MustCompile(`[^a-zA-Z0-9_]`)

// nameOf returns the name of a metric: rackfab.port.queue in By is
// rackfab_port_queue_bytes.
func nameOf(metric, unit string) string { return invalid.ReplaceAllString(metric, "_") + endings[unit] }

// labelOf returns the name of a label for an attribute.
func labelOf(key string) string {
	return invalid.ReplaceAllString(strings.TrimPrefix(key, "rackfab."), "_")
}

// described is a metric of the fabric.
type described struct{ name, meaning string }

// catalogue lists the metrics of the fabric.
func catalogue() []described {
	list := []described{{binMetric, "length of a bin; label step: on this clock"}}
	for _, m := range telemetry.Metrics {
		how := map[telemetry.MetricKind]string{
			telemetry.Level: "value at the end of the bin", telemetry.Peak: "maximum in the bin", telemetry.Count: "amount in the bin",
		}
		list = append(list, described{nameOf(m.Name, m.Unit), m.Meaning + " (" + how[m.Kind] + ")"})
	}
	return list
}

// kindOf returns the kind of a metric, or false if it is none of the fabric.
func kindOf(metric string) (telemetry.MetricKind, bool) {
	for _, m := range telemetry.Metrics {
		if m.Name == metric {
			return m.Kind, true
		}
	}
	return 0, false
}

// labelsOf returns the labels of a series of a run.
func labelsOf(r *rackfabv1.CollectedRun, s *rackfabv1.Series) labels.Labels {
	b := labels.NewScratchBuilder(12)
	add := func(name, value string) {
		if value != "" {
			b.Add(name, value)
		}
	}
	addRun(add, r)
	add(model.MetricNameLabel, nameOf(s.GetMetric(), s.GetUnit()))
	add("node", s.GetNode())
	if s.Port != nil {
		add("port", strconv.Itoa(int(s.GetPort())))
	}
	add("peer", s.GetPeer())
	add("flow", s.GetFlow())
	add("direction", s.GetDirection())
	for _, a := range s.GetAttributes() {
		add(labelOf(a.GetKey()), store.AttributeText(a))
	}
	b.Sort()
	return b.Labels()
}

// binLabels returns the labels of the series binMetric of a run.
func binLabels(r *rackfabv1.CollectedRun) labels.Labels {
	b := labels.NewScratchBuilder(6)
	addRun(b.Add, r)
	b.Add(model.MetricNameLabel, binMetric)
	b.Add("step", strconv.FormatFloat(float64(r.GetBinPs())/float64(unit.Microsecond), 'f', -1, 64)+"s")
	b.Sort()
	return b.Labels()
}

func addRun(add func(name, value string), r *rackfabv1.CollectedRun) {
	add("run", r.GetRun())
	add("scenario", r.GetScenario())
	add("scheme", r.GetScheme())
	add("seed", strconv.FormatUint(r.GetUnsignedSeed(), 10))
}
