package collector

import (
	"math"
	"sync"
	"time"

	"github.com/rackfab/rackfab/services/collector/store"
)

// maxInstant is the largest distance from the epoch of a run, in ns: 100 days.
const maxInstant = 100 * 24 * 3600 * 1_000_000_000

// maxEpochs bounds the runs of a generation whose epochs are kept at hand.
const maxEpochs = 1024

// epochs knows where instant 0 of a run is put on the wall clock: of the runs that
// are held, and of at least the maxEpochs that were asked for last, which may still wait
// for the disk. Safe for concurrent use.
type epochs struct {
	held func(run string) (int64, bool) // what the store knows

	mu          sync.Mutex
	now, before map[string]int64 // two generations; the older one is forgotten when the younger one is full
}

func newEpochs(s *store.Store) *epochs { return &epochs{held: s.Epoch, now: map[string]int64{}} }

// of gives the epoch of a run in ns since 1970. The first that asks says what it
// is, unless it is known.
func (e *epochs) of(run string, epoch func() int64) int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	at, ok := e.now[run]
	if ok {
		return at
	}
	if at, ok = e.before[run]; !ok {
		if at, ok = e.held(run); !ok {
			at = epoch()
		}
	}
	if len(e.now) >= maxEpochs {
		e.before, e.now = e.now, map[string]int64{}
	}
	e.now[run] = at
	return at
}

// foreign gives the run of what lies outside the times of its own run.
func (e *epochs) foreign(first uint64) store.RunInfo {
	return store.RunInfo{Run: store.Foreign, Epoch: e.of(store.Foreign, func() int64 { return wholeSecond(first) })}
}

// wholeSecond gives the whole second that an instant lies in, both in ns since 1970;
// for an instant that nobody can have meant, the present one.
func wholeSecond(nano uint64) int64 {
	if nano == 0 || nano > math.MaxInt64 {
		return time.Now().Unix() * 1e9
	}
	return int64(nano) / 1e9 * 1e9
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
