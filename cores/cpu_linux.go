package cores

import (
	"time"

	"golang.org/x/sys/unix"
)

// ThreadSeconds returns the CPU time of the calling thread in seconds. Unlike getrusage,
// it includes the time since the last tick of the kernel.
func ThreadSeconds() float64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano()).Seconds()
}
