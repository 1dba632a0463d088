package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/rackfab/rackfab/e2e/slowtest"
)

// long is the duration of a run that lasts well beyond its first line of progress.
const long = "20ms"

// child is a process started by the program.
type child struct {
	args []string
	fd   int // pidfd: it becomes readable when the process ends
	pid  int
}

// children returns the processes whose parent is pid.
func children(t *testing.T, pid int) (list []child) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // the process has ended
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if fields[1] != strconv.Itoa(pid) {
			continue
		}
		id, _ := strconv.Atoi(strings.Split(path, "/")[2])
		cmdline, _ := os.ReadFile(filepath.Dir(path) + "/cmdline")
		fd, err := unix.PidfdOpen(id, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Close(fd) })
		list = append(list, child{strings.Split(strings.Trim(string(cmdline), "\x00"), "\x00"), fd, id})
	}
	return list
}

// find returns the child whose command line contains word.
func find(t *testing.T, list []child, word string) child {
	t.Helper()
	for _, c := range list {
		for _, a := range c.args[1:] {
			if a == word {
				return c
			}
		}
	}
	t.Fatalf("no process %q among %d", word, len(list))
	return child{}
}

// awaitExit waits until every child has ended. It fails the test if a child does not end
// within a minute.
func awaitExit(t *testing.T, list []child) {
	t.Helper()
	for _, c := range list {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLIN}}, 60_000)
		if err != nil || n == 0 {
			t.Errorf("process %d did not end: %v (%v)", c.pid, c.args[1:], err)
		}
	}
}

// The bus, the controller and each of the 20 nodes have a process of their own.
func TestEveryNodeRunsInItsOwnProcess(t *testing.T) {
	r := start(t, "--bus", "nats", "--scheme", "pcn", "--duration", long)
	r.underWay(t)
	list := children(t, r.Process.Pid)
	if len(list) != 22 {
		t.Errorf("%d processes, want 22", len(list))
	}
	for i := range 16 {
		find(t, list, fmt.Sprintf("h%d", i))
	}
	out := r.results(t)
	awaitExit(t, list)
	for _, n := range out.Runs[0].Nodes {
		// All 22 processes share the program's pages in memory. A node's own pages are
		// the cost of one more node.
		own := n.MaxRSS - n.Program
		t.Logf("%s: %.1f MiB resident, %.1f of them its own", n.Name, float64(n.MaxRSS)/(1<<20), float64(own)/(1<<20))
		if n.Program == 0 || own > 24<<20 || n.MaxRSS > 64<<20 {
			t.Errorf("%s: %d MiB of its own, %d MiB resident; want at most 24 and 64", n.Name, own>>20, n.MaxRSS>>20)
		}
	}
}

func TestRunSurvivesABusRestart(t *testing.T) {
	want := start(t, "--bus", "memory", "--scheme", "pcn", "--duration", long).results(t)
	r := start(t, "--bus", "nats", "--scheme", "pcn", "--duration", long)
	r.underWay(t)
	bus := find(t, children(t, r.Process.Pid), "bus")
	if err := syscall.Kill(bus.pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(digests(want), digests(r.results(t))); diff != "" {
		t.Fatalf("digests differ after a bus restart:\n%s", diff)
	}
}

// Without recovery, a killed node ends the run with an error that names it.
func TestRunNamesAKilledNode(t *testing.T) {
	r := start(t, "--bus", "nats", "--scheme", "pfc", "--duration", long, "--recover", "0")
	r.underWay(t)
	list := children(t, r.Process.Pid)
	if err := syscall.Kill(find(t, list, "h5").pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	log, err := r.end()
	if err == nil || !strings.Contains(log, "h5") || !strings.Contains(log, "killed") {
		t.Errorf("h5 was killed, and the run ended with %v:\n%s", err, log)
	}
	awaitExit(t, list)
}

// Ctrl-C ends a run with a plain message and the exit status that a shell expects.
func TestInterruptLeavesNoProcesses(t *testing.T) {
	for _, kind := range []string{"nats", "memory"} {
		t.Run(kind, func(t *testing.T) {
			r := start(t, "--bus", kind, "--scheme", "pfc", "--duration", "200ms")
			r.underWay(t)
			list := children(t, r.Process.Pid)
			if err := r.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			log, _ := r.end()
			if code := r.ProcessState.ExitCode(); code != 130 || !strings.HasSuffix(log, "\nrackfab: interrupted\n") || strings.Contains(log, "context") {
				t.Errorf("exit status %d:\n%s", code, log)
			}
			awaitExit(t, list)
		})
	}
}

// A stopped node process still exists but is silent. If it stays so, the run fails with the
// node's name, and the process ends with the others.
func TestRunNamesAFrozenNode(t *testing.T) {
	slowtest.Skip(t, "waits until a frozen node is noticed")
	r := start(t, "--bus", "nats", "--scheme", "pfc", "--duration", "200ms", "--recover", "1s")
	r.underWay(t)
	list := children(t, r.Process.Pid)
	if err := syscall.Kill(find(t, list, "h5").pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if log, err := r.end(); err == nil || !strings.Contains(log, "node h5: silent for more than 5s") {
		t.Errorf("h5 was frozen, and the run ended with %v:\n%s", err, log)
	}
	awaitExit(t, list)
}

// A bus that hangs permanently ends a run that does not recover, with an error that says what
// the processes wait for.
func TestRunNamesAFrozenBus(t *testing.T) {
	slowtest.Skip(t, "waits until a frozen bus is noticed")
	r := start(t, "--bus", "nats", "--scheme", "pfc", "--duration", "200ms", "--recover", "0")
	r.underWay(t)
	list := children(t, r.Process.Pid)
	if err := syscall.Kill(find(t, list, "bus").pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	log, err := r.end()
	if err == nil || !strings.Contains(log, "no progress for 10s: bus unreachable") && !strings.Contains(log, " waits for ") {
		t.Errorf("the bus was frozen, and the run ended with %v:\n%s", err, log)
	}
	awaitExit(t, list)
}

func TestCrashLeavesNoProcesses(t *testing.T) {
	r := start(t, "--bus", "nats", "--scheme", "pfc", "--duration", long)
	r.underWay(t)
	list := children(t, r.Process.Pid)
	if err := r.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.end(); err == nil {
		t.Error("a killed run ended without error")
	}
	awaitExit(t, list)
}
