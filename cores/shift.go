package cores

import (
	"runtime"
	"sync/atomic"

	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/unit"
)

// shift is the work of several cores on a lab up to an instant, window by window. There
// are more groups than cores, so that a core that is done early takes over groups of the
// others, as the work of a group differs from window to window.
type shift struct {
	lab     *lab.Lab
	cores   int
	end     unit.Time
	barrier *barrier
	taken   []atomic.Int64 // number of the last window in which a core took each group
	last    atomic.Int64   // number of the window in which no work was left
}

// newShift returns the work on n cores after Lab.Begin.
func newShift(l *lab.Lab, n int, end unit.Time) *shift {
	return &shift{lab: l, cores: n, end: end, barrier: newBarrier(n, runtime.GOMAXPROCS(0)), taken: make([]atomic.Int64, l.Groups())}
}

// work runs groups on one core until all windows are over. A core begins with its own
// groups, in order, and then takes those of the others from the last one down, so that
// it meets their cores late.
func (s *shift) work(core int) {
	all := len(s.taken)
	first, next := core*all/s.cores, (core+1)*all/s.cores
	for window := int64(1); ; window++ {
		for g := first; g < next; g++ {
			s.take(g, window)
		}
		for i := range all - (next - first) {
			s.take((first-1-i+all)%all, window)
		}
		s.barrier.wait()
		if s.last.Load() == window { // and not of the next one, which other cores may be in
			return
		}
	}
}

// take runs a group in a window unless another core has taken it.
func (s *shift) take(group int, window int64) {
	if s.taken[group].CompareAndSwap(window-1, window) && !s.lab.Window(group, s.end) {
		s.last.Store(window)
	}
}
