package launch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// restarts is how often in a row a kept process may end before it answers until it
// is given up.
const restarts = 5

// kept is a process that is started anew, at its address, whenever it has ended. Its
// role on the command line is its name.
type kept struct {
	rack    *Rack
	as      child
	more    []string    // arguments on top of --listen
	lost    func(error) // told once, if it does not come back
	address string      // where it listens
	page    string      // where it shows something to browsers, "" for nowhere
	present *process    // under the rack's mu
}

// start starts the process at listen, with some arguments for this first time, and
// keeps one running at the addresses that it then says it has, until the rack closes.
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

// spawn starts a process and makes it the present one. It refuses with errClosed
// once the rack is closing.
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

// keep starts the process anew whenever it has ended, until the rack closes or the
// process does not come back.
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

// now is the present process, nil if none was started.
func (k *kept) now() *process {
	if k == nil {
		return nil
	}
	k.rack.mu.Lock()
	defer k.rack.mu.Unlock()
	return k.present
}

// stop ends the present process, if there is one. The rack has to be closing.
func (k *kept) stop() {
	if p := k.now(); p != nil {
		p.stop(k.rack.patience)
	}
}
