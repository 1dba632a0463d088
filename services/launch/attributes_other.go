//go:build !linux

package launch

import "syscall"

// attributes puts a child into a process group of its own, so that Ctrl-C at the
// terminal reaches only the launcher. That the launcher is gone a child learns
// from its standard input here (Child).
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
