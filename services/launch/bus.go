package launch

import (
	"context"
	"os"
	"strings"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/identity"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// startBus starts the bus at a port that it chooses, with fresh keys for the
// controller and the nodes, and keeps one running at that port until Close. The link
// protocol repairs what was lost; only a bus that does not come back ends the rack.
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
