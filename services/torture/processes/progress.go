package processes

import (
	"context"
	"fmt"
	"strings"
	"sync"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// progress counts the progress of a run: faults that have begun, and looks at its status that show
// that its nodes have advanced.
type progress struct {
	mu    sync.Mutex
	count int
	last  string
}

// look looks at the status of the run, and returns a number that increases while the run makes
// progress. A controller that does not answer makes none.
func (d *driver) look(ctx context.Context) int {
	if out, err := d.api().GetStatus(ctx, &rackfabv1.GetStatusRequest{}); err == nil {
		d.progress.see(out.GetStatus())
	}
	d.progress.mu.Lock()
	defer d.progress.mu.Unlock()
	return d.progress.count
}

// add counts a fault that begins.
func (p *progress) add() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
}

// see counts a status if it differs from the last one, or if nodes advance within a grant: as long as
// any of them has advanced lately, the controller lists no waits.
func (p *progress) see(now *rackfabv1.RackStatus) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var s strings.Builder
	fmt.Fprintln(&s, now.GetState(), now.GetAtPs(), now.GetGrantedPs(), now.GetRecoveries())
	for _, w := range now.GetWaits() {
		fmt.Fprintln(&s, w.GetProcess(), w.GetAtPs())
	}
	live := now.GetState() == rackfabv1.RackState_RACK_STATE_RUNNING || now.GetState() == rackfabv1.RackState_RACK_STATE_PAUSED
	works := live && now.GetAtPs() < now.GetGrantedPs() && len(now.GetWaits()) == 0
	if works || s.String() != p.last {
		p.count++
	}
	p.last = s.String()
}
