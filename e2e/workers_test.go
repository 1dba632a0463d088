package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// freeWorker starts a free worker of the bus at url, and returns its process and its
// address. The test ends it.
func freeWorker(t *testing.T, url, name string, flags ...string) (p *os.Process, address string) {
	t.Helper()
	c := exec.Command(program, append([]string{"worker", "--bus", url, "--name", name}, flags...)...)
	var log bytes.Buffer
	c.Stderr = &log
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var ready struct{ Address string }
	if err := json.NewDecoder(out).Decode(&ready); err != nil {
		t.Fatalf("worker %s: %v\n%s", name, err, &log)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(os.Interrupt) // a killed one has ended
		_ = c.Wait()
	})
	return c.Process, ready.Address
}

// busURL starts an open bus until the end of the test and returns its URL.
func busURL(t *testing.T) string {
	t.Helper()
	var ready struct{ Address string }
	if err := json.Unmarshal([]byte(serve(t, "bus", "--open")), &ready); err != nil {
		t.Fatal(err)
	}
	return ready.Address
}

// Three workers run one rack after the other, each a share by its cores. The digests are
// those of memory, and results.json says who ran the nodes. Without recovery, a worker
// that is killed ends the run with an error that names it, and the others run the next rack.
func TestWorkersRunRacks(t *testing.T) {
	url := busURL(t)
	killed, address := freeWorker(t, url, "w0", "--cores", "1")
	freeWorker(t, url, "w1", "--cores", "2")
	freeWorker(t, url, "w2", "--cores", "1")
	for _, rack := range [][]string{{"leaf-spine", "--scheme", "pcn", "--duration", "100us"}, {"pcn-16to2", "--scheme", "pcn", "--duration", "1ms"}} {
		memory := start(t, append(rack, "--bus", "memory")...).results(t)
		r := start(t, append(rack, "--nats-url", url, "--workers", "3")...)
		workers := r.results(t)
		if diff := cmp.Diff(digests(memory), digests(workers)); diff != "" {
			t.Errorf("%s: digests differ (-memory +workers):\n%s", rack[0], diff)
		}
		one := workers.Runs[0]
		if workers.Workers != 3 || one.Workers != 3 || one.Processes < 3 || one.Processes > 4 || one.Groups != one.Processes || one.Cores != one.Processes {
			t.Errorf("%s: %d workers, %d processes, %d groups, %d cores", rack[0], one.Workers, one.Processes, one.Groups, one.Cores)
		}
		if log := r.seen.String(); !strings.Contains(log, "2 of 3 workers have joined\n3 of 3 workers have joined\n") {
			t.Errorf("no progress of joining:\n%s", log)
		}
	}

	r := start(t, "pcn-16to2", "--scheme", "pcn", "--duration", "400ms", "--nats-url", url, "--workers", "3", "--recover", "0")
	r.underWay(t)
	if err := killed.Kill(); err != nil {
		t.Fatal(err)
	}
	if log, err := r.end(); err == nil || !strings.Contains(log, fmt.Sprintf("worker w0 at %s, which runs node ", address)) || !strings.Contains(log, "has ended, or is cut off") {
		t.Errorf("a worker was killed: %v\n%s", err, log)
	}
	start(t, "leaf-spine", "--scheme", "pfc", "--duration", "20us", "--nats-url", url, "--workers", "2").results(t)
}

// Free workers on a bus with keys, with TLS, that announce another address run a rack. They
// have neither the keys nor the certificates of its nodes.
func TestWorkersWithKeysAndCertificates(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command(program, "certs", "leaf-spine", "--worker", "w0,w1", "--output", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var ready struct{ Address string }
	if err := json.Unmarshal([]byte(serve(t, "bus", "--keys", dir, "--tls", dir, "--free-worker", "w0,w1")), &ready); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"w0", "w1"} {
		own := filepath.Join(dir, name)
		_, address := freeWorker(t, ready.Address, name, "--cores", "1", "--nkey", filepath.Join(own, "nkey"), "--tls", own, "--advertise", "localhost")
		if !strings.HasPrefix(address, "localhost:") {
			t.Errorf("worker %s announces %s", name, address)
		}
	}
	rack := []string{"leaf-spine", "--scheme", "pcn", "--duration", "20us"}
	memory := start(t, append(rack, "--bus", "memory")...).results(t)
	nkey := filepath.Join(dir, "controller", "nkey")
	workers := start(t, append(rack, "--nats-url", ready.Address, "--nats-nkey", nkey, "--tls", dir, "--workers", "2")...).results(t)
	if diff := cmp.Diff(digests(memory), digests(workers)); diff != "" {
		t.Errorf("digests differ (-memory +workers):\n%s", diff)
	}
}
