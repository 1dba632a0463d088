package scenariofile

import (
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/unit"
)

// creditFields are the settings of receiver credit, for cbrc and cbrc-aimd.
var creditFields = []field[credit.Params]{
	cite("uet-htsim main_uec.cpp", of("rate_share", "share of the receiver's link rate that is granted as credit", number(positiveFraction), func(p *credit.Params) *float64 { return &p.RateShare })),
	cite("own: the NIC's largest data packet", of("mtu", "credit granted by a coefficient of 1; 0 for the NIC's largest data packet", sizes.from(0, bigFrame), func(p *credit.Params) *unit.Bytes { return &p.MTU })),
	cite("CBRC-11: the original coefficient is 1", of("active", "coefficient of a sender with demand", integer[int](1, 1<<16), func(p *credit.Params) *int { return &p.Active })),
	cite("CBRC-17: k = 4, UEC's packets per pull", of("idle", "coefficient k of a sender whose demand is met", integer[int](1, 1<<16), func(p *credit.Params) *int { return &p.Idle })),
	cite("CBRC-17: m = 1", of("rise", "additive step m of the idle coefficient's recovery", integer[int](1, 1<<16), func(p *credit.Params) *int { return &p.Rise })),
	cite("CBRC-11", of("decrease", "law of the active coefficient while a sender signals excess: half is 1/2^n, beta is beta^n", oneOf(credit.DecreaseHalf, credit.DecreaseBeta), func(p *credit.Params) *credit.Decrease { return &p.Decrease })),
	cite("CBRC-12: 1/2 is the same as half", of("beta", "base of the law beta", number(openFraction), func(p *credit.Params) *float64 { return &p.Beta })),
	cite("CBRC-18: an option", of("guard", "longest time between quanta of 256B to a sender with demand, 0 for no limit", times.from(0, longest), func(p *credit.Params) *unit.Time { return &p.Guard })),
	cite("uet-htsim initRccc: 1.5 bandwidth-delay products", of("window", "limit of a sender's credit from one receiver, and its initial credit; 0 for 1.5 bandwidth-delay products", sizes.from(0, largest), func(p *credit.Params) *unit.Bytes { return &p.Window })),
	cite("CBRC-26: one bandwidth-delay product", of("threshold", "accumulated credit above which a sender signals excess, 0 for one bandwidth-delay product", sizes.from(0, largest), func(p *credit.Params) *unit.Bytes { return &p.Threshold })),
	cite("own: 4 links of 5us both ways", of("base_rtt", "round-trip time of the rack, used for window, threshold and the figure of wasted credit", times.from(shortest, longest), func(p *credit.Params) *unit.Time { return &p.BaseRTT })),
	cite("own: with 128 senders, each is served every 107us", of("retry", "how long a sender without credit waits before it requests credit again; doubles with each retry, up to 16 times", times.from(shortest, longest), func(p *credit.Params) *unit.Time { return &p.Retry })),
	cite("CBRC-26", of("scope", "credit compared with the threshold: that of one receiver (pair), or of all receivers of the sender", oneOf(credit.ScopePair, credit.ScopeAll), func(p *credit.Params) *credit.Scope { return &p.Scope })),
	cite("CBRC-43: the law with steady waste", of("law", "requested credit: the whole backlog, the backlog not covered by credit, or a share of that (UEC)", oneOf(credit.LawBacklog, credit.LawUnheld, credit.LawShared), func(p *credit.Params) *credit.Law { return &p.Law })),
	cite("CBRC-21 allows both", of("excess", "encoding of the excess signal in target_pull", oneOf(credit.ExcessOnes, credit.ExcessZeros), func(p *credit.Params) *credit.Excess { return &p.Excess })),
	cite("CBRC-24: UET 1.0", of("counter", "bits of the counter target_pull", integer[credit.Counter](12, 24), func(p *credit.Params) *credit.Counter { return &p.Counter })),
	cite("CBRC-20", of("order", "order that decides which indicated packets are consecutive: arrival, or transmission (PSN)", oneOf(credit.OrderArrival, credit.OrderPSN), func(p *credit.Params) *credit.Order { return &p.Order })),
	cite("uet-htsim", of("start", "speculative: a sender starts with a full window; asked: it requests credit first", oneOf(credit.StartSpeculative, credit.StartAsked), func(p *credit.Params) *credit.Start { return &p.Start })),
}
