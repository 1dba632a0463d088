//go:build !linux

package main

// threadSeconds is 0: the system does not tell the time of a thread.
func threadSeconds() float64 { return 0 }
