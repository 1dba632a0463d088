//go:build !linux

package engine

// threadSeconds returns 0: this system does not report the CPU time of a thread.
func threadSeconds() float64 { return 0 }
