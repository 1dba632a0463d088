//go:build !linux

package cores

// ThreadSeconds returns 0: this system does not report the CPU time of a thread.
func ThreadSeconds() float64 { return 0 }
