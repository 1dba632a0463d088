package scenariofile

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/switching/rttx"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/routes"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The converter of ECN into RTT, configured per switch (package rttx). RTTX [00nn] is a
// paragraph of its document (docs/requirements.md).
var rttxFields = []field[rttx.Params]{
	cite("RTTX [0048]", of("key", "fields that identify a flow: addresses, ports and protocol, or addresses, UDP ports and QPN",
		oneOf(rttx.KeyFiveTuple, rttx.KeyQueuePair), func(p *rttx.Params) *rttx.Key { return &p.Key })),
	cite("own: as wide as the hash units of programmable switches", of("key_bits", "width of the FlowKey, the hash of these fields", integer[int](1, 64), func(p *rttx.Params) *int { return &p.KeyBits })),
	cite("own: no RoCEv2 packet matches by the rule of RTTX [0051] alone (mirror)", of("match", "how a return packet is matched to its flow: by the queue pairs known to the control plane, or by swapping addresses and ports",
		oneOf(rttx.MatchPairs, rttx.MatchMirror), func(p *rttx.Params) *rttx.Match { return &p.Match })),
	cite("own", of("table", "capacity of the flow table; packets of other flows pass unchanged", integer[int](1, rttx.MaxTable), func(p *rttx.Params) *int { return &p.Table })),
	cite("own: two base RTTs", of("age", "idle time after which a flow counts as not congested, 0 for twice the longest base RTT of the flows", times.from(0, longest), func(p *rttx.Params) *unit.Time { return &p.Age })),
	cite("RTTX [0044]", of("judge", "congestion events of arriving packets, in addition to CE and the class's marking law: none, queue length, queueing delay at line rate, or shared buffer occupancy",
		oneOf(rttx.JudgeCE, rttx.JudgeQueue, rttx.JudgeDelay, rttx.JudgeOccupancy), func(p *rttx.Params) *rttx.Judge { return &p.Judge })),
	cite("K_min of DCQCN, SIGCOMM'15", of("queue", "judge queue: threshold of a congestion event", sizes.from(0, largest), func(p *rttx.Params) *unit.Bytes { return &p.Queue })),
	cite("own: K_min of DCQCN at 40 Gbit/s", of("delay", "judge delay: threshold of a congestion event", times.from(0, longest), func(p *rttx.Params) *unit.Time { return &p.Delay })),
	cite("own: K_min of DCQCN at each of 20 ports", of("occupancy", "judge occupancy: threshold of a congestion event", sizes.from(0, largest), func(p *rttx.Params) *unit.Bytes { return &p.Occupancy })),
	cite("RTTX [0049]", of("window", "forward packets per window", integer[int](1, rttx.MaxWindow), func(p *rttx.Params) *int { return &p.Window })),
	cite("RTTX [0060]", of("way", "formula of the increment for a congestion level: D, f(level) D, max(P_max, f(level)) D, or table 1",
		oneOf(rttx.WayFixed, rttx.WayGraded, rttx.WayProbabilistic, rttx.WayTable), func(p *rttx.Params) *rttx.Way { return &p.Way })),
	cite("RTTX [0066]", of("levels", "N, the highest congestion level; table 1 requires 4", integer[int](1, rttx.MaxLevels), func(p *rttx.Params) *int { return &p.Levels })),
	cite("RTTX [0056]", of("bound", "how P_max, the switch's pmax, bounds the increment: max makes it a floor, min a cap", oneOf(rttx.BoundMax, rttx.BoundMin), func(p *rttx.Params) *rttx.Bound { return &p.Bound })),
	live(fabric.KeyRTTIncrement, cite("RTTX [0065] at 100 Gbit/s, otherwise RTTX [0060]", of("d", "base increment D; 0 for buffer x 8 / (number of ports x port rate); auto for min_rtt / (2 beta) of timely-rttx, so that the largest increment cuts the rate as ECN would; "+
		"by default, 2us at switches whose ports all have 100Gbps, otherwise auto", baseIncrement, func(p *rttx.Params) *unit.Time { return &p.D }))),
	cite("RTTX [0068] where the senders can see it", of("stamp", "timestamp that is rewritten; by default, ts if any sender has rtt echo, otherwise tr",
		oneOf(rttx.StampReceived, rttx.StampSent).omit(isZero), func(p *rttx.Params) *rttx.Stamp { return &p.Stamp })),
	cite("RTTX [0050]", of("clear", "ECN codepoint that replaces CE once it is counted", oneOf(rttx.ClearNotECT, rttx.ClearECT0), func(p *rttx.Params) *rttx.Clear { return &p.Clear })),
}

