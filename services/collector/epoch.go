package collector

import (
	"math"
	"sync"

	"github.com/rackfab/rackfab/services/collector/store"
)

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
	for _, r := range s.Runs() {
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

// foreign gives the run of what lies outside the times of its own run.
func (e *epochs) foreign(first uint64) store.RunInfo {
	return store.RunInfo{Run: store.Foreign, Epoch: e.of(store.Foreign, func() int64 { return int64(first) / 1e9 * 1e9 })}
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
