package scenariofile

import (
	"fmt"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/nic/entropy"
	"github.com/rackfab/rackfab/fabric/nic/rx"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/switching/rttx"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// nodeFields are the settings of nodes by their kind.
var nodeFields = map[topology.NodeKind][]field[topology.Node]{
	topology.NIC:    lift(nicFields, func(n *topology.Node) *topology.NICSettings { return &n.NIC }),
	topology.Switch: lift(switchFields, func(n *topology.Node) *topology.SwitchSettings { return &n.Switch }),
}

var nicFields = append(flowControlFields, lift(unlessDefault(engineFields), func(n *topology.NICSettings) *topology.EngineSettings { return &n.Engine })...)

// flowControlFields are the settings of a NIC for all traffic.
var flowControlFields = []field[topology.NICSettings]{
	of("payload", "largest payload of a data packet, a multiple of 4B unless all packets are those of UET (cbrc, nscc, rccc, and no commands)", payload, func(n *topology.NICSettings) *unit.Bytes { return &n.Payload }),
	live(fabric.KeyAckEvery, of("ack_every", "data packets that one ACK covers", integer[int](1, 1<<16), func(n *topology.NICSettings) *int { return &n.AckEvery })),
	cite("own: a token bucket of one frame; gap: HPCC simulator, rdma-hw.cc UpdateNextAvail, nextAvail = now + frame time, and ChangeRate",
		of("pacer", "how a flow resumes after PAUSE or a busy link delayed it: catch-up sends one extra frame at once, gap waits a whole frame time after the start of each frame, and a change of rate leaves that instant as it is, except under schemes by the load of the path",
			oneOf("catch-up", "gap"), func(n *topology.NICSettings) *string { return &n.Pacer })),
	live(fabric.KeyTimeout, of("timeout", "retransmission timer, 0 for none", times.from(0, longest), func(n *topology.NICSettings) *unit.Time { return &n.Timeout })),
	cite("IBTA volume 1 §9.7: go-back-N; IRN, SIGCOMM 2018: selective repeat", of("recovery", "loss recovery of RoCEv2 flows to and from NICs with the same one: scheme follows the scheme, gobackn sends again from the first missing packet on, selective only the missing packets, with the settings of schemes.irn, spraying too but takes no gap for a loss, with the settings of schemes.mrc; flows between NICs that differ use gobackn",
		oneOf(cc.RecoveryScheme, cc.RecoveryGoBackN, cc.RecoverySelective, cc.RecoverySpraying).omit(equals(cc.RecoveryScheme)), func(n *topology.NICSettings) *cc.Recovery { return &n.Recovery })),
	cite("UEC 1.0 §3.6.16 leaves the choice open; uet-htsim, uec_mp.cpp", of("entropy", "how flows from the NIC choose the entropy of each packet, its UDP source port: scheme follows the scheme, flow is one for all packets, oblivious takes one after the other, bitmap skips those with congestion or loss, reps sends the latest that ACKs returned as good, reps-legacy each returned one once, mixed is reps-legacy, or else bitmap",
		oneOf(append([]cc.Entropy{cc.EntropyScheme}, cc.Entropies...)...).omit(equals(cc.EntropyScheme)), func(n *topology.NICSettings) *cc.Entropy { return &n.Entropy })),
	cite("uet-htsim; UEC recommends 64 to 256", of("entropies", "number of entropies, a power of two", integer[int](entropy.Fewest, entropy.Most).omit(equals(topology.DefaultNIC().Entropies)), func(n *topology.NICSettings) *int { return &n.Entropies })),
	of("rtt", "how a sender computes RTT samples from an ACK's timestamps: echo is now minus the echoed T_s, receiver is T_r minus T_s, offset is receiver minus the smallest such value so far",
		oneOf(cc.RTTEcho, cc.RTTReceiver, cc.RTTOffset), func(n *topology.NICSettings) *cc.RTT { return &n.RTT }),
	cite("RTTX [0028]", of("rtt_probe", "interval at which a sender with data in flight sends RTT probes, whose responses replace the timestamps of ACKs; 0 for timestamps in data and ACKs",
		times.from(0, longest).omit(isZero), func(n *topology.NICSettings) *unit.Time { return &n.RTTProbe })),
	of("clock", "offset of the NIC's timestamp clock, ahead of fabric time", times.from(0, unit.Time(1<<32-1)*unit.Nanosecond), func(n *topology.NICSettings) *unit.Time { return &n.Clock }),
	of("ack_ports", "UDP ports of ACK, NAK and CNP: plain has the destination port of RoCEv2, mirrored swaps the ports of the data packet",
		oneOf("plain", "mirrored"), func(n *topology.NICSettings) *string { return &n.ACKPorts }),
	cite("own: above data, so that no data queue delays them; data: HPCC simulator unless ACK_HIGH_PRIO, and IBTA volume 1 §9.7.5; ns3-rdma has a separate class for ACKs",
		of("ack_class", "traffic class of ACK and NAK: the control class, like CNPs, or the class of the acknowledged data",
			oneOf("control", "data"), func(n *topology.NICSettings) *string { return &n.ACKClass })),
	of("control_class", "traffic class of CNP, and of ACK and NAK if ack_class is control; it must not carry data", trafficClass, func(n *topology.NICSettings) *fabric.Priority { return &n.ControlClass }),
	of("credit", "how the receiver treats senders that cannot spend their credit, under cbrc and cbrc-aimd: scheme follows the scheme, original grants them as much as others, aimd lets them signal it and grants them less",
		oneOf(credit.PolicyScheme, credit.PolicyOriginal, credit.PolicyAIMD), func(n *topology.NICSettings) *credit.Policy { return &n.Credit }),
	of("ceth", "whether the NIC supports CETH; under the scheme ceth, flows to or from a NIC without it use CNPs", boolean, func(n *topology.NICSettings) *bool { return &n.CETH }),
	live(fabric.KeyControlRate, of("control_rate", "limit of ACK, NAK and CNP in packets per second, 0 for none", integer[int64](0, 1e12), func(n *topology.NICSettings) *int64 { return &n.ControlRate })),
	of("control_queue", "queue length for ACK, NAK and CNP in packets", integer[int](1, 1<<24), func(n *topology.NICSettings) *int { return &n.ControlQueue }),
}

var switchFields = slices.Concat(queueFields, lift(boundFields, func(s *topology.SwitchSettings) *topology.QueueSettings { return &s.Queues }), routingFields, classSections(), converterFields)

// laws are the marking laws, and rewrites the rewrites of marks, that a class may be
// given.
var (
	laws     = []cc.Marking{cc.MarkNone, cc.MarkRED, cc.MarkNPECN, cc.MarkStep, cc.MarkBDP, cc.MarkQCN}
	rewrites = []cc.Rewrite{cc.RewriteNone, cc.RewriteRTTX}
)

// queueFields are the settings of a switch for all traffic classes.
var queueFields = []field[topology.SwitchSettings]{
	of("buffer", "shared buffer", sizes.from(1, largest), func(s *topology.SwitchSettings) *unit.Bytes { return &s.Buffer }),
	of("reserve", "buffer guaranteed to each ingress port and lossless class", sizes.from(0, largest), func(s *topology.SwitchSettings) *unit.Bytes { return &s.Reserve }),
	of("headroom", "buffer of each ingress port and lossless class for frames that arrive after PAUSE, 0 to compute it from the links; if it is too small, frames are dropped", sizes.from(0, largest), func(s *topology.SwitchSettings) *unit.Bytes { return &s.Headroom }),
	live(fabric.KeyXOFF, of("xoff", "occupancy of an ingress port and class above which PAUSE is sent, 0 for the dynamic threshold", sizes.from(0, largest), func(s *topology.SwitchSettings) *unit.Bytes { return &s.XOFF })),
	live(fabric.KeyXON, of("xon_offset", "how far the occupancy must fall below the threshold before RESUME is sent", sizes.from(0, largest), func(s *topology.SwitchSettings) *unit.Bytes { return &s.XON })),
	live(fabric.KeyAlphaShift, of("alpha_shift", "dynamic threshold: free shared buffer divided by 2 to this power", integer[uint](0, 62), func(s *topology.SwitchSettings) *uint { return &s.AlphaShift })),
	live(fabric.KeyQuanta, of("quanta", "pause time of a PAUSE frame in units of 512 bit times", integer[uint16](1, 65535), func(s *topology.SwitchSettings) *uint16 { return &s.Quanta })),
	of("lossless", "traffic classes under priority flow control, 0 to 7; data is in class 3", lossless, func(s *topology.SwitchSettings) *[]fabric.Priority { return &s.Lossless }),
	of("marking", "marking law by traffic class; by default, lossless classes have the law of the scheme and others have none", byClass(laws...),
		func(s *topology.SwitchSettings) *[fabric.Priorities]cc.Marking { return &s.Marking }),
	cite("UEC 1.0.3 p. 400", of("marking_lasthop", "whether ports that lead to a NIC mark frames: scheme turns that off under rccc",
		toggle.omit(equals(topology.ByScheme)), func(s *topology.SwitchSettings) *topology.Toggle { return &s.MarkLastHop })),
	of("rewrite", "rewriting of marks by traffic class: rttx turns them into RTT; by default, lossless classes have the rewriting that the scheme needs and others have none", byClass(rewrites...),
		func(s *topology.SwitchSettings) *[fabric.Priorities]cc.Rewrite { return &s.Rewrite }),
	live(fabric.KeyKmin, of("kmin", "RED: queue length from which frames are marked", sizes.from(0, largest), func(s *topology.SwitchSettings) *unit.Bytes { return &s.Kmin })),
	live(fabric.KeyKmax, of("kmax", "RED: queue length above which every frame is marked", sizes.from(0, largest), func(s *topology.SwitchSettings) *unit.Bytes { return &s.Kmax })),
	live(fabric.KeyPmax, of("pmax", "RED: marking probability at kmax", number(unitInterval), func(s *topology.SwitchSettings) *float64 { return &s.Pmax })),
	of("step", "marking law step: queue length above which every frame is marked", sizes.from(0, largest), func(s *topology.SwitchSettings) *unit.Bytes { return &s.Step }),
	of("step_per", "marking law step: port rate for which step is given; it scales with the port, 0 for no scaling", rates.from(0, fastest), func(s *topology.SwitchSettings) *unit.Rate { return &s.StepPer }),
	of("qcn_set_point", "QCN: target queue length of the congestion point", sizes.from(1, largest), func(s *topology.SwitchSettings) *unit.Bytes { return &s.QCN.SetPoint }),
	of("qcn_weight", "QCN: weight of the queue's growth relative to its length", integer[int](0, 1024), func(s *topology.SwitchSettings) *int { return &s.QCN.Weight }),
	cite("public implementations of the standard: arrival; departure: PCN §3.2 (ADR 007)",
		of("qcn_sampling", "QCN: whether frames are sampled on arrival or on departure", oneOf("arrival", "departure"),
			func(s *topology.SwitchSettings) *string { return &s.QCN.Sampling })),
	of("qcn_sample_base", "QCN: bytes between samples without congestion; 100KB is the 20us of PCN §3.2 at 40Gbps", sizes.from(1, largest), func(s *topology.SwitchSettings) *unit.Bytes { return &s.QCN.SampleBase }),
	of("qcn_jitter", "QCN: largest relative deviation of the bytes between samples", number(belowOne), func(s *topology.SwitchSettings) *float64 { return &s.QCN.Jitter }),
	of("qcn_class", "QCN: traffic class of CNMs", trafficClass, func(s *topology.SwitchSettings) *fabric.Priority { return &s.QCN.CNMClass }),
	of("weights", "deficit-round-robin weights of the classes 0 to 7; 0 is strict priority", weights, func(s *topology.SwitchSettings) *[fabric.Priorities]int { return &s.Weights }),
	of("dscp", "traffic class of IP code points at the switch, if it differs from that at the NICs", codePoints, func(s *topology.SwitchSettings) *[]topology.CodePoint { return &s.DSCP }),
	cite("own: fifo, one output queue, as in the switches of the HPCC simulator and ns3-rdma; ingress: chips that queue at their ingress (ADR 006)",
		of("arbitration", "order within the egress queue of a class: fifo is the order of arrival, ingress takes turns between ingress ports", oneOf("fifo", "ingress"),
			func(s *topology.SwitchSettings) *string { return &s.Arbitration })),
}

// converterFields are the settings of a switch's converter of ECN into RTT.
var converterFields = prefixed("rttx_", lift(rttxFields, func(s *topology.SwitchSettings) *rttx.Params { return &s.RTTX }))

// unlessDefault omits all keys if all settings have their defaults: most NICs have no
// commands.
func unlessDefault(fields []field[topology.EngineSettings]) []field[topology.EngineSettings] {
	def := topology.DefaultEngine()
	fields = slices.Clone(fields)
	for i := range fields {
		write := fields[i].write
		fields[i].write = func(e *topology.EngineSettings) *yaml.Node {
			if reflect.DeepEqual(*e, def) {
				return nil
			}
			return write(e)
		}
	}
	return fields
}

// translation is the default address translation. Its keys are omitted unless they differ.
var translation = topology.DefaultEngine().Translation

func equals[V comparable](other V) func(V) bool { return func(v V) bool { return v == other } }

// engineFields are the settings of a NIC that concern commands.
var engineFields = []field[topology.EngineSettings]{
	of("absorb", "rate at which the host absorbs received data, 0 for the rate of the link", rates.from(0, fastest), func(e *topology.EngineSettings) *unit.Rate { return &e.Absorb }),
	of("rx_buffer", "receive buffer of a host that absorbs more slowly than its link, 0 for rx_xoff plus headroom", sizes.from(0, 64*unit.Megabyte), func(e *topology.EngineSettings) *unit.Bytes { return &e.Buffer }),
	of("rx_xoff", "occupancy of the receive buffer above which the NIC sends PAUSE, 0 for 1us at link rate", sizes.from(0, 64*unit.Megabyte), func(e *topology.EngineSettings) *unit.Bytes { return &e.XOFF }),
	of("rx_xon_offset", "how far the occupancy must fall below the threshold before RESUME is sent", sizes.from(1, 64*unit.Megabyte), func(e *topology.EngineSettings) *unit.Bytes { return &e.XON }),
	of("rx_quanta", "pause time of the NIC's PAUSE frames in units of 512 bit times", integer[uint16](1, 65535), func(e *topology.EngineSettings) *uint16 { return &e.Quanta }),
	of("atu_entries", "address translations of received data that the NIC caches, 0 for data that needs no translation", integer[int](0, rx.MaxEntries).omit(isZero), func(e *topology.EngineSettings) *int { return &e.Translation.Entries }),
	of("atu_page", "memory that one address translation covers", sizes.from(1, rx.MaxPage).omit(equals(translation.Page)), func(e *topology.EngineSettings) *unit.Bytes { return &e.Translation.Page }),
	of("atu_hit", "duration of an address translation in the cache", times.from(0, rx.MaxLookup).omit(equals(translation.Hit)), func(e *topology.EngineSettings) *unit.Time { return &e.Translation.Hit }),
	of("atu_miss", "duration of an address translation that is not in the cache", times.from(0, rx.MaxLookup).omit(equals(translation.Miss)), func(e *topology.EngineSettings) *unit.Time { return &e.Translation.Miss }),
	of("pacing", "pacing of data requests: off, by token buckets for the responses (bucket), or by outstanding responses", oneOf(shaper.PacingOff, shaper.PacingBucket, shaper.PacingOutstanding), func(e *topology.EngineSettings) *shaper.Pacing { return &e.Pacing }),
	of("pacing_rate", "rate of requested responses, 0 for the rate that the host absorbs", rates.from(0, fastest), func(e *topology.EngineSettings) *unit.Rate { return &e.Rate }),
	of("pacing_burst", "depth of the IN buckets", sizes.from(1, 64*unit.Megabyte), func(e *topology.EngineSettings) *unit.Bytes { return &e.Burst }),
	of("pacing_gate", "tokens needed to request a response: full is enough for all of it, credit is any", oneOf(shaper.GateFull, shaper.GateCredit), func(e *topology.EngineSettings) *shaper.Gate { return &e.Gate }),
	of("pacing_header", "header length assumed for response packets", sizes.from(0, 1000), func(e *topology.EngineSettings) *unit.Bytes { return &e.Length.Header }),
	of("pacing_payload_scale", "factor of the payload in the assumed length of response packets", integer[int](1, work.MaxScale), func(e *topology.EngineSettings) *int { return &e.Length.Scale }),
	of("pacing_payload_shift", "power of 2 that divides the payload in the assumed length of response packets", integer[int](0, work.MaxShift), func(e *topology.EngineSettings) *int { return &e.Length.Shift }),
	of("pacing_outstanding", "pacing outstanding: limit of outstanding responses, 0 for none", sizes.from(0, largest), func(e *topology.EngineSettings) *unit.Bytes { return &e.Outstanding }),
	of("pacing_period_bytes", "pacing outstanding: limit of responses requested in a period, 0 for none", sizes.from(0, largest), func(e *topology.EngineSettings) *unit.Bytes { return &e.PeriodBytes }),
	of("pacing_period", "pacing outstanding: the period", times.from(0, longest), func(e *topology.EngineSettings) *unit.Time { return &e.Period }),
	of("out_rate", "TX rate of commands and responses, 0 for no limit", rates.from(0, fastest), func(e *topology.EngineSettings) *unit.Rate { return &e.OutRate }),
	of("out_burst", "depth of the OUT buckets", sizes.from(1, 64*unit.Megabyte), func(e *topology.EngineSettings) *unit.Bytes { return &e.OutBurst }),
	of("unit_policy", "arbitration between the units of a class: round robin, longest queue, highest urgency, or fewest outstanding packets", oneOf(shaper.Policies...), func(e *topology.EngineSettings) *shaper.Policy { return &e.Policy }),
	of("get_limit", "outstanding data requests per unit", integer[int](1, 2047), func(e *topology.EngineSettings) *int { return &e.GetLimit }),
	of("put_limit", "outstanding other packets per unit", integer[int](1, 2047), func(e *topology.EngineSettings) *int { return &e.PutLimit }),
	of("sub_request", "data per request, 0 for the payload of one response packet", sizes.from(0, unit.Megabyte), func(e *topology.EngineSettings) *unit.Bytes { return &e.SubRequest }),
	of("units", "chopping units", integer[int](1, shaper.MaxUnits-1), func(e *topology.EngineSettings) *int { return &e.Units }),
	of("response_units", "units for responses", integer[int](1, shaper.MaxUnits-1), func(e *topology.EngineSettings) *int { return &e.ResponseUnits }),
	of("flow_queues", "flow queues", integer[int](1, 4096), func(e *topology.EngineSettings) *int { return &e.FlowQueues }),
	of("flow_slots", "capacity of a flow queue in commands", integer[int](1, 1<<16), func(e *topology.EngineSettings) *int { return &e.FlowSlots }),
	of("command_slots", "capacity of a command queue in commands", integer[int](1, 1<<20), func(e *topology.EngineSettings) *int { return &e.CommandSlots }),
	of("retries", "retransmissions of a request before its connection fails, 0 for no limit", integer[int](0, 255), func(e *topology.EngineSettings) *int { return &e.Retries }),
	of("shaping", "shares of single traffic classes of commands; at most five, as in the hardware", shaping, func(e *topology.EngineSettings) *[]topology.ShapingSettings { return &e.Shaping }),
}

var shapingFields = []field[topology.ShapingSettings]{
	required(of("class", "traffic class", integer[fabric.Priority](0, classes), func(c *topology.ShapingSettings) *fabric.Priority { return &c.Class })),
	of("out_share", "guaranteed share of the NIC's TX rate in percent", integer[int](0, 100), func(c *topology.ShapingSettings) *int { return &c.OutShare }),
	of("out_ceiling", "maximum share of the NIC's TX rate in percent", integer[int](1, 100), func(c *topology.ShapingSettings) *int { return &c.OutCeiling }),
	of("in_share", "guaranteed share of the responses in percent", integer[int](0, 100), func(c *topology.ShapingSettings) *int { return &c.InShare }),
	of("in_ceiling", "maximum share of the responses in percent", integer[int](1, 100), func(c *topology.ShapingSettings) *int { return &c.InCeiling }),
	of("weight", "weight of requests among equally urgent ones", integer[int](1, maxWeight), func(c *topology.ShapingSettings) *int { return &c.Weight }),
	of("response_weight", "weight of responses among equally urgent ones", integer[int](1, maxWeight), func(c *topology.ShapingSettings) *int { return &c.ResponseWeight }),
	of("urgency", "urgency of requests; higher values go first", integer[int](0, 7), func(c *topology.ShapingSettings) *int { return &c.Urgency }),
	of("response_urgency", "urgency of responses; higher values go first", integer[int](0, 7), func(c *topology.ShapingSettings) *int { return &c.ResponseUrgency }),
}

// shaping is the list of classes with shares of their own.
var shaping = list(
	array{want: fmt.Sprintf("a list of at most %d classes, like [{class: 3, out_ceiling: 50}]", maxShaping), max: maxShaping},
	object(shapingFields, topology.DefaultShaping()),
	func(s topology.ShapingSettings) string { return classLabel(s.Class) })

// maxShaping is the number of branches in the hardware.
const maxShaping = 5