// completeConverters fills in the values that follow from the flows and commands.
func (b *builder) completeConverters(ends [][]topology.End) {
	if len(b.list) > 0 {
		return // the pairs may have no path
	}
	age, stamp := unit.Time(0), rttx.StampReceived
	paths := routes.NewPaths(&b.s, ends)
	pairs := pairsInUse(&b.s)
	for _, p := range pairs {
		age = max(age, 2*paths.RTT(p.From, p.To))
		if b.s.Nodes[p.From].NIC.RTT == cc.RTTEcho {
			stamp = rttx.StampSent
		}
	}
	for i, n := range b.s.NodesOf(topology.NIC) {
		if len(pairs) > 0 {
			break
		}
		if age == 0 {
			age = 2 * paths.FurthestRTT(i)
		}
		if n.NIC.RTT == cc.RTTEcho {
			stamp = rttx.StampSent // with another seed, workloads may draw flows of these NICs
		}
	}
	b.checkIncrements()
	for _, n := range b.s.NodesOf(topology.Switch) {
		p := &n.Switch.RTTX
		n.Switch.OpenAge, n.Switch.OpenStamp = p.Age == 0, p.Stamp == ""
		p.Age, p.Stamp = cmp.Or(p.Age, max(age, shortest)), cmp.Or(p.Stamp, stamp)
	}
}

// checkConverters checks that the settings of each converter are consistent, that
// they fit the senders whose RTT samples it is to change (RTTX-35), and that they fit
// the receivers whose ACKs it is to match.
func (b *builder) checkConverters() {
	echo := b.firstAcknowledged(func(p topology.Pair) bool { return b.s.Nodes[p.From].NIC.RTT == cc.RTTEcho })
	plain := b.firstAcknowledged(func(p topology.Pair) bool { return b.s.Nodes[p.To].NIC.ACKPorts != "mirrored" })
	for i, n := range b.s.NodesOf(topology.Switch) {
		p, src := n.Switch.RTTX, b.nodes[i]
		b.require(p.Way != rttx.WayTable || p.Levels == rttx.TableLevels, src.of("rttx_levels"),
			"%d does not match table 1, want %d, or another rttx_way", p.Levels, rttx.TableLevels)
		if p.Stamp == rttx.StampReceived && echo != nil {
			b.fault(src.of("rttx_stamp"), "%s does not affect %s, whose rtt is %s: want ts here, or rtt %s there",
				p.Stamp, b.s.Nodes[echo.From].Name, cc.RTTEcho, cc.RTTReceiver)
		}
		switch mirror := p.Match == rttx.MatchMirror; {
		case mirror && p.Key != rttx.KeyFiveTuple:
			b.fault(src.of("rttx_match"), "%s cannot match by rttx_key %s, because return packets carry the sender's QPN: want rttx_key %s",
				p.Match, p.Key, rttx.KeyFiveTuple)
		case mirror && plain != nil:
			b.fault(src.of("rttx_match"), "%s cannot match the ACKs of %s, whose ack_ports is plain: want pairs here, or ack_ports mirrored there",
				p.Match, b.s.Nodes[plain.To].Name)
		}
	}
}

// firstAcknowledged returns the first pair of NICs with acknowledged data for which so
// returns true, or nil if there is none. The data is that of flows, puts, and sends that are
// not datagrams.
func (b *builder) firstAcknowledged(so func(topology.Pair) bool) *topology.Pair {
	for i := range b.s.Flows {
		if p := (topology.Pair{From: b.s.Flows[i].From, To: b.s.Flows[i].To}); so(p) {
			return &p
		}
	}
	for i := range b.s.Commands {
		c := &b.s.Commands[i]
		if verb, ok := work.ParseVerb(c.Verb); c.Datagram || !ok || verb != work.Put && verb != work.Send {
			continue
		}
		for _, from := range c.From {
			for _, to := range c.To {
				if p := (topology.Pair{From: from, To: to}); so(p) {
					return &p
				}
			}
		}
	}
	return nil
}

// baseIncrement is the base increment D: a time, or the word auto. The key is omitted if
// it is not set.
var baseIncrement = times.from(0, rttx.MaxD).
	orWord("auto", topology.AutoIncrement, func(d unit.Time) bool { return d == topology.AutoIncrement }).
	omit(func(d unit.Time) bool { return d == topology.DefaultIncrement })

// checkIncrements reports a setting of D that no switch uses.
func (b *builder) checkIncrements() {
	names := map[place][]string{}
	var order []place // keys of names
	for _, i := range idleIncrements(&b.s) {
		at := b.nodes[i].of("rttx_d")
		if names[at] == nil {
			order = append(order, at)
		}
		names[at] = append(names[at], b.s.Nodes[i].Name)
	}
	for _, at := range order {
		b.fault(at, "%s", nothingConverts(&b.s, names[at]))
	}
}

// idleIncrements returns the switches whose setting of D no switch uses. A switch that does not convert may have
// the D of one that does, because they were set together, or because it converts under another scheme.
func idleIncrements(s *topology.Scenario) (idle []int) {
	used := map[unit.Time]bool{topology.DefaultIncrement: true}
	for i, n := range s.NodesOf(topology.Switch) {
		used[n.Switch.RTTX.D] = used[n.Switch.RTTX.D] || s.Converts(i)
	}
	for i, n := range s.NodesOf(topology.Switch) {
		if !used[n.Switch.RTTX.D] {
			idle = append(idle, i)
		}
	}
	return idle
}

// nothingConverts returns the reason why D is refused at these switches.
func nothingConverts(s *topology.Scenario, names []string) string {
	return fmt.Sprintf("no class of %s converts ECN into RTT under %s, want scheme timely-rttx, or rewrite {3: rttx} there", strings.Join(names, ", "), s.Scheme)
}
