package launch

import "syscall"

// attributes puts a child into a process group of its own, so that Ctrl-C at the
// terminal reaches only the launcher, and asks the kernel to kill the child when the
// launcher ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
