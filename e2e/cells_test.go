package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// command starts the program and kills it at the end of the test.
func command(t *testing.T, args ...string) (c *exec.Cmd, out, log *bufio.Reader) {
	t.Helper()
	c = exec.Command(program, args...)
	o, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	l, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() }) // the test has seen what it needs
	return c, bufio.NewReader(o), bufio.NewReader(l)
}

// address returns the address in the announcement of a process that was started.
func address(t *testing.T, line string) string {
	t.Helper()
	var ready struct{ Address string }
	if err := json.Unmarshal([]byte(line), &ready); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	return ready.Address
}

// files returns the content of a folder's files by path.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"*", "cells/*"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if text, err := os.ReadFile(name); err == nil {
				all[strings.TrimPrefix(name, dir)] = string(text)
			}
		}
	}
	return all
}

// A sweep on two workers, of which one is killed in the middle, writes the files of a
// sweep on this machine. When the other one is gone too, the sweep ends with an error that
// names both, and a later one goes on from its cells.
func TestSweepOnWorkers(t *testing.T) {
	t.Parallel()
	bus := address(t, serve(t, "bus", "--open"))
	var workers []*exec.Cmd
	for _, name := range []string{"w0", "w1"} {
		c, out, _ := command(t, "worker", "--bus", bus, "--name", name, "--cores", "1")
		if line, err := out.ReadString('\n'); err != nil {
			t.Fatal(line, err)
		}
		workers = append(workers, c)
	}
	sweep := func(dir string, more ...string) []string {
		return append([]string{"sweep", "pcn-16to2", "--scheme", "pfc,pcn", "--seed", "1,2", "--set", "switch.xoff=100KB,150KB,200KB,250KB", "--duration", "10ms", "--output", dir}, more...)
	}
	remote := []string{"--workers", "2", "--nats-url", bus}
	two, one := filepath.Join(t.TempDir(), "two"), filepath.Join(t.TempDir(), "one")

	c, out, log := command(t, sweep(two, remote...)...)
	var seen bytes.Buffer
	kill := func(w *exec.Cmd, when, then string) {
		for _, text := range []string{when, then} {
			for !strings.Contains(seen.String(), text) {
				line, err := log.ReadString('\n')
				if seen.WriteString(line); err != nil {
					t.Fatalf("no %q in the log: %v\n%s", text, err, seen.String())
				}
			}
			if text == when {
				_ = w.Process.Kill() // it has not ended
			}
		}
	}
	kill(workers[1], "of 16 cells, 2 workers", "lost: worker w1 at 127.0.0.1:")
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	if text, err := exec.Command(program, sweep(one)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if diff := cmp.Diff(files(t, one), files(t, two)); diff != "" {
		t.Errorf("the files differ (-one machine +two workers):\n%.2000s", diff)
	}

	none := filepath.Join(t.TempDir(), "none")
	remote[1] = "1"
	c, _, log = command(t, sweep(none, remote...)...)
	seen.Reset()
	for len(files(t, none)) == 0 { // until a cell is finished
		runtime.Gosched()
	}
	kill(workers[0], "of 16 cells, 1 worker ", "no worker is left: worker w0 at 127.0.0.1:")
	if err := c.Wait(); err == nil {
		t.Error("a sweep without workers succeeded")
	}
	text, err := exec.Command(program, sweep(none)...).CombinedOutput()
	if err != nil || bytes.Contains(text, []byte("16 run now")) || !bytes.Contains(text, []byte(" run now")) {
		t.Errorf("the second sweep ran every cell again: %v\n%s", err, text)
	}
	if diff := cmp.Diff(files(t, one), files(t, none)); diff != "" {
		t.Errorf("the files of the resumed sweep differ:\n%.2000s", diff)
	}
}
