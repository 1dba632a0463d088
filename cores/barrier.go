package cores

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// patience is how long a core looks for the others before it sleeps: more than a window
	// of a small rack. Waking a core of a virtual machine takes 30 to 100 us.
	patience = 200 * time.Microsecond
	// looks is how often a core looks between two looks at the clock.
	looks = 1000
)

// barrier makes cores wait for each other.
type barrier struct {
	parties  int32
	patience time.Duration
	arrived  atomic.Int32
	phase    atomic.Uint32
	mu       sync.Mutex // held when phase changes, so that no sleeper misses it
	changed  *sync.Cond
}

// newBarrier returns a barrier for n goroutines on the given number of processors. They
// do not spin if there are more of them than processors.
func newBarrier(n, processors int) *barrier {
	b := &barrier{parties: int32(n), patience: patience}
	if n > processors {
		b.patience = 0
	}
	b.changed = sync.NewCond(&b.mu)
	return b
}

// wait returns when all have called it.
func (b *barrier) wait() {
	phase := b.phase.Load()
	if b.arrived.Add(1) == b.parties {
		b.arrived.Store(0)
		b.mu.Lock()
		b.phase.Add(1)
		b.mu.Unlock()
		b.changed.Broadcast()
		return
	}
	if b.spin(phase) {
		return
	}
	b.mu.Lock()
	for b.phase.Load() == phase {
		b.changed.Wait()
	}
	b.mu.Unlock()
}

// spin looks for the end of a phase, and reports whether it has seen it.
func (b *barrier) spin(phase uint32) bool {
	for start := time.Now(); time.Since(start) < b.patience; {
		for range looks {
			if b.phase.Load() != phase {
				return true
			}
		}
	}
	return false
}
