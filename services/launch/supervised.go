package launch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/services/spawn"
)

// maxRestarts is the number of successive failed restarts after which the launcher gives
// a supervised process up.
const maxRestarts = 5

// supervised is a process that the launcher restarts, at the same address, whenever it
// ends.
type supervised struct {
	rack    *Rack
	command spawn.Command  // its Args are in addition to --listen
	lost    func(error)    // called once, if the process cannot be restarted
	address string         // where it listens
	page    string         // address of its web page, "" for none
	current *spawn.Process // guarded by the rack's mu
}

// start starts the process at listen; first are additional arguments for this first
// start only. Until the rack closes, the process is restarted at the addresses that
// it announced.
func (s *supervised) start(ctx context.Context, listen string, first ...string) error {
	p, err := s.spawn(listen, first...)
	if err != nil {
		return err
	}
	ready, err := p.Await(ctx)
	if err != nil {
		return err
	}
	if s.address, s.page = ready.Address, ready.Page; s.page != "" {
		s.command.Args = append(slices.Clone(s.command.Args), "--http", s.page)
	}
	s.rack.watchers.Go(func() { s.supervise(p) })
	return nil
}

// spawn starts a process and makes it the current one. It returns errClosed once the
// rack is closing.
func (s *supervised) spawn(listen string, more ...string) (*spawn.Process, error) {
	s.rack.mu.Lock()
	defer s.rack.mu.Unlock()
	if s.rack.closing {
		return nil, errClosed
	}
	c := s.command
	c.Args = slices.Concat([]string{"--listen", listen}, c.Args, more)
	p, err := s.rack.spawner.Start(c)
	if err == nil {
		s.current = p
	}
	return p, err
}

// supervise restarts the process whenever it ends, until the rack closes or the restarts
// fail.
func (s *supervised) supervise(p *spawn.Process) {
	for failures := 0; ; failures++ {
		<-p.Done()
		if s.rack.isClosing() {
			return
		}
		if failures == maxRestarts {
			s.lost(p.Failure(""))
			return
		}
		listen := strings.TrimPrefix(s.address, "nats://")
		s.rack.spawner.Log("launch", fmt.Sprintf("%s ended (%s), restarting it at %s", s.command.Name, p.State(), listen))
		next, err := s.spawn(listen)
		if errors.Is(err, errClosed) {
			return
		}
		if err != nil {
			s.lost(err)
			return
		}
		if _, err := next.Await(s.rack.ctx); err == nil {
			failures = -1
		}
		p = next
	}
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
