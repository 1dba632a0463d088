package inspect

import (
	"github.com/rackfab/rackfab/fabric/nic/program"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"

	"github.com/rackfab/rackfab/report/table"
)

// programTables lists the collectives, and the steps of each host that these and the programs make; none if there are
// none.
func programTables(s *topology.Scenario) (list []*table.Table) {
	if len(s.Collectives) > 0 {
		t := table.New(3, "collective", "kind", "algorithm", "ranks", "data", "channels", "chunks", "messages")
		t.Title = "collectives"
		for i := range s.Collectives {
			c := &s.Collectives[i]
			t.Row(c.Name, c.Kind, c.Algorithm, c.Ranks, c.Data(), c.Channels, c.Chunks, c.Messages())
		}
		list = append(list, t)
	}
	if len(s.Steps) > 0 {
		t := table.New(1, "host", "steps", "of collectives", "sends", "receives", "calcs", "flows", "arrivals", "sent")
		t.Title = "steps"
		for i := range s.Steps {
			h := &s.Steps[i]
			kinds, shares, sent := stepsOf(s, h)
			t.Row(s.Nodes[h.Node].Name, h.Len(), shares, kinds[program.Send], kinds[program.Receive], kinds[program.Calc], kinds[program.Transfer], kinds[program.Arrival], sent)
		}
		list = append(list, t)
	}
	return list
}

// stepsOf counts the steps of a host by kind and those of collectives, and the bytes that it sends, without those of
// endless flows.
func stepsOf(s *topology.Scenario, h *topology.HostSteps) (kinds map[program.Kind]int, shares int, sent unit.Bytes) {
	kinds = map[program.Kind]int{}
	for i := range h.Len() {
		step := h.At(i)
		kinds[step.Kind]++
		switch step.Kind {
		case program.Send:
			sent += unit.Bytes(step.Amount)
		case program.Transfer:
			sent += max(s.Flows[step.Flow].Size, 0)
		default:
		}
	}
	for _, share := range h.Shares {
		shares += share.End - share.First
	}
	return kinds, shares, sent
}
