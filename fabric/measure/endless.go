package measure

import (
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// FlowBytes is the payload of one flow.
type FlowBytes struct {
	Flow  fabric.FlowID `json:"flow"`
	Bytes unit.Bytes    `json:"bytes"`
}

// endless counts the payload of an endless flow of a burst. Such a flow never
// completes, so only its goodput can be compared.
func (r *Recorder) endless(n *fabric.Note) {
	if n.Flow < topology.FirstConnection && endless(r.s.Flows[n.Flow]) {
		entryOf(&r.result.Endless, func(b FlowBytes) bool { return b.Flow == n.Flow }, func() FlowBytes { return FlowBytes{Flow: n.Flow} }).Bytes += n.Bytes()
	}
}

func endless(f topology.Flow) bool { return f.Burst >= 0 && f.Size == topology.Endless }

// EndlessGoodput returns the nearest-rank percentile, 0 to 1000 per mille, of the
// goodput of the endless flows of bursts. It returns 0 if there are no such flows.
func (r *Run) EndlessGoodput(perMille int) unit.Rate {
	rates := make([]unit.Rate, len(r.Endless))
	for i := range r.Endless {
		rates[i] = r.Endless[i].Goodput
	}
	slices.Sort(rates)
	return Quantile(rates, perMille)
}
