package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/services/broker"
	"github.com/rackfab/rackfab/services/collector"
	"github.com/rackfab/rackfab/services/controller"
	"github.com/rackfab/rackfab/services/startup"
	switchd "github.com/rackfab/rackfab/services/switch"
	"github.com/rackfab/rackfab/services/worker"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/engine"
)

// small is the scenario of a small rack.
const small = `
name: small
duration: 20us
scheme: pfc
nics: {h0..h1: }
switches: {s0: }
links: [{endpoints: [h0..h1, s0], rate: 40Gbps, delay: 1us}]
flows: [{name: F0, from: h0, to: h1, size: 16KB}]
`

// TRUST-13: The processes of a rack may start in any order: those that need the bus say once that
// they wait for it, and the rack has the digest of the lab.
func TestProcessesStartInAnyOrder(t *testing.T) {
	t.Setenv("GOMAXPROCS", "2") // nodes must not change this process's setting
	t.Setenv("GOGC", "100")
	s, err := scenariofile.Parse("small", []byte(small))
	if err != nil {
		t.Fatal(err)
	}
	want, err := on(t, s, engine.Flags{Bus: "memory"})
	if err != nil {
		t.Fatal(err)
	}
	heard := &waits{}
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(heard, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	var all sync.WaitGroup
	slots := make(chan struct{}, 8)
	for i, order := range orders(len(roles)) {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			var names []string
			for _, r := range order {
				names = append(names, roles[r].name)
			}
			o := &ordered{T: t, host: fmt.Sprintf("127.%d.%d.%d", 1+os.Getpid()/250%250, os.Getpid()%250, 1+i), waits: heard}
			if got, err := o.run(s, order); got != want || err != nil {
				t.Errorf("order %v: digest %s, %v, want %s", names, got, err, want)
			}
		})
	}
	all.Wait()
}

// orders returns all orders of n things.
func orders(n int) (list [][]int) {
	if n == 0 {
		return [][]int{nil}
	}
	for _, o := range orders(n - 1) {
		for at := range n {
			list = append(list, append(append(append([]int{}, o[:at]...), n-1), o[at:]...))
		}
	}
	return list
}

// waits receives the log of all processes, and counts their waits for a bus by its URL.
type waits struct {
	mu   sync.Mutex
	news map[string]chan struct{}
}

// of returns a channel with a value for each wait for a bus.
func (w *waits) of(url string) chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.news == nil {
		w.news = map[string]chan struct{}{}
	}
	if w.news[url] == nil {
		w.news[url] = make(chan struct{}, 16)
	}
	return w.news[url]
}

func (w *waits) Write(line []byte) (int, error) {
	if _, rest, ok := strings.Cut(string(line), "waits for the bus at "); ok {
		url, _, _ := strings.Cut(rest, `"`)
		w.of(url) <- struct{}{}
	}
	return len(line), nil
}

// ordered is a rack whose processes are started one after the other, at an address of its own.
type ordered struct {
	*testing.T
	host  string
	waits *waits
}

func (o *ordered) bus() string       { return "nats://" + o.host + ":4222" }
func (o *ordered) collector() string { return o.host + ":4317" }

// roles are the processes of a small rack.
var roles = []struct {
	name string
	main func(*ordered, context.Context, io.Writer) error
}{
	{"bus", func(o *ordered, ctx context.Context, w io.Writer) error {
		return broker.Main(ctx, broker.Options{Listen: strings.TrimPrefix(o.bus(), "nats://"), Open: true, Ready: w})
	}},
	{"collector", func(o *ordered, ctx context.Context, w io.Writer) error {
		return collector.Main(ctx, collector.Options{Listen: o.collector(), Data: o.TempDir(), Ready: w})
	}},
	{"controller", func(o *ordered, ctx context.Context, w io.Writer) error {
		return controller.Main(ctx, controller.Options{Bus: o.bus(), Rack: "rack", Wait: startup.Limit, Collector: o.collector(), Listen: net.JoinHostPort(o.host, "7000"), Ready: w})
	}},
	{"worker", func(o *ordered, ctx context.Context, w io.Writer) error {
		return worker.Main(ctx, worker.Options{Name: "h0", Bus: o.bus(), Rack: "rack", Wait: startup.Limit, Collector: o.collector(), Ready: w}, "h0..h1", "")
	}},
	{"switch", func(o *ordered, ctx context.Context, w io.Writer) error {
		return switchd.Main(ctx, switchd.Options{Name: "s0", Bus: o.bus(), Rack: "rack", Wait: startup.Limit, Collector: o.collector(), Ready: w})
	}},
}

// run starts the processes in an order, each when the one before serves or has said that it
// waits for the bus, runs the scenario, and ends them in the reverse order.
func (o *ordered) run(s *topology.Scenario, order []int) (digest string, err error) {
	there := false
	var ready []chan error
	for _, i := range order {
		came, stop := o.start(i)
		defer stop()
		there = there || roles[i].name == "bus"
		if there || roles[i].name == "collector" {
			if err := <-came; err != nil {
				return "", err
			}
			continue
		}
		ready = append(ready, came)
		select {
		case <-o.waits.of(o.bus()):
		case err := <-came:
			return "", fmt.Errorf("%s came before the bus: %w", roles[i].name, err)
		}
	}
	for _, came := range ready {
		if err := <-came; err != nil {
			return "", err
		}
	}
	if n := len(o.waits.of(o.bus())); n > 0 {
		return "", fmt.Errorf("%d more waits for the bus than processes before it", n)
	}
	return on(o.T, s, engine.Flags{Bus: "nats", Controller: net.JoinHostPort(o.host, "7000")})
}

// start starts a process. came receives a value when it serves, or the error that ended it
// before; stop ends it.
func (o *ordered) start(role int) (came chan error, stop func()) {
	r, w := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	came = make(chan error, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.CloseWithError(fmt.Errorf("%s ended: %w", roles[role].name, roles[role].main(o, ctx, w)))
	}()
	go func() {
		var line json.RawMessage
		came <- json.NewDecoder(bufio.NewReader(r)).Decode(&line)
	}()
	return came, func() { cancel(); <-ended }
}

// TRUST-13: A process that needs a bus that never comes ends after its patience, and names the bus.
func TestMissingBusIsNamed(t *testing.T) {
	for _, args := range []string{"nic --name h0", "switch --name s0", "worker --name w0", "worker --name h0 --nics h0..h1", "controller"} {
		c := root()
		c.SetArgs(append(strings.Fields(args), "--bus", "nats://127.0.0.1:1", "--wait", "1ms"))
		c.SetOut(io.Discard)
		if err := c.ExecuteContext(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "waited 1ms for the bus at nats://127.0.0.1:1: ") {
			t.Errorf("%s: %v", args, err)
		}
	}
}
