package launch

import (
	"context"
	"os"
	"strings"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/identity"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// startBus starts the bus on a free port, with new keys for the controller and the
// nodes, and restarts it on that port whenever it ends, until Close. The link
// protocol repairs the losses. The rack fails only if the bus cannot be restarted.
func (r *Rack) startBus(ctx context.Context, nodes []topology.Node) (err error) {
	if r.keys, err = newKeys(nodes); err != nil {
		return err
	}
	as := child{
		name: identity.Bus, env: busEnv(append(os.Environ(), r.env...)), Inheritance: Inheritance{Users: r.keys.users(r.name)},
	}
	r.bus = &kept{rack: r, as: as, lost: r.fail}
	err = r.bus.start(ctx, serve.Loopback)
	r.url = r.bus.address
	return err
}

// sleepless is a setting of the Go runtime (GODEBUG) for a process that alternates
// between sleep and system calls for every message. While a scheduler trace is
// scheduled, here at the largest interval possible, 24 days, the scheduler's monitor
// thread sleeps for short times on its own, instead of being stopped and woken up
// around every message.
const sleepless = "schedtrace=2147483647"

// busEnv returns the environment of the bus in addition to env: sleepless, unless env
// sets schedtrace already.
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
