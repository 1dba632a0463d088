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
	if n.Flow >= topology.FirstConnection {
		return
	}
	f := &r.s.Flows[n.Flow]
	if f.Burst < 0 || f.Size != topology.Endless {
		return
	}
	list := &r.result.Endless
	at := slices.IndexFunc(*list, func(b FlowBytes) bool { return b.Flow == n.Flow })
	if at < 0 {
		at, *list = len(*list), append(*list, FlowBytes{Flow: n.Flow})
	}
	(*list)[at].Bytes += n.Bytes()
}

// endlessFlows lists the endless flows of bursts, in scenario order.
func endlessFlows(s *topology.Scenario, nodes []*NodeResult, ends map[int]Completion) (list []Flow) {
	bytes := map[fabric.FlowID]unit.Bytes{}
	for _, n := range nodes {
		for _, b := range n.Endless {
			bytes[b.Flow] = b.Bytes
		}
	}
	for i, f := range s.Flows {
		if f.Burst < 0 || f.Size != topology.Endless {
			continue
		}
		one := Flow{Name: f.Name, From: s.Nodes[f.From].Name, To: s.Nodes[f.To].Name, Bytes: bytes[fabric.FlowID(i)], Start: f.Start, End: s.Duration}
		if c, stopped := ends[i]; stopped {
			one.End = c.End
		}
		one.Goodput = unit.Over(one.Bytes, one.End-one.Start)
		list = append(list, one)
	}
	return list
}

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
