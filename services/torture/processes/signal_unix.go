//go:build unix

package processes

import "syscall"

// supported reports whether the system can stop a process.
const supported = true

// The signals that stop and continue a process.
const (
	stop = syscall.SIGSTOP
	cont = syscall.SIGCONT
)
