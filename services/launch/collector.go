package launch

import (
	"context"
	"fmt"
)

// collectorName is what the collector's process is called.
const collectorName = "collector"

// collectorRestarts is how often in a row a collector may end before it answers
// until the launcher leaves the rack without one.
const collectorRestarts = 5

// startCollector starts the rack's own collector and keeps one running at its
// address until Close.
func (r *Rack) startCollector(ctx context.Context, o Options) error {
	listen := o.Collector
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	p, err := r.spawnCollector(listen, o.Collect)
	if err != nil {
		return err
	}
	ready, err := p.await(ctx)
	if err != nil {
		return err
	}
	r.collectorAddress = ready.Address
	r.watchers.Go(func() { r.keepCollector(p, o.Collect) })
	return nil
}

// spawnCollector starts a collector and makes it the present one. It refuses once
// the rack is closing.
func (r *Rack) spawnCollector(address string, more []string) (*process, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing {
		return nil, errClosed
	}
	p, err := r.spawn(child{name: collectorName}, r.args("collector", append([]string{"--listen", address}, more...)...)...)
	if err == nil {
		r.collector = p
	}
	return p, err
}

// keepCollector starts the collector anew at its address whenever it has ended. A
// rack does not need one: if it does not come back, that is told, and no more.
func (r *Rack) keepCollector(p *process, more []string) {
	for failures := 0; failures < collectorRestarts; failures++ {
		<-p.done
		if r.isClosing() {
			return
		}
		r.journal.line("launch", fmt.Sprintf("collector ended (%s), starting it again at %s", p.cmd.ProcessState, r.collectorAddress))
		next, err := r.spawnCollector(r.collectorAddress, more)
		if err != nil {
			return
		}
		if _, err := next.await(r.ctx); err == nil {
			failures = -1
		}
		p = next
	}
	r.journal.line("launch", fmt.Sprintf("the rack goes on without a collector: %v", p.failure("")))
}

// Collector is where the rack's own collector listens, "" if it has none.
func (r *Rack) Collector() string { return r.collectorAddress }

// stopCollector ends the collector, which puts away what it holds.
func (r *Rack) stopCollector() {
	r.mu.Lock()
	p := r.collector
	r.mu.Unlock()
	if p != nil {
		p.stop(r.patience)
	}
}
