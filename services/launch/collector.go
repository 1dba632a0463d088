package launch

import (
	"cmp"
	"context"
	"fmt"

	"github.com/rackfab/rackfab/identity"
	"github.com/rackfab/rackfab/services/internal/serve"
)

// startCollector starts the rack's own collector and keeps one running at its
// address until Close. A rack does not need one: if it does not come back, that is
// told, and no more.
func (r *Rack) startCollector(ctx context.Context, o Options) error {
	r.collector = &kept{rack: r, as: child{name: identity.Collector}, more: o.Collect, lost: func(err error) {
		r.journal.line("launch", fmt.Sprintf("the rack goes on without a collector: %v", err))
	}}
	return r.collector.start(ctx, cmp.Or(o.Collector, serve.Loopback), "--any-port")
}

// Page is where the rack's own collector shows its page, "" if it shows none.
func (r *Rack) Page() string {
	if r.collector == nil {
		return ""
	}
	return r.collector.page
}

// Collector is where the rack's own collector listens, "" if it has none.
func (r *Rack) Collector() string {
	if r.collector == nil {
		return ""
	}
	return r.collector.address
}
