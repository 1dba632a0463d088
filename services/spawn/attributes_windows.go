package spawn

import "syscall"

// attributes puts a child into a process group of its own, so that Ctrl-C at the
// console reaches only the launcher. Windows cannot end a child with its launcher: a
// child detects the end of the launcher by its standard input (Child).
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
