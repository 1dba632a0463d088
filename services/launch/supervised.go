package launch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxRestarts is the number of successive failed restarts after which the launcher gives
// a supervised process up.
const maxRestarts = 5

// supervised is a process that the launcher restarts, at the same address, whenever it
// ends. Its role on the command line is its name.
type supervised struct {
	rack    *Rack
	child   child
	args    []string    // in addition to --listen
	lost    func(error) // called once, if the process cannot be restarted
	address string      // where it listens
	page    string      // address of its web page, "" for none
	current *process    // guarded by the rack's mu
}

// start starts the process at listen; first are additional arguments for this first
// start only. Until the rack closes, the process is restarted at the addresses that
// it announced.
func (s *supervised) start(ctx context.Context, listen string, first ...string) error {
	p, err := s.spawn(listen, first...)
	if err != nil {
		return err
	}
	ready, err := p.await(ctx)
	if err != nil {
		return err
	}
	if s.address, s.page = ready.Address, ready.Page; s.page != "" {
		s.args = append(slices.Clone(s.args), "--http", s.page)
	}
	s.rack.watchers.Go(func() { s.supervise(p) })
	return nil
}

// spawn starts a process and makes it the current one. It returns errClosed once the
// rack is closing.
func (s *supervised) spawn(listen string, more ...string) (*process, error) {
	s.rack.mu.Lock()
	defer s.rack.mu.Unlock()
	if s.rack.closing {
		return nil, errClosed
	}
	p, err := s.rack.spawn(s.child, s.child.name, slices.Concat([]string{"--listen", listen}, s.args, more)...)
	if err == nil {
		s.current = p
	}
	return p, err
}

// supervise restarts the process whenever it ends, until the rack closes or the restarts
// fail.
func (s *supervised) supervise(p *process) {
	for failures := 0; ; failures++ {
		<-p.done
		if s.rack.isClosing() {
			return
		}
		if failures == maxRestarts {
			s.lost(p.failure(""))
			return
		}
		listen := strings.TrimPrefix(s.address, "nats://")
		s.rack.log.line("launch", fmt.Sprintf("%s ended (%s), restarting it at %s", s.child.name, p.cmd.ProcessState, listen))
		next, err := s.spawn(listen)
		if errors.Is(err, errClosed) {
			return
		}
		if err != nil {
			s.lost(err)
			return
		}
		if _, err := next.await(s.rack.ctx); err == nil {
			failures = -1
		}
		p = next
	}
}

// process returns the current process, nil if none was started.
func (s *supervised) process() *process {
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
		p.stop(s.rack.patience)
	}
}
