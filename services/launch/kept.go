package launch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// restarts is the number of successive failed restarts after which a kept process is
// given up.
const restarts = 5

// kept is a process that the launcher restarts, at the same address, whenever it
// ends. Its role on the command line is its name.
type kept struct {
	rack    *Rack
	as      child
	more    []string    // arguments in addition to --listen
	lost    func(error) // called once, if it cannot be restarted
	address string      // where it listens
	page    string      // address of its web page, "" for none
	present *process    // guarded by the rack's mu
}

// start starts the process at listen; first are additional arguments for this first
// start only. Until the rack closes, the process is restarted at the addresses that
// it announced.
func (k *kept) start(ctx context.Context, listen string, first ...string) error {
	p, err := k.spawn(listen, first...)
	if err != nil {
		return err
	}
	ready, err := p.await(ctx)
	if err != nil {
		return err
	}
	if k.address, k.page = ready.Address, ready.Page; k.page != "" {
		k.more = append(slices.Clone(k.more), "--http", k.page)
	}
	k.rack.watchers.Go(func() { k.keep(p) })
	return nil
}

// spawn starts a process and makes it the current one. It returns errClosed once the
// rack is closing.
func (k *kept) spawn(listen string, more ...string) (*process, error) {
	k.rack.mu.Lock()
	defer k.rack.mu.Unlock()
	if k.rack.closing {
		return nil, errClosed
	}
	p, err := k.rack.spawn(k.as, k.rack.args(k.as.name, slices.Concat([]string{"--listen", listen}, k.more, more)...)...)
	if err == nil {
		k.present = p
	}
	return p, err
}

// keep restarts the process whenever it ends, until the rack closes or the restarts
// fail.
func (k *kept) keep(p *process) {
	for failures := 0; ; failures++ {
		<-p.done
		if k.rack.isClosing() {
			return
		}
		if failures == restarts {
			k.lost(p.failure(""))
			return
		}
		listen := strings.TrimPrefix(k.address, "nats://")
		k.rack.journal.line("launch", fmt.Sprintf("%s ended (%s), starting it again at %s", k.as.name, p.cmd.ProcessState, listen))
		next, err := k.spawn(listen)
		if errors.Is(err, errClosed) {
			return
		}
		if err != nil {
			k.lost(err)
			return
		}
		if _, err := next.await(k.rack.ctx); err == nil {
			failures = -1
		}
		p = next
	}
}

// now returns the current process, nil if none was started.
func (k *kept) now() *process {
	if k == nil {
		return nil
	}
	k.rack.mu.Lock()
	defer k.rack.mu.Unlock()
	return k.present
}

// stop ends the current process, if there is one. The rack must be closing.
func (k *kept) stop() {
	if p := k.now(); p != nil {
		p.stop(k.rack.patience)
	}
}
