package launch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rackfab/rackfab/services/internal/serve"
	"github.com/rackfab/rackfab/services/spawn"
	"github.com/rackfab/rackfab/services/startup"
)

// maxRestarts is the number of successive failed restarts after which the launcher gives
// a supervised process up. There is no pause before the first one.
const maxRestarts = 5

// supervised is a process that the launcher restarts whenever it ends.
type supervised struct {
	rack    *Rack
	command spawn.Command  // its Args are in addition to --listen
	anew    []string       // further arguments when it is restarted
	mortal  bool           // its end is the loss: it is not restarted
	moves   bool           // it announces its address to the rack: a restart need not have the same
	lost    func(error)    // called once, if the process is not restarted
	address string         // where it listens
	page    string         // address of its web page, "" for none
	current *spawn.Process // guarded by the rack's mu
	metrics string         // address of the current process's metrics, guarded by the rack's mu; "" for none
}

// start starts the process at listen; first are additional arguments for this first
// start only. Then it waits until the process is ready.
func (s *supervised) start(ctx context.Context, listen string, first ...string) error {
	if _, err := s.spawn(listen, first...); err != nil {
		return err
	}
	return s.await(ctx)
}

// await waits until the process that spawn has started is ready. Until the rack closes, the
// process is restarted at the addresses that it announced.
func (s *supervised) await(ctx context.Context) error {
	p := s.process()
	ready, err := p.Await(ctx)
	if err != nil {
		return err
	}
	s.measured(ready)
	if s.address, s.page = ready.Address, ready.Page; s.page != "" {
		s.command.Args = append(slices.Clone(s.command.Args), "--http", s.page)
	}
	if ready.OTLPHTTP != "" {
		s.command.Args = append(slices.Clone(s.command.Args), "--otlp-http", ready.OTLPHTTP)
	}
	s.rack.watchers.Go(func() { s.supervise(p) })
	return nil
}

// spawn starts a process and makes it the current one. listen is its address, "" for its
// own choice. It returns errClosed once the rack is closing.
func (s *supervised) spawn(listen string, more ...string) (*spawn.Process, error) {
	s.rack.mu.Lock()
	defer s.rack.mu.Unlock()
	if s.rack.closing {
		return nil, errClosed
	}
	c := s.command
	if c.Args = slices.Concat(c.Args, more); listen != "" {
		c.Args = slices.Concat([]string{"--listen", listen}, c.Args)
	}
	if s.rack.o.Metrics {
		c.Args = append(slices.Clone(c.Args), "--metrics-listen", serve.Loopback)
	}
	p, err := s.rack.spawner.Start(c)
	if err == nil {
		s.current = p
	}
	return p, err
}

// supervise restarts the process whenever it ends, after ever longer pauses, until the rack
// closes or the restarts fail.
func (s *supervised) supervise(p *spawn.Process) {
	for failures := 0; ; failures++ {
		<-p.Done()
		if s.rack.isClosing() {
			return
		}
		if failures == maxRestarts || s.mortal {
			s.lost(p.Failure(""))
			return
		}
		listen, at := "", ""
		if !s.moves {
			listen = strings.TrimPrefix(s.address, "nats://")
			at = " at " + listen
		}
		if s.rack.backOff(failures) != nil {
			return // the rack has failed or is closing
		}
		s.rack.spawner.Log("launch", fmt.Sprintf("%s ended (%s), restarting it%s", s.command.Name, p.State(), at))
		next, err := s.spawn(listen, s.anew...)
		if errors.Is(err, errClosed) {
			return
		}
		if err != nil {
			s.lost(err)
			return
		}
		if ready, err := next.Await(s.rack.ctx); err == nil {
			s.measured(ready)
			failures = -1
		}
		p = next
	}
}

// backOff pauses before a restart, after a number of failed ones. Its error is the end of the
// rack.
func (r *Rack) backOff(failed int) error {
	var pause time.Duration
	for range failed {
		pause = startup.Backoff(pause)
	}
	return r.pause(pause)
}

// measured records where the process that is ready serves its metrics.
func (s *supervised) measured(ready serve.Ready) {
	s.rack.mu.Lock()
	defer s.rack.mu.Unlock()
	s.metrics = ready.Metrics
}

// Metrics returns the addresses of the metrics of the processes on this machine, by their names. There are
// none without Options.Metrics.
func (r *Rack) Metrics() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[string]string{}
	for _, p := range append(slices.Collect(maps.Values(r.nodes)), r.bus, r.collector, r.controller) {
		if p != nil && p.metrics != "" {
			all[p.command.Name] = p.metrics
		}
	}
	return all
}

// process returns the current process, nil if none was started.
func (s *supervised) process() *spawn.Process {
	if s == nil {
		return nil
	}
	s.rack.mu.Lock()
	defer s.rack.mu.Unlock()
	return s.current
}

// stop stops the current process, if there is one. The rack must be closing.
func (s *supervised) stop() {
	if p := s.process(); p != nil {
		p.Stop(s.rack.patience)
	}
}
