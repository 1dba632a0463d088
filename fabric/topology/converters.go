package topology

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/switching/rttx"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The converter of ECN into RTT, configured per switch (package rttx). [00nn] is a
// paragraph of its document.
var rttxFields = []field[rttx.Params]{
	cite("[0048]", choiceField("key", "fields that tell a flow: addresses, ports and protocol, or addresses, UDP ports and QPN",
		[]rttx.Key{rttx.KeyFiveTuple, rttx.KeyQueuePair}, func(p *rttx.Params) *rttx.Key { return &p.Key })),
	cite("own: as wide as the hash units of programmable switches", integerField("key_bits", "width of the FlowKey, the hash of these fields", 1, 64, func(p *rttx.Params) *int { return &p.KeyBits })),
	cite("own: by the rule of [0051] alone, mirror, no RoCEv2 packet matches", choiceField("match", "how a return packet finds its flow: by the queue pairs of the control plane, or by swapping addresses and ports",
		[]rttx.Match{rttx.MatchPairs, rttx.MatchMirror}, func(p *rttx.Params) *rttx.Match { return &p.Match })),
	cite("own", integerField("table", "flows that the flow table holds; any other flow passes untouched", 1, rttx.MaxTable, func(p *rttx.Params) *int { return &p.Table })),
	cite("own: two base RTTs", quantityField(spans, "age", "silence after which a flow counts as not congested, 0 for twice the longest base RTT of the flows", 0, longest, func(p *rttx.Params) *unit.Time { return &p.Age })),
	cite("[0044]", choiceField("judge", "what is a congestion event beside CE and the class's own marking law, when a packet comes in: nothing, the queue that it finds, the delay of that queue at line rate, or the shared buffer in use",
		[]rttx.Judge{rttx.JudgeCE, rttx.JudgeQueue, rttx.JudgeDelay, rttx.JudgeOccupancy}, func(p *rttx.Params) *rttx.Judge { return &p.Judge })),
	cite("K_min of DCQCN, SIGCOMM'15", quantityField(sizes, "queue", "judge queue: an event from here on", 0, largest, func(p *rttx.Params) *unit.Bytes { return &p.Queue })),
	cite("own: K_min of DCQCN at 40 Gbit/s", quantityField(spans, "delay", "judge delay: an event from here on", 0, longest, func(p *rttx.Params) *unit.Time { return &p.Delay })),
	cite("own: K_min of DCQCN at each of 20 ports", quantityField(sizes, "occupancy", "judge occupancy: an event from here on", 0, largest, func(p *rttx.Params) *unit.Bytes { return &p.Occupancy })),
	cite("[0049]", integerField("window", "forward packets of a window", 1, rttx.MaxWindow, func(p *rttx.Params) *int { return &p.Window })),
	cite("[0060]", choiceField("way", "how the increment follows from the level: D, f(level) D, max(P_max, f(level)) D, or table 1",
		[]rttx.Way{rttx.WayFixed, rttx.WayGraded, rttx.WayProbabilistic, rttx.WayTable}, func(p *rttx.Params) *rttx.Way { return &p.Way })),
	cite("[0066]", integerField("levels", "N, the highest level; table 1 wants 4", 1, rttx.MaxLevels, func(p *rttx.Params) *int { return &p.Levels })),
	cite("[0056]", choiceField("bound", "what P_max, the switch's pmax, is to the increment: max makes it a floor, min a cap",
		[]rttx.Bound{rttx.BoundMax, rttx.BoundMin}, func(p *rttx.Params) *rttx.Bound { return &p.Bound })),
	cite("[0065] at 100 Gbit/s, else [0060]", incrementField()),
	cite("[0068] where the senders can see it", stampField()),
	cite("[0050]", choiceField("clear", "what stands in the place of CE that was counted",
		[]rttx.Clear{rttx.ClearNotECT, rttx.ClearECT0}, func(p *rttx.Params) *rttx.Clear { return &p.Clear })),
}

var converterFields = prefixed("rttx_", lift(rttxFields, func(s *SwitchSettings) *rttx.Params { return &s.RTTX }))

