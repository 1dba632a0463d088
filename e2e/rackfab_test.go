// Package e2e runs the program as its users do. It runs the same scenarios in memory
// and over NATS with one process per node, and injects faults of the machine.
package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/measure"
)

// program is the path of the binary under test, which is built once.
var program string

func TestMain(m *testing.M) {
	os.Exit(withProgram(m.Run)) //nolint:forbidigo // TestMain is the main function of the tests
}

func withProgram(run func() int) int {
	dir, err := os.MkdirTemp("", "rackfab-e2e-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program = filepath.Join(dir, "rackfab")
	if out, err := exec.Command("go", "build", "-o", program, "../cmd/rackfab").CombinedOutput(); err != nil {
		panic(string(out))
	}
	return run()
}

// serve starts the program in a role that serves until Ctrl-C, and returns its first
// line of output. At the end of the test it sends Ctrl-C, and the program must exit
// without error.
func serve(t testing.TB, args ...string) string {
	t.Helper()
	return serveAs(t, exec.Command(program, args...))
}

// serveAs is serve for any command.
func serveAs(t testing.TB, c *exec.Cmd) string {
	t.Helper()
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(os.Interrupt) // Wait reports the error
		if err := c.Wait(); err != nil {
			t.Errorf("%v ended with %v", c.Args, err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%v prints %q: %v", c.Args, line, err)
	}
	return line
}

// run is a running `rackfab run`.
type run struct {
	*exec.Cmd
	log    *bufio.Reader // standard error
	seen   bytes.Buffer  // log read so far
	output bytes.Buffer
	dir    string
}

// start starts `rackfab run` with the given flags.
func start(t testing.TB, flags ...string) *run {
	t.Helper()
	return startAs(t, exec.Command(program, append([]string{"run"}, flags...)...))
}

// startAs starts a command line of `rackfab run`, in which it chooses the output.
func startAs(t testing.TB, c *exec.Cmd) *run {
	t.Helper()
	r := &run{Cmd: c, dir: t.TempDir()}
	r.Args = append(r.Args, "--json", "--output", filepath.Join(r.dir, "out"))
	r.Stdout = &r.output
	log, err := r.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.log = bufio.NewReader(io.TeeReader(log, &r.seen))
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Process.Kill() }) // has ended already if the test passed
	return r
}

// underWay waits for the first line of progress, after those of the joining workers.
func (r *run) underWay(t *testing.T) {
	t.Helper()
	for line := ""; !strings.Contains(line, "frame-hops"); {
		var err error
		if line, err = r.log.ReadString('\n'); err != nil || !strings.Contains(line, "frame-hops") && !strings.HasSuffix(line, "workers have joined\n") {
			_, _ = io.Copy(io.Discard, r.log)
			t.Fatalf("no progress line: %v\n%s", err, &r.seen)
		}
	}
}

// end waits for the end of the run and returns the log and the error.
func (r *run) end() (string, error) {
	_, _ = io.Copy(io.Discard, r.log)
	err := r.Wait()
	return r.seen.String(), err
}

// results waits for the end of the run and parses results.json from standard output.
func (r *run) results(t testing.TB) *measure.Results {
	t.Helper()
	if log, err := r.end(); err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	var out measure.Results
	if err := json.Unmarshal(r.output.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	return &out
}

// digests returns the digest of each scheme.
func digests(r *measure.Results) map[string]string {
	all := map[string]string{}
	for _, run := range r.Runs {
		all[run.Scheme] = run.Digest
	}
	return all
}
