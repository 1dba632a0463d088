package scenariofile

import (
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/switching/rttx"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

var nicFields = append(flowControlFields, lift(unlessDefault(engineFields), func(n *topology.NICSettings) *topology.EngineSettings { return &n.Engine })...)

// flowControlFields are the settings of a NIC for all traffic.
var flowControlFields = []field[topology.NICSettings]{
	of("payload", "largest payload of a data packet, a multiple of 4B", payload, func(n *topology.NICSettings) *unit.Bytes { return &n.Payload }),
	live(fabric.KeyAckEvery, of("ack_every", "data packets that one ACK covers", integer[int](1, 1<<16), func(n *topology.NICSettings) *int { return &n.AckEvery })),
	cite("own: a token bucket of one frame; gap: HPCC simulator, rdma-hw.cc UpdateNextAvail, nextAvail = now + frame time",
		of("pacer", "how a flow resumes after PAUSE or a busy link delayed it: catch-up sends one extra frame at once, gap waits a whole frame time after the start of each frame",
			oneOf("catch-up", "gap"), func(n *topology.NICSettings) *string { return &n.Pacer })),
	live(fabric.KeyTimeout, of("timeout", "retransmission timer, 0 for none", times.from(0, longest), func(n *topology.NICSettings) *unit.Time { return &n.Timeout })),
	of("rtt", "how a sender computes RTT samples from an ACK's timestamps: echo is now minus the echoed T_s, receiver is T_r minus T_s, offset is receiver minus the smallest such value so far",
		oneOf(cc.RTTEcho, cc.RTTReceiver, cc.RTTOffset), func(n *topology.NICSettings) *cc.RTT { return &n.RTT }),
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

var switchFields = slices.Concat(queueFields, classSections(), converterFields)

// laws are the marking laws, and rewrites the rewrites of marks, that a class may be
// given.
var (
	laws     = []cc.Marking{cc.MarkNone, cc.MarkRED, cc.MarkNPECN, cc.MarkQCN}
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
	of("rewrite", "rewriting of marks by traffic class: rttx turns them into RTT; by default, lossless classes have the rewriting that the scheme needs and others have none", byClass(rewrites...),
		func(s *topology.SwitchSettings) *[fabric.Priorities]cc.Rewrite { return &s.Rewrite }),
	live(fabric.KeyKmin, of("kmin", "RED: queue length from which frames are marked", sizes.from(0, largest), func(s *topology.SwitchSettings) *unit.Bytes { return &s.Kmin })),
	live(fabric.KeyKmax, of("kmax", "RED: queue length above which every frame is marked", sizes.from(0, largest), func(s *topology.SwitchSettings) *unit.Bytes { return &s.Kmax })),
	live(fabric.KeyPmax, of("pmax", "RED: marking probability at kmax", number(unitInterval), func(s *topology.SwitchSettings) *float64 { return &s.Pmax })),
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
