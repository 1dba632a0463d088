package nodeservice

import (
	"github.com/cespare/xxhash/v2"

	"github.com/rackfab/rackfab/bus/faulty"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/changes"
	"github.com/rackfab/rackfab/services/internal/runner"
)

// impair sets the impairment of the envelopes that the node sends from now on. The
// nodes draw their faults independently of each other.
func (p *part) impair(i *rackfabv1.BusImpairment) error {
	if err := changes.CheckImpairment("impair", i); err != nil {
		return err
	}
	rates := faulty.Rates{Drop: i.GetLose(), Repeat: i.GetRepeat(), Hold: i.GetDelay()}
	p.bus.Impair(rates, i.GetSeed()^xxhash.Sum64String(p.scenario.Load().Nodes[p.index].Name))
	return nil
}

// busStats returns the counters of the node's envelopes.
func (p *part) busStats(r *runner.Result) *rackfabv1.BusStats {
	struck := p.bus.Struck()
	return &rackfabv1.BusStats{
		Envelopes: r.Envelopes, Resent: r.Resent, Missed: r.Missed, Repeated: r.Repeated, Early: r.Early,
		StruckLost: struck.Dropped, StruckRepeated: struck.Repeated, StruckDelayed: struck.Held,
	}
}
