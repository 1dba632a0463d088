package launch

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/rackfab/rackfab/fabric/topology"
)

// busRestarts is how often in a row a bus may end before it answers until the
// launcher gives up.
const busRestarts = 5

// startBus starts the bus at a port that it chooses, with fresh keys for the
// controller and the nodes, and keeps one running at that port until Close.
func (r *Rack) startBus(ctx context.Context, nodes []topology.Node) (err error) {
	if r.keys, err = newKeys(nodes); err != nil {
		return err
	}
	p, err := r.spawnBus("127.0.0.1:0")
	if err != nil {
		return err
	}
	ready, err := p.await(ctx)
	if err != nil {
		return err
	}
	r.url = ready.Address
	r.watchers.Go(func() { r.keepBus(p, strings.TrimPrefix(r.url, "nats://")) })
	return nil
}

// spawnBus starts a bus and makes it the present one. It refuses once the rack
// is closing.
func (r *Rack) spawnBus(address string) (*process, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing {
		return nil, errClosed
	}
	p, err := r.spawn(child{
		name: busName, env: busEnv(append(os.Environ(), r.env...)), Inheritance: Inheritance{Users: r.keys.users(r.name)},
	}, r.args("bus", "--listen", address)...)
	if err == nil {
		r.bus = p
	}
	return p, err
}

func (r *Rack) presentBus() *process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bus
}

// keepBus starts the bus anew at its address whenever it has ended. The link
// protocol repairs what was lost; only a bus that does not come back ends the
// rack.
func (r *Rack) keepBus(p *process, address string) {
	for failures := 0; failures < busRestarts; failures++ {
		<-p.done
		if r.isClosing() {
			return
		}
		r.journal.line("launch", fmt.Sprintf("bus ended (%s), starting it again at %s", p.cmd.ProcessState, address))
		next, err := r.spawnBus(address)
		if err != nil {
			r.fail(err)
			return
		}
		if _, err := next.await(r.ctx); err == nil {
			failures = -1
		}
		p = next
	}
	r.fail(p.failure(""))
}

// sleepless is a setting of the Go runtime (GODEBUG) for a process that sleeps
// between messages and makes system calls in between: with a trace due at some
// time, here the latest that the setting can say, 24 days, the scheduler's monitor
// thread naps by itself instead of being put to sleep and woken up around every
// message.
const sleepless = "schedtrace=2147483647"

// busEnv is what the bus gets on top of env: sleepless, unless env says
// otherwise.
func busEnv(env []string) []string {
	const key = "GODEBUG="
	debug := ""
	for _, e := range env {
		if text, ok := strings.CutPrefix(e, key); ok {
			debug = text
		}
	}
	switch {
	case debug == "":
		return []string{key + sleepless}
	case strings.Contains(debug, "schedtrace="):
		return nil
	}
	return []string{key + debug + "," + sleepless}
}
