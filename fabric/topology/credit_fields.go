package topology

import (
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/unit"
)

// creditFields are the settings of receiver credit, for cbrc and cbrc-aimd.
var creditFields = []field[credit.Params]{
	cite("uet-htsim main_uec.cpp", numberField("rate_share", "share of the receiver's link that is credited", interval{0, 1, true, false}, func(p *credit.Params) *float64 { return &p.RateShare })),
	cite("own: the NIC's largest data packet", quantityField(sizes, "mtu", "what a coefficient of 1 grants; 0 for the NIC's largest data packet", 0, bigFrame, func(p *credit.Params) *unit.Bytes { return &p.MTU })),
	cite("CBRC-11: the original coefficient is 1", integerField("active", "coefficient of a sender with demand", 1, 1<<16, func(p *credit.Params) *int { return &p.Active })),
	cite("CBRC-17: k = 4, UEC's packets per pull", integerField("idle", "coefficient k of a sender whose demand is met", 1, 1<<16, func(p *credit.Params) *int { return &p.Idle })),
	cite("CBRC-17: m = 1", integerField("rise", "additive step m of the idle coefficient's recovery", 1, 1<<16, func(p *credit.Params) *int { return &p.Rise })),
	cite("CBRC-11", choiceField("decrease", "law of the active coefficient while a sender signals excess: half is 1/2^n, beta is beta^n",
		[]credit.Decrease{credit.DecreaseHalf, credit.DecreaseBeta}, func(p *credit.Params) *credit.Decrease { return &p.Decrease })),
	cite("CBRC-12: 1/2 is the same as half", numberField("beta", "base of the law beta", interval{0, 1, true, true}, func(p *credit.Params) *float64 { return &p.Beta })),
	cite("CBRC-18: an option", quantityField(spans, "guard", "a sender with demand gets a quantum of 256B at least this often, 0 for never", 0, longest, func(p *credit.Params) *unit.Time { return &p.Guard })),
	cite("uet-htsim initRccc: 1.5 bandwidth-delay products", quantityField(sizes, "window", "most credit that a sender may hold of one receiver, and what it starts with; 0 for 1.5 bandwidth-delay products", 0, largest, func(p *credit.Params) *unit.Bytes { return &p.Window })),
	cite("CBRC-26: one bandwidth-delay product", quantityField(sizes, "threshold", "accumulated credit above which a sender signals excess, 0 for one bandwidth-delay product", 0, largest, func(p *credit.Params) *unit.Bytes { return &p.Threshold })),
	cite("own: 4 links of 5us both ways", quantityField(spans, "base_rtt", "round-trip time of the rack, for window, threshold and what counts as wasted", shortest, longest, func(p *credit.Params) *unit.Time { return &p.BaseRTT })),
	cite("own: at 128 senders a turn comes every 107us", quantityField(spans, "retry", "how long a sender without credit and news waits before it asks again; then twice as long, up to 16 times", shortest, longest, func(p *credit.Params) *unit.Time { return &p.Retry })),
	cite("CBRC-26", choiceField("scope", "whose credit is held against the threshold: of a pair, or of all receivers of a sender",
		[]credit.Scope{credit.ScopePair, credit.ScopeAll}, func(p *credit.Params) *credit.Scope { return &p.Scope })),
	cite("CBRC-43: the law whose waste is steady", choiceField("law", "what a sender asks for: all that waits, what its credit does not cover, or a share of that (UEC)",
		[]credit.Law{credit.LawBacklog, credit.LawUnheld, credit.LawShared}, func(p *credit.Params) *credit.Law { return &p.Law })),
	cite("CBRC-21: either", choiceField("excess", "encoding of the excess signal in target_pull",
		[]credit.Excess{credit.ExcessOnes, credit.ExcessZeros}, func(p *credit.Params) *credit.Excess { return &p.Excess })),
	cite("CBRC-24: UET 1.0", integerField("counter", "bits of target_pull that count", 12, 24, func(p *credit.Params) *credit.Counter { return &p.Counter })),
	cite("CBRC-20", choiceField("order", "which indicated packets are consecutive: as they arrive, or as they were sent",
		[]credit.Order{credit.OrderArrival, credit.OrderPSN}, func(p *credit.Params) *credit.Order { return &p.Order })),
	cite("uet-htsim", choiceField("start", "speculative: a sender starts with a full window; asked: it asks first",
		[]credit.Start{credit.StartSpeculative, credit.StartAsked}, func(p *credit.Params) *credit.Start { return &p.Start })),
}
