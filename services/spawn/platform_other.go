//go:build !linux

package spawn

// BusEnv returns nil: only Linux was measured.
func BusEnv() []string { return nil }

// NodeEnv returns nil: only Linux was measured.
func NodeEnv(int) []string { return nil }
