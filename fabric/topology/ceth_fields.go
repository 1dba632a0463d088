package topology

import (
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Congestion information in the ACK (CETH). ¶n is a paragraph of its document, which
// gives no numeric values.
var cethFields = []field[cc.CETHParams]{
	cite("¶179, fig. 14", choiceField("mode", "what an ACK tells: that there is congestion, or also how much and where",
		[]cc.CETHMode{cc.CETHIndication, cc.CETHInformation}, func(p *cc.CETHParams) *cc.CETHMode { return &p.Mode })),
	cite("¶148, fig. 9", choiceField("form", "where the information stands: a header after the AETH, or six or seven reserved bits of the BTH, with version and degree or the degree alone",
		[]cc.CETHForm{cc.CETHHeader, cc.CETHResv6, cc.CETHResv7, cc.CETHRatio6, cc.CETHRatio7}, func(p *cc.CETHParams) *cc.CETHForm { return &p.Form })),
	cite("own: ¶145 has 1 to 4 words", integerField("words", "length of the header in words of 4 bytes: degree and location, then depth, then delay", 1, 4, func(p *cc.CETHParams) *int { return &p.Words })),
	cite("¶185", choiceField("source", "where the receiver has the information from: the share of marked packets in a sliding window, or what switches write by INT or IOAM; or switch: the switches themselves write it into the ACKs that pass",
		[]cc.CETHSource{cc.CETHWindow, cc.CETHINT, cc.CETHIOAM, cc.CETHSwitch}, func(p *cc.CETHParams) *cc.CETHSource { return &p.Source })),
	cite("own", integerField("window_packets", "packets of a flow in the sliding window", 1, 1<<16, func(p *cc.CETHParams) *int { return &p.WindowPackets })),
	cite("own: T of DCQCN and PCN", quantityField(spans, "window_time", "age up to which a packet counts in the sliding window", shortest, longest, func(p *cc.CETHParams) *unit.Time { return &p.WindowTime })),
	cite("own: three equal classes", numberField("light", "share of marked packets, or of room in use, up to which congestion is light", interval{0, 1, false, false}, func(p *cc.CETHParams) *float64 { return &p.Light })),
	cite("own: three equal classes", numberField("medium", "share up to which congestion is medium; heavy beyond", interval{0, 1, false, false}, func(p *cc.CETHParams) *float64 { return &p.Medium })),
	cite("own: K_max of DCQCN, SIGCOMM'15", quantityField(sizes, "room", "what the queue of a port takes", 1, largest, func(p *cc.CETHParams) *unit.Bytes { return &p.Room })),
	cite("own: what fits a frame", integerField("hops", "switches that may write INT or IOAM", 1, frame.MaxHops, func(p *cc.CETHParams) *int { return &p.Hops })),
	cite("own: the CNP interval of DCQCN", quantityField(spans, "interval", "how long a requester waits for a READ request that tells of marked responses, before it sends a CNP", shortest, longest, func(p *cc.CETHParams) *unit.Time { return &p.Interval })),
	cite("¶198 for a rate per class; own: of which rate it is a share", choiceField("degree", "what the sender makes of the degree: in each window a share of the current rate, or a share of line rate, by a table of classes; or nothing",
		[]cc.CETHUse{cc.CETHIgnore, cc.CETHShare, cc.CETHTable}, func(p *cc.CETHParams) *cc.CETHUse { return &p.Degree })),
	cite("¶199: one of the methods, alone or with others", choiceField("depth", "what the sender makes of location and depth: a budget of packets, or nothing",
		[]cc.CETHUse{cc.CETHIgnore, cc.CETHBudget}, func(p *cc.CETHParams) *cc.CETHUse { return &p.Depth })),
	cite("¶200: one of the methods, alone or with others", choiceField("delay", "what the sender makes of the delay: a rate, a budget of packets, or nothing",
		[]cc.CETHUse{cc.CETHIgnore, cc.CETHRate, cc.CETHBudget}, func(p *cc.CETHParams) *cc.CETHUse { return &p.Delay })),
	classRate("rate_none", cc.DegreeNone), classRate("rate_light", cc.DegreeLight),
	classRate("rate_medium", cc.DegreeMedium), classRate("rate_heavy", cc.DegreeHeavy),
	cite("¶31; own: ¶30 has both", choiceField("clear", "what the sender does when the path is clear: keep its rate, or take the preset rate",
		[]cc.CETHClear{cc.CETHKeep, cc.CETHPreset}, func(p *cc.CETHParams) *cc.CETHClear { return &p.Clear })),
	cite("own: line rate", numberField("preset", "preset rate, as a share of line rate", interval{0, 1, true, false}, func(p *cc.CETHParams) *float64 { return &p.Preset })),
	cite("own: one base RTT", quantityField(spans, "window", "time window, in which the rate changes at most once, 0 for the longest base RTT of the NIC's flows", 0, longest, func(p *cc.CETHParams) *unit.Time { return &p.Window })),
	cite("own: about one way without queues", quantityField(spans, "target", "delay up to which nothing is slowed, 0 for half of window", 0, longest, func(p *cc.CETHParams) *unit.Time { return &p.Target })),
	cite("own: the first cut of DCQCN", numberField("cut", "share that the rate loses where congestion is told without information", interval{0, 1, true, true}, func(p *cc.CETHParams) *float64 { return &p.Cut })),
	cite("own: as DCQCN in "+ns3, quantityField(rates, "min_rate", "floor below which the rate is not pushed, 0 for none", 0, fastest, func(p *cc.CETHParams) *unit.Rate { return &p.MinRate })),
}

func classRate(key string, d cc.Degree) field[cc.CETHParams] {
	return cite("own: 100, 75, 50, 25 %", numberField(key, "rate at degree "+d.String()+", as a share of the current rate (degree: share) or of line rate (degree: table)", interval{0, 1, true, false},
		func(p *cc.CETHParams) *float64 { return &p.Rates[d] }))
}

// checkCETH checks that the degrees are in order, that a switch can write the form
// without a new ICRC, and that frames with telemetry fit the MTU of every link.
func (b *builder) checkCETH() {
	p, src := &b.s.CC.CETH, b.schemes["ceth"]
	if p.Light > p.Medium {
		b.fault(src.of("light"), "%v is above medium %v", p.Light, p.Medium)
	}
	if p.Source == cc.CETHSwitch && p.Mode == cc.CETHInformation && p.Form != cc.CETHResv6 && p.Form != cc.CETHRatio6 {
		b.fault(src.of("form"), "%s is covered by the ICRC, which a switch does not make anew: want resv6 or ratio6 with source switch", p.Form)
	}
	if b.s.Scheme != "ceth" || p.Source != cc.CETHINT && p.Source != cc.CETHIOAM {
		return
	}
	const shim = 16 // of INT; IOAM's is shorter
	for _, n := range b.s.Nodes {
		for _, l := range b.s.Links {
			if n.Kind == NIC && DataFrame(n.NIC.Payload)+shim > l.MTU {
				b.fault(src.of("source"), "%s makes frames of %dB of a payload of %s, above the mtu of %dB of link %s: want a smaller payload or a larger mtu",
					p.Source, DataFrame(n.NIC.Payload)+shim, n.NIC.Payload, l.MTU, b.linkName(l))
				return
			}
		}
	}
}
