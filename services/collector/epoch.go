package collector

import (
	"math"
	"strings"
	"sync"

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

// foreign is the run of data that names none, or whose times are not its run's: of
// clients that are no nodes, on wall time.
const foreign = "default"

// maxInstant is the largest distance from the epoch of a run, in ns: 100 days.
const maxInstant = 100 * 24 * 3600 * 1_000_000_000

// epochs knows where instant 0 of each run is put on the wall clock. Safe for
// concurrent use.
type epochs struct {
	mu  sync.Mutex
	all map[string]int64
}

// newEpochs begins with those of the runs that are held.
func newEpochs(s *store.Store) *epochs {
	e := &epochs{all: map[string]int64{}}
	runs, err := s.Runs()
	if err != nil {
		return e
	}
	for _, r := range runs {
		e.all[r.GetRun()] = r.GetEpochUnixNano()
	}
	return e
}

// of gives the epoch of a run in ns since 1970. The first that asks says what it
// is, unless it is known.
func (e *epochs) of(run string, epoch func() int64) int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	at, ok := e.all[run]
	if !ok {
		at = epoch()
		e.all[run] = at
	}
	return at
}

// origin is who tells something: what the attributes of a resource say.
type origin struct {
	run           store.RunInfo
	node, service string
	more          []*commonpb.KeyValue // that a span does not have by itself
}

// origin reads a resource. first is an instant of what it tells, in ns since 1970.
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
		o.run.Run = foreign
	}
	o.run.Epoch = e.of(o.run.Run, func() int64 {
		if epoch != 0 {
			return epoch
		}
		return int64(first) / 1e9 * 1e9
	})
	return o
}

// foreign gives the run of what lies outside the times of its own run.
func (e *epochs) foreign(first uint64) store.RunInfo {
	return store.RunInfo{Run: foreign, Epoch: e.of(foreign, func() int64 { return int64(first) / 1e9 * 1e9 })}
}

// instant puts ns since 1970 on the clock of a run, in ps; false if it is out of range.
func instant(run *store.RunInfo, nano uint64) (int64, bool) {
	if nano > math.MaxInt64 {
		return 0, false
	}
	since := int64(nano) - run.Epoch
	if since > maxInstant || since < -maxInstant {
		return 0, false
	}
	return since * 1000, true
}
