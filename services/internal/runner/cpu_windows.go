package runner

import (
	"syscall"
	"time"
)

// CPUTime returns the CPU time of this process so far, user and system; 0 if the system does not report it.
func CPUTime() time.Duration {
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		return 0
	}
	var created, ended, kernel, user syscall.Filetime
	if syscall.GetProcessTimes(self, &created, &ended, &kernel, &user) != nil {
		return 0
	}
	return span(kernel) + span(user)
}

// span returns a duration that Windows counts in units of 100 ns.
func span(f syscall.Filetime) time.Duration {
	return time.Duration(int64(f.HighDateTime)<<32|int64(f.LowDateTime)) * 100
}
