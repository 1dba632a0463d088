package launch

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// When a launcher is killed, all of its children end, even one that ignores stop.
func TestKilledLauncherLeavesNoChild(t *testing.T) {
	launcher := exec.Command(os.Args[0], "launcher")
	launcher.Env = append(os.Environ(), childEnv...)
	launcher.Stderr = os.Stderr
	output, err := launcher.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := launcher.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	children := watch(t, strings.Fields(line))
	if len(children) != 6 { // bus, controller, three nodes, and the one that ignores stop
		t.Fatalf("launched %d processes", len(children))
	}
	if err := launcher.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = launcher.Wait() // killed
	for _, fd := range children {
		awaitExit(t, fd)
	}
}

// watch opens a descriptor for each process, pidfd_open(2).
func watch(t *testing.T, pids []string) (fds []int) {
	t.Helper()
	for _, text := range pids {
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			t.Fatalf("process %d: %v", pid, err)
		}
		t.Cleanup(func() { _ = unix.Close(fd) })
		fds = append(fds, fd)
	}
	return fds
}

// awaitExit waits until the process behind the descriptor has ended.
func awaitExit(t *testing.T, fd int) {
	t.Helper()
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
		if err == nil {
			return
		}
		if err != unix.EINTR {
			t.Fatal(err)
		}
	}
}
