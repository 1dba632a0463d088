package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal returns the two ends of a pseudo-terminal of 100 columns and 40 rows.
func terminal(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ours.Close() })
	fd := int(ours.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err = errors.Join(err, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0), unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 100})); err != nil {
		t.Fatal(err)
	}
	if theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = theirs.Close() })
	return ours, theirs
}

// A signal ends watch on a terminal, with the status of the signal.
func TestSignalsEndWatchOnATerminal(t *testing.T) {
	r := up(t, "pcn-16to2", "--processes", "1", "--pace", "1ms/s")
	for _, sign := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		for range 8 { // each hung in one or two of four, as long as two parts of the program handled it
			ours, theirs := terminal(t)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			c := exec.CommandContext(ctx, program, "watch")
			c.Env = append(os.Environ(), "RACKFAB_ADDRESS="+r.address, "TERM=xterm")
			c.Stdin, c.Stdout, c.Stderr = theirs, theirs, theirs
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			drawn := make(chan struct{})
			go func() {
				_, _ = io.Copy(&screenText{want: []byte("pcn-16to2"), seen: sync.OnceFunc(func() { close(drawn) })}, ours)
			}()
			select {
			case <-drawn:
			case <-ctx.Done():
				t.Fatal("watch has drawn nothing")
			}
			if err := c.Process.Signal(sign); err != nil {
				t.Fatal(err)
			}
			if err := c.Wait(); c.ProcessState.ExitCode() != 128+int(sign) {
				t.Fatalf("%v: %v", sign, err)
			}
		}
	}
	r.interrupt(t)
}

// screenText waits for a text among what a program draws.
type screenText struct {
	all, want []byte
	seen      func()
}

func (s *screenText) Write(p []byte) (int, error) {
	if s.all = append(s.all, p...); bytes.Contains(s.all, s.want) {
		s.seen()
	}
	return len(p), nil
}
