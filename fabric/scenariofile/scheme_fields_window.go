package scenariofile

import (
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The fields of the schemes with a window. Each cites the source of its default. hpccsim is
// the HPCC simulator.

const hpccsim = "HPCC simulator, "

var dctcpFields = []field[cc.DCTCPParams]{
	cite(hpccsim+"run.py dctcp: 0.0625; RFC 8257 §4.3", of("g", "weight of an RTT's share of marks in alpha", number(positiveFraction), func(p *cc.DCTCPParams) *float64 { return &p.G })),
	cite(hpccsim+"rdma-queue-pair.cc; RFC 8257 §3.3", of("alpha", "alpha at the start of a flow", number(unitInterval), func(p *cc.DCTCPParams) *float64 { return &p.Alpha })),
	cite(hpccsim+"run.py: 1 MTU per RTT, 615 Mbit/s at 13 us", of("ai_rate", "step of an increase, 0 for one packet per base RTT", rates.from(0, fastest), func(p *cc.DCTCPParams) *unit.Rate { return &p.AI })),
	cite(hpccsim+"GLOBAL_T 0; run.py has the longest base RTT of the network (GLOBAL_T 1)", of("rtt", "the window is the rate times this, 0 for the base RTT of the flow's path", times.from(0, longest), func(p *cc.DCTCPParams) *unit.Time { return &p.RTT })),
	cite(hpccsim+"mix/config.txt; run.py: 1 Gbit/s", of("min_rate", "minimum rate after a cut, 0 for none", rates.from(0, fastest), func(p *cc.DCTCPParams) *unit.Rate { return &p.MinRate })),
}
