//go:build unix

package runner

import (
	"syscall"
	"time"
)

// CPUTime returns the CPU time of this process so far, user and system; 0 if the system does not report it.
func CPUTime() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
