package scenariofile

import (
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Congestion information in the ACK. CETH ¶n is a paragraph of its document, which
// gives no numeric values.
var cethFields = []field[cc.CETHParams]{
	cite("CETH ¶179, fig. 14", of("mode", "content of an ACK: whether there is congestion, or also its degree and location", oneOf(cc.CETHIndication, cc.CETHInformation), func(p *cc.CETHParams) *cc.CETHMode { return &p.Mode })),
	cite("CETH ¶148, fig. 9", of("form", "location of the information: a header after the AETH, or six or seven reserved bits of the BTH, with version and degree or the degree alone", oneOf(cc.CETHHeader, cc.CETHResv6, cc.CETHResv7, cc.CETHRatio6, cc.CETHRatio7), func(p *cc.CETHParams) *cc.CETHForm { return &p.Form })),
	cite("own: CETH ¶145 has 1 to 4 words", of("words", "length of the header in words of 4 bytes: degree and location, then depth, then delay", integer[int](1, 4), func(p *cc.CETHParams) *int { return &p.Words })),
	cite("CETH ¶185", of("source", "source of the receiver's information: the share of marked packets in a sliding window, or INT or IOAM data from switches; switch: the switches write it into passing ACKs", oneOf(cc.CETHWindow, cc.CETHINT, cc.CETHIOAM, cc.CETHSwitch), func(p *cc.CETHParams) *cc.CETHSource { return &p.Source })),
	cite("own", of("window_packets", "packets of a flow in the sliding window", integer[int](1, 1<<16), func(p *cc.CETHParams) *int { return &p.WindowPackets })),
	cite("own: T of DCQCN and PCN", of("window_time", "longest age of a packet in the sliding window", times.from(shortest, longest), func(p *cc.CETHParams) *unit.Time { return &p.WindowTime })),
	cite("own: three equal classes", of("light", "share of marked packets, or of room, up to which congestion is light", number(unitInterval), func(p *cc.CETHParams) *float64 { return &p.Light })),
	cite("own: three equal classes", of("medium", "share up to which congestion is medium; heavy beyond", number(unitInterval), func(p *cc.CETHParams) *float64 { return &p.Medium })),
	cite("own: K_max of DCQCN, SIGCOMM'15", of("room", "queue length of a port that counts as full", sizes.from(1, largest), func(p *cc.CETHParams) *unit.Bytes { return &p.Room })),
	cite("own: the most that a frame can carry", of("hops", "switches that may write INT or IOAM", integer[int](1, frame.MaxHops), func(p *cc.CETHParams) *int { return &p.Hops })),
	cite("own: the CNP interval of DCQCN", of("interval", "how long a requester waits for a READ request to report marked responses before it sends a CNP", times.from(shortest, longest), func(p *cc.CETHParams) *unit.Time { return &p.Interval })),
	cite("CETH ¶198 for a rate per class; own: the base of the share", of("degree", "use of the degree at the sender: ignored, once per window a share of the current rate, or a share of line rate from a table of classes", oneOf(cc.CETHIgnore, cc.CETHShare, cc.CETHTable), func(p *cc.CETHParams) *cc.CETHUse { return &p.Degree })),
	cite("CETH ¶199: one of the methods, alone or with others", of("depth", "use of location and depth at the sender: ignored, or a budget of packets", oneOf(cc.CETHIgnore, cc.CETHBudget), func(p *cc.CETHParams) *cc.CETHUse { return &p.Depth })),
	cite("CETH ¶200: one of the methods, alone or with others", of("delay", "use of the delay at the sender: ignored, a rate, or a budget of packets", oneOf(cc.CETHIgnore, cc.CETHRate, cc.CETHBudget), func(p *cc.CETHParams) *cc.CETHUse { return &p.Delay })),
	classRate("rate_none", cc.DegreeNone), classRate("rate_light", cc.DegreeLight),
	classRate("rate_medium", cc.DegreeMedium), classRate("rate_heavy", cc.DegreeHeavy),
	cite("CETH ¶31; own: CETH ¶30 has both", of("clear", "rate of the sender when the path is clear: keep the current rate, or use the preset rate", oneOf(cc.CETHKeep, cc.CETHPreset), func(p *cc.CETHParams) *cc.CETHClear { return &p.Clear })),
	cite("own: line rate", of("preset", "preset rate, as a share of line rate", number(positiveFraction), func(p *cc.CETHParams) *float64 { return &p.Preset })),
	cite("own: one base RTT", of("window", "time between rate changes, 0 for the longest base RTT of the NIC's flows", times.from(0, longest), func(p *cc.CETHParams) *unit.Time { return &p.Window })),
	cite("own: about one way without queues", of("target", "delay up to which a flow is not slowed down, 0 for half of window", times.from(0, longest), func(p *cc.CETHParams) *unit.Time { return &p.Target })),
	cite("own: the first cut of DCQCN", of("cut", "rate cut, as a share, on congestion without further information", number(openFraction), func(p *cc.CETHParams) *float64 { return &p.Cut })),
	cite("own: as DCQCN in "+ns3, of("min_rate", "minimum rate, 0 for none", rates.from(0, fastest), func(p *cc.CETHParams) *unit.Rate { return &p.MinRate })),
}

func classRate(key string, d cc.Degree) field[cc.CETHParams] {
	return cite("own: 100, 75, 50, 25 %", of(key, "rate at degree "+d.String()+", as a share of the current rate (degree: share) or of line rate (degree: table)", number(positiveFraction), func(p *cc.CETHParams) *float64 { return &p.Rates[d] }))
}

// checkCETH checks that the degrees are in order, that a switch can write the form
// without a new ICRC, and that frames with telemetry fit the MTU of every link.
func (b *builder) checkCETH() {
	p, src := &b.s.CC.CETH, b.schemes["ceth"]
	if p.Light > p.Medium {
		b.fault(src.of("light"), "%v is above medium %v", p.Light, p.Medium)
	}
	if p.Source == cc.CETHSwitch && p.Mode == cc.CETHInformation && p.Form != cc.CETHResv6 && p.Form != cc.CETHRatio6 {
		b.fault(src.of("form"), "%s is covered by the ICRC, which a switch does not recompute: want resv6 or ratio6 with source switch", p.Form)
	}
	if b.s.Scheme != "ceth" || p.Source != cc.CETHINT && p.Source != cc.CETHIOAM {
		return
	}
	const shim = 16 // of INT; IOAM's is shorter
	for _, n := range b.s.Nodes {
		for _, l := range b.s.Links {
			if n.Kind == topology.NIC && topology.DataFrame(n.NIC.Payload)+shim > l.MTU {
				b.fault(src.of("source"), "%s needs frames of %dB for a payload of %s, above the mtu of %dB of link %s: want a smaller payload or a larger mtu",
					p.Source, topology.DataFrame(n.NIC.Payload)+shim, n.NIC.Payload, l.MTU, b.linkName(l))
				return
			}
		}
	}
}
