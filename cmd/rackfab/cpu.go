package main

import (
	"syscall"
	"time"
)

// cpuSeconds is the processor time that this process has used, 0 where the
// system does not tell.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}
