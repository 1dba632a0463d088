//go:build unix && !linux

package spawn

import "syscall"

// attributes puts a child into a process group of its own, so that Ctrl-C at the
// terminal reaches only the launcher. On these systems, a child detects the end of
// the launcher by its standard input (Child).
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
