package processes

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/controller"
	"github.com/rackfab/rackfab/services/launch"
	"github.com/rackfab/rackfab/services/torture"
)

// Rates of an impairment. The delay is by up to faulty.MaxDelay later envelopes.
const (
	loseRate   = 0.1
	repeatRate = 0.1
	delayRate  = 0.1
)

// rack is a rack of processes: launcher, bus, controller, collector, and nodes or groups of
// nodes, each of which reaches the bus through a proxy.
type rack struct {
	*launch.Rack
	api      func() rackfabv1.FabricServiceClient
	scenario *topology.Scenario
	text     []byte
	dir      string // of the journal, the log and the collector's data
	log      *os.File
	proxies  map[string]*proxy // by first node
}

// newRack starts the rack for a schedule.
func newRack(ctx context.Context, s *topology.Scenario, sched Schedule) (*rack, error) {
	text, err := scenariofile.Marshal(s)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "rackfab-torture-")
	if err != nil {
		return nil, err
	}
	r := &rack{scenario: s, text: text, dir: dir, proxies: map[string]*proxy{}}
	r.api = func() rackfabv1.FabricServiceClient { return r.Client().API() }
	if r.log, err = os.Create(filepath.Join(dir, "log")); err == nil {
		r.Rack, err = launch.Start(ctx, launch.Options{
			Groups: launch.Groups(s, sched.Processes), Recover: controller.NodeLimit, Journal: filepath.Join(dir, "journal.yaml"),
			Collect: []string{"--data", filepath.Join(dir, "telemetry"), "--http", "off"}, Reach: r.reach, Log: r.log,
		})
	}
	if err != nil {
		r.close(true)
		return nil, err
	}
	return r, nil
}

// reach starts the proxy of a process.
func (r *rack) reach(node, url string) (string, error) {
	p, err := newProxy(url)
	if err != nil {
		return "", err
	}
	r.proxies[node] = p
	return p.url(), nil
}

// close ends all processes. remove removes the folder.
func (r *rack) close(remove bool) {
	if r.Rack != nil {
		r.Close()
	}
	for _, p := range r.proxies {
		p.close()
	}
	if r.log != nil {
		_ = r.log.Close() // a log of a run that is over
	}
	if remove {
		_ = os.RemoveAll(r.dir) // of temporary files
	}
}

// inflict begins a fault, and returns when it is over. A process that has ended before is
// hit already.
func (r *rack) inflict(ctx context.Context, f *Fault) error {
	switch f.Kind {
	case KillBus, KillNode, KillController, KillCollector:
		return r.signal(f.victim(), os.Kill)
	case StopNode, FreezeNode, StopCollector:
		defer func() { _ = r.signal(f.victim(), cont) }() // signal has checked the victim
		err := r.signal(f.victim(), stop)
		pause(ctx, f.For)
		return err
	case Cut:
		r.proxies[f.Node].sever(true)
		pause(ctx, f.For)
		r.proxies[f.Node].sever(false)
	case Slow:
		r.proxies[f.Node].setSlow(true)
		pause(ctx, f.For)
		r.proxies[f.Node].setSlow(false)
		r.proxies[f.Node].sever(false)
	case Impair:
		err := r.impair(ctx, &rackfabv1.BusImpairment{Lose: loseRate, Repeat: repeatRate, Delay: delayRate, Seed: f.Seed})
		pause(ctx, f.For)
		return errors.Join(err, r.impair(ctx, &rackfabv1.BusImpairment{}))
	}
	return nil
}

func (r *rack) signal(name string, s os.Signal) error {
	if err := r.Signal(name, s); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// impair sets the impairment of all nodes. A controller that is lost has none.
func (r *rack) impair(ctx context.Context, i *rackfabv1.BusImpairment) error {
	_, err := r.api().ImpairBus(ctx, &rackfabv1.ImpairBusRequest{Impairment: i}, grpc.WaitForReady(true))
	return torture.Tolerate(err)
}

// pause waits for some wall time, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
