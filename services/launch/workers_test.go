package launch

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/services/controller"
	"github.com/rackfab/rackfab/services/internal/discovery"
	"github.com/rackfab/rackfab/services/internal/serve"
	"github.com/rackfab/rackfab/services/spawn"
	"github.com/rackfab/rackfab/services/worker"
)

// newBus starts an open bus and returns its URL.
func newBus(t *testing.T) string {
	t.Helper()
	server, err := bus.StartServer("", bus.Guard{Open: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	return server.URL()
}

// join starts a free worker until the end of the test, or until stop, and returns its
// address.
func join(t *testing.T, url, name string, cores int) (address string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ready, line := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := worker.Free(ctx, worker.FreeOptions{Name: name, Cores: cores, Bus: url, Ready: line, Children: spawn.Options{Env: childEnv}}); err != nil {
			t.Errorf("worker %s: %v", name, err)
		}
		line.Close()
	}()
	var there serve.Ready
	if err := json.NewDecoder(ready).Decode(&there); err != nil {
		t.Fatal(err)
	}
	stop = func() { cancel(); <-ended }
	t.Cleanup(stop)
	return there.Address, stop
}

// onWorkers starts the rack of a scenario on one worker.
func onWorkers(t *testing.T, url, text string, limit time.Duration) (*Rack, error) {
	t.Helper()
	r, err := Start(t.Context(), Options{Bus: url, Env: childEnv, Workers: &Workers{Scenario: parse(t, text), Count: 1, Limit: limit}})
	if err == nil {
		t.Cleanup(r.Close)
	}
	return r, err
}

// enough is a limit that no test reaches.
const enough = time.Minute

// A rack on workers has the digest of the lab. Workers are free again once the rack is
// closed; until then, another rack does not get them.
func TestWorkersAreLentToOneRack(t *testing.T) {
	url := newBus(t)
	address, _ := join(t, url, "w0", 4)
	for range 2 {
		r, err := onWorkers(t, url, busy, enough)
		if err != nil {
			t.Fatal(err)
		}
		report, err := r.Run(t.Context(), &controller.Request{RunId: "a", Scenario: []byte(busy), Quiet: true}, nil)
		if err != nil || report.Digest != digest(t, busy) || report.Processes != 1 {
			t.Errorf("%+v, %v", report, err)
		}
		_, err = onWorkers(t, url, busy, time.Millisecond)
		if err == nil || !strings.Contains(err.Error(), "0 of 1 workers have joined within 1ms") {
			t.Errorf("second rack: %v", err)
		}
		r.Close()
	}
	r, err := newRack(Options{Bus: url, Workers: &Workers{Count: 2}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.workers = []*borrowed{{name: "w0", address: address}}
	want := "1 of 2 workers have joined within 1m0s: w0 at " + address + "; worker w1 cannot be used: it is lent: `rackfab worker --bus " + url + "` starts one on each machine"
	if err := r.tooFew(map[string]attempt{"w1": {why: "it is lent"}}, time.Minute); err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	r.workers = nil
}

// A launcher takes the workers that are free, waits for more, and shows their number.
func TestLauncherWaitsForWorkers(t *testing.T) {
	url := newBus(t)
	join(t, url, "w1", 1)
	first, err := onWorkers(t, url, pair, enough) // has w1
	if err != nil {
		t.Fatal(err)
	}
	var joined []int
	second, err := Start(t.Context(), Options{Bus: url, Env: childEnv, Workers: &Workers{
		Scenario: parse(t, pair), Count: 2, Limit: enough,
		Joined: func(count int) {
			switch joined = append(joined, count); count {
			case 0:
				join(t, url, "w0", 1)
			case 1:
				first.Close()
			}
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if !slices.Equal(joined, []int{0, 1, 2}) || second.workers[0].name != "w0" || second.workers[1].name != "w1" {
		t.Errorf("joined %v, workers %v", joined, second.workers)
	}
}

// pidOf returns the process of a node of a rack.
func pidOf(t *testing.T, r *Rack, node string) int {
	t.Helper()
	conn, err := bus.DialAs(r.url, t.Name(), bus.Access{})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	d, err := discovery.Watch(conn, r.name)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	found, err := d.Wait(t.Context(), []string{node})
	if err != nil {
		t.Fatal(err)
	}
	return found[0].PID
}

// With recovery, a run goes on if a process of a worker is killed, and if a worker ends and
// another one joins. Without another one, the error says that.
func TestLostWorkerIsReplaced(t *testing.T) {
	if testing.Short() {
		t.Skip("executes a run of a second several times")
	}
	url, text := newBus(t), strings.Replace(busy, "20ms", "100ms", 1)
	want := digest(t, text)
	_, stop := join(t, url, "w0", 1)
	var log lockedBuffer
	r, err := Start(t.Context(), Options{
		Bus: url, Env: childEnv, Log: &log, Recover: controller.NodeLimit, Workers: &Workers{Scenario: parse(t, text), Count: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	run := func(how func()) *controller.Report {
		var once sync.Once
		report, err := r.Run(t.Context(), &controller.Request{RunId: "a", Scenario: []byte(text), Quiet: true}, func(*controller.Progress) { once.Do(how) })
		if err != nil {
			t.Fatalf("%v\n%s", err, log.String())
		}
		if report.Digest != want {
			t.Errorf("digest %016x after %d recoveries\n%s", report.Digest, report.Recoveries, log.String())
		}
		return report
	}
	kill := func() {
		p, err := os.FindProcess(pidOf(t, r, "h1"))
		if err == nil {
			err = p.Kill()
		}
		if err != nil {
			t.Error(err)
		}
	}
	if run(kill).Recoveries == 0 {
		t.Error("the run has not recovered from the kill of a process")
	}
	if run(func() { stop(); join(t, url, "w1", 1) }).Recoveries == 0 {
		t.Error("the run has not recovered from the loss of a worker")
	}
	if r.workers[0].name != "w1" || !strings.Contains(log.String(), "looking for a worker in its place") {
		t.Errorf("worker %s\n%s", r.workers[0].name, log.String())
	}
}

// lockedBuffer is a buffer for several writers.
type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Without recovery, the end of a process of a worker, and the end of a worker, end a run with
// an error that names the worker.
func TestLostWorkerEndsTheRun(t *testing.T) {
	url := newBus(t)
	address, stop := join(t, url, "w0", 1)
	long := strings.Replace(busy, "20ms", "10s", 1)
	lose := func(how func(*Rack)) error {
		r, err := onWorkers(t, url, busy, enough)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var once sync.Once
		_, err = r.Run(t.Context(), &controller.Request{RunId: "a", Scenario: []byte(long), Quiet: true}, func(*controller.Progress) {
			once.Do(func() { how(r) })
		})
		return err
	}
	err := lose(func(r *Rack) {
		p, err := os.FindProcess(pidOf(t, r, "h1"))
		if err == nil {
			err = p.Kill()
		}
		if err != nil {
			t.Error(err)
		}
	})
	var ended *spawn.Error
	if !errors.As(err, &ended) || ended.Worker != "w0 at "+address || ended.State != "signal: killed" || ended.Nodes != 3 {
		t.Errorf("killed process: %v", err)
	}
	err = lose(func(*Rack) { stop() })
	if want := "worker w0 at " + address + ", which runs node h0 and 2 others: worker w0 has been stopped"; err == nil || err.Error() != want {
		t.Errorf("stopped worker: %v\nwant %s", err, want)
	}
}