// stampField is the timestamp that the converter rewrites. If it is omitted, the RTT
// setting of the senders determines it.
func stampField() field[rttx.Params] {
	f := choiceField("stamp", "timestamp that is rewritten; without it, ts if any sender has rtt echo, else tr",
		[]rttx.Stamp{rttx.StampReceived, rttx.StampSent}, func(p *rttx.Params) *rttx.Stamp { return &p.Stamp })
	write := f.write
	f.write = func(p *rttx.Params) *yaml.Node {
		if p.Stamp == "" {
			return nil
		}
		return write(p)
	}
	return f
}

// defaultRTTX returns the published settings. It leaves open the values that the rest
// of the scenario determines.
func defaultRTTX() rttx.Params {
	p := rttx.Default()
	p.Stamp, p.D = "", openD
	return p
}

// completeConverters fills in the values that follow from the flows.
func (b *builder) completeConverters(ends [][]End) {
	if len(b.list) > 0 {
		return // the flows may have no path
	}
	age, stamp := unit.Time(0), rttx.StampReceived
	paths := newPaths(&b.s, ends)
	for i := range b.s.Flows {
		f := &b.s.Flows[i]
		age = max(age, 2*paths.baseRTT(f.From, f.To))
		if b.s.Nodes[f.From].NIC.RTT == cc.RTTEcho {
			stamp = rttx.StampSent
		}
	}
	if len(b.s.Flows) == 0 && slices.ContainsFunc(b.s.Nodes, func(n Node) bool { return n.Kind == NIC && n.NIC.RTT == cc.RTTEcho }) {
		stamp = rttx.StampSent // with another seed, workloads may draw flows of these NICs
	}
	b.checkIncrements()
	for i := range b.s.Nodes {
		p := &b.s.Nodes[i].Switch.RTTX
		if b.s.Nodes[i].Kind != Switch {
			continue
		}
		if p.Age == 0 {
			p.Age = max(age, shortest)
		}
		if p.Stamp == "" {
			p.Stamp = stamp
		}
	}
}

// checkConverters checks that the settings of each converter are consistent, that
// they fit the senders whose RTT samples it is to change (RTTX-35), and that they fit
// the receivers whose ACKs it is to match.
func (b *builder) checkConverters() {
	echo := b.firstFlow(func(f Flow) bool { return b.s.Nodes[f.From].NIC.RTT == cc.RTTEcho })
	plain := b.firstFlow(func(f Flow) bool { return b.s.Nodes[f.To].NIC.ACKPorts != "mirrored" })
	for i, n := range b.s.Nodes {
		if n.Kind != Switch {
			continue
		}
		p, src := n.Switch.RTTX, b.nodes[i]
		if p.Way == rttx.WayTable && p.Levels != rttx.TableLevels {
			b.fault(src.of("rttx_levels"), "%d does not fit table 1, want %d, or another rttx_way", p.Levels, rttx.TableLevels)
		}
		if p.Stamp == rttx.StampReceived && echo != nil {
			b.fault(src.of("rttx_stamp"), "%s changes nothing that %s sees, whose rtt is %s: want ts here, or rtt %s there",
				p.Stamp, b.s.Nodes[echo.From].Name, cc.RTTEcho, cc.RTTReceiver)
		}
		switch mirror := p.Match == rttx.MatchMirror; {
		case mirror && p.Key != rttx.KeyFiveTuple:
			b.fault(src.of("rttx_match"), "%s finds no flow by rttx_key %s, since the QPN of a return packet is the sender's: want rttx_key %s",
				p.Match, p.Key, rttx.KeyFiveTuple)
		case mirror && plain != nil:
			b.fault(src.of("rttx_match"), "%s finds no flow of %s, whose ack_ports are plain: want pairs here, or ack_ports mirrored there",
				p.Match, b.s.Nodes[plain.To].Name)
		}
	}
}

// firstFlow returns the first flow for which so returns true, or nil if there is
// none.
func (b *builder) firstFlow(so func(Flow) bool) *Flow {
	for i, f := range b.s.Flows {
		if so(f) {
			return &b.s.Flows[i]
		}
	}
	return nil
}
