package spawn

import (
	"os"
	"runtime"
	"strings"
	"syscall"
)

// attributes puts a child into a process group of its own, so that Ctrl-C at the
// terminal reaches only the launcher, and asks the kernel to kill the child when the
// launcher ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// runtimeVariable is the environment variable that turns BusEnv off if its value is
// "plain", and makes connections to the bus spin if it is "spin" (docs/adr/009).
const runtimeVariable = "RACKFAB_RUNTIME"

// schedtrace is a setting of the Go runtime for a process that alternates between sleep
// and system calls for every message. While a scheduler trace is pending, here after the
// longest possible interval, 24 days, the runtime's monitor thread polls, instead of
// being stopped and woken up around every message.
const schedtrace = "schedtrace=2147483647"

// BusEnv returns the environment of the bus in addition to the launcher's own. It is
// empty if the user has set schedtrace.
func BusEnv() []string {
	debug := os.Getenv("GODEBUG")
	if os.Getenv(runtimeVariable) == "plain" || strings.Contains(debug, "schedtrace=") {
		return nil
	}
	return []string{"GODEBUG=" + strings.TrimPrefix(debug+","+schedtrace, ",")}
}

// NodeEnv returns the environment of a rack's nodes in that many processes, in addition to
// the launcher's own. They spin while they wait for the bus if each may have a processor.
// It is empty if the user has set the variable.
func NodeEnv(processes int) []string {
	if os.Getenv(runtimeVariable) != "" || processes > runtime.GOMAXPROCS(0) {
		return nil
	}
	return []string{runtimeVariable + "=spin"}
}
