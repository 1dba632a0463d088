package engine

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadSeconds returns the CPU time of the calling thread in seconds.
func threadSeconds() float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}
