package launch

import (
	"cmp"
	"context"
	"fmt"

	"github.com/rackfab/rackfab/identity"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// startCollector starts the rack's own collector, and restarts it at its address
// whenever it ends, until Close. If it cannot be restarted, the launcher logs that,
// and the rack continues without it.
func (r *Rack) startCollector(ctx context.Context, o Options) error {
	r.collector = &kept{rack: r, as: child{name: identity.Collector}, more: o.Collect, lost: func(err error) {
		r.journal.line("launch", fmt.Sprintf("the rack goes on without a collector: %v", err))
	}}
	return r.collector.start(ctx, cmp.Or(o.Collector, serve.Loopback), "--any-port")
}

// Page returns the address of the web page of the rack's own collector, "" if there
// is none.
func (r *Rack) Page() string {
	if r.collector == nil {
		return ""
	}
	return r.collector.page
}

// Collector returns the address of the rack's own collector, "" if it has none.
func (r *Rack) Collector() string {
	if r.collector == nil {
		return ""
	}
	return r.collector.address
}
