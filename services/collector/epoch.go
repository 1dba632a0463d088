package collector

import (
	"math"
	"sync"
	"time"

	"github.com/rackfab/rackfab/services/collector/store"
)

// maxInstant is the maximum distance of an instant from the epoch of its run, in ns: 100
// days.
const maxInstant = 100 * 24 * 3600 * 1_000_000_000

// maxEpochs is the number of runs in one generation of cached epochs.
const maxEpochs = 1024

// epochs maps runs to their epochs: the wall-clock time of instant 0. It knows the runs
// in the store, and at least the maxEpochs runs used most recently, which may not be on
// disk yet. It is safe for concurrent use.
type epochs struct {
	stored func(run string) (int64, bool) // returns the epoch of a stored run

	mu          sync.Mutex
	now, before map[string]int64 // two generations; the older one is discarded when the newer one is full
}

func newEpochs(s *store.Store) *epochs { return &epochs{stored: s.Epoch, now: map[string]int64{}} }

// of returns the epoch of a run in ns since 1970. For an unknown run it calls epoch and
// remembers the result.
func (e *epochs) of(run string, epoch func() int64) int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	at, ok := e.now[run]
	if ok {
		return at
	}
	if at, ok = e.before[run]; !ok {
		if at, ok = e.stored(run); !ok {
			at = epoch()
		}
	}
	if len(e.now) >= maxEpochs {
		e.before, e.now = e.now, map[string]int64{}
	}
	e.now[run] = at
	return at
}

// foreign returns the run for data whose time lies outside that of its own run.
func (e *epochs) foreign(first uint64) store.RunInfo {
	return store.RunInfo{Run: store.Foreign, Epoch: e.of(store.Foreign, func() int64 { return wholeSecond(first) })}
}

// wholeSecond rounds an instant down to a whole second, both in ns since 1970. It
// returns the present second if nano is 0 or out of range.
func wholeSecond(nano uint64) int64 {
	if nano == 0 || nano > math.MaxInt64 {
		return time.Now().Unix() * 1e9
	}
	return int64(nano) / 1e9 * 1e9
}

// instant converts ns since 1970 to the clock of a run, in ps. It reports false if the
// result is out of range.
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
