package topology

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Limits of the quantities. They keep sums of times, sizes and rates far below 63
// bits.
const (
	shortest = unit.Nanosecond
	longest  = LongestRun
	furthest = unit.Second // of a link
	largest  = 1000 * 1000 * unit.Megabyte
	slowest  = unit.KilobitPerSec
	fastest  = 10000 * unit.GigabitPerSec
	bigFrame = 65536 * unit.Byte
	// leastOverhead leaves 16 bytes of the shortest frame.
	leastOverhead = -48 * unit.Byte
)

// IBTA pads payloads to a multiple of word bytes. mostPayload is the largest payload
// of whole words that a NIC sends in one packet, in bytes.
const (
	word        = 4
	mostPayload = frame.MaxPayload / word * word
)

// LongestRun bounds fabric time.
const LongestRun = 1000 * unit.Second

// form is a scenario file: its top-level settings, and its sections.
type form struct {
	Scenario
	defaults, nics, switches, links, flows, bursts, workloads, commands, schemes, changes *yaml.Node
}

// defaultsForm is the section defaults.
type defaultsForm struct{ nic, sw, link *yaml.Node }

// linkForm is one entry of links: every name of one end is joined to every name of
// the other.
type linkForm struct {
	ends [2][]string
	Link
}

// flowForm is one entry of flows.
type flowForm struct {
	name, from, to string
	size           unit.Bytes
	start          unit.Time
	initial        unit.Rate
	class          fabric.Priority
}

func newFlowForm() flowForm { return flowForm{class: DataClass} }

// burstForm is one entry of bursts.
type burstForm struct {
	name  string
	from  []string
	to    string
	flows int // per sender
	size  unit.Bytes
	at    unit.Time
	class fabric.Priority
}

func newBurstForm() burstForm { return burstForm{flows: 1, class: DataClass} }

var topFields = []field[form]{
	fixed(need(nameField("name", "name of the scenario", func(f *form) *string { return &f.Name }))),
	integerField("seed", "seed of every random choice", 0, 1<<64-1, func(f *form) *uint64 { return &f.Seed }),
	need(quantityField(spans, "duration", "fabric time that the run covers", shortest, longest, func(f *form) *unit.Time { return &f.Duration })),
	quantityField(spans, "bin", "width of the recorded series", shortest, longest, func(f *form) *unit.Time { return &f.Bin }),
	schemesField("compare", "schemes that `run` compares unless it is told which", func(f *form) *[]string { return &f.Compare }),
	varyField(),
	schemeField("scheme", "congestion control of every flow", func(f *form) *string { return &f.Scheme }),
	dscpField("traffic class of IP code points at NICs and switches, like {10: 1}; those not named keep theirs: 26 is in class 3, 8c in class c, any other in class 0", func(f *form) *[]CodePoint { return &f.DSCP }),
	sectionField("defaults", "settings of all NICs, switches and links", nil, func(f *form) **yaml.Node { return &f.defaults }),
	need(sectionField("nics", "NICs by name or range, each with its settings; a key whose names all stand above overrides their settings", nil, func(f *form) **yaml.Node { return &f.nics })),
	sectionField("switches", "switches by name or range, as nics", nil, func(f *form) **yaml.Node { return &f.switches }),
	need(sectionField("links", "who is cabled to whom; a node's ports are numbered in this order", nil, func(f *form) **yaml.Node { return &f.links })),
	sectionField("flows", "messages from one NIC to another", nil, func(f *form) **yaml.Node { return &f.flows }),
	sectionField("bursts", "groups of flows that start together: an incast", nil, func(f *form) **yaml.Node { return &f.bursts }),
	sectionField("workloads", "flows with sizes from a distribution, at random instants and between random NICs", nil, func(f *form) **yaml.Node { return &f.workloads }),
	sectionField("commands", "what hosts ask of their NICs: PUT, GET, SEND and atomics", nil, func(f *form) **yaml.Node { return &f.commands }),
	sectionField("changes", "what is done to the rack while it runs: each entry is an instant and one thing", nil, func(f *form) **yaml.Node { return &f.changes }),
	omitZero(fixed(switchField("live", "whether this is the journal of a live run: flows and changes may lie after its end", func(f *form) *bool { return &f.Live })),
		func(f *form) *bool { return &f.Live }),
	sectionField("schemes", "parameters of the schemes", nil, func(f *form) **yaml.Node { return &f.schemes }),
}

var defaultsFields = []field[defaultsForm]{
	sectionField("nic", "settings of all NICs", reference("nic"), func(f *defaultsForm) **yaml.Node { return &f.nic }),
	sectionField("switch", "settings of all switches", reference("switch"), func(f *defaultsForm) **yaml.Node { return &f.sw }),
	sectionField("link", "settings of all links", reference("link"), func(f *defaultsForm) **yaml.Node { return &f.link }),
}

var nicFields = append(cardFields, lift(unlessDefault(engineFields), func(n *NICSettings) *EngineSettings { return &n.Engine })...)

var cardFields = []field[NICSettings]{
	payloadField(),
	integerField("ack_every", "data packets that one ACK covers", 1, 1<<16, func(n *NICSettings) *int { return &n.AckEvery }),
	cite("own: a token bucket of one frame; gap: HPCC simulator, rdma-hw.cc UpdateNextAvail, nextAvail = now + frame time",
		choiceField("pacer", "how a flow that PAUSE or a busy link held up goes on: catch-up sends one frame more at once, gap waits a whole frame time after each frame's start",
			[]string{"catch-up", "gap"}, func(n *NICSettings) *string { return &n.Pacer })),
	quantityField(spans, "timeout", "retransmission timer, 0 for none", 0, longest, func(n *NICSettings) *unit.Time { return &n.Timeout }),
	choiceField("rtt", "how a sender that needs the round-trip time takes it from an ACK's timestamps: echo is now less the echoed T_s, receiver is T_r less T_s, offset is that less the smallest of it so far",
		[]cc.RTT{cc.RTTEcho, cc.RTTReceiver, cc.RTTOffset}, func(n *NICSettings) *cc.RTT { return &n.RTT }),
	quantityField(spans, "clock", "how far the clock of timestamps is ahead of the fabric's", 0, unit.Time(1<<32-1)*unit.Nanosecond, func(n *NICSettings) *unit.Time { return &n.Clock }),
	choiceField("ack_ports", "UDP ports of ACK, NAK and CNP: plain has the destination port of RoCEv2, mirrored swaps the ports of the data packet",
		[]string{"plain", "mirrored"}, func(n *NICSettings) *string { return &n.ACKPorts }),
	cite("own: above data, so that no queue of data delays them; data: HPCC simulator unless ACK_HIGH_PRIO, and IBTA volume 1 §9.7.5; ns3-rdma has a class of their own for ACKs",
		choiceField("ack_class", "traffic class of ACK and NAK: the control class, with CNPs, or that of the data that they answer",
			[]string{"control", "data"}, func(n *NICSettings) *string { return &n.ACKClass })),
	integerField("control_class", "traffic class of CNP, and of ACK and NAK where ack_class is control; no class of data", 0, classes, func(n *NICSettings) *fabric.Priority { return &n.ControlClass }),
	choiceField("credit", "what the receiver does about senders that cannot spend its credit, under cbrc and cbrc-aimd: as the scheme does, original grants them as much as others, aimd has them signal and grants them less",
		[]credit.Policy{credit.PolicyScheme, credit.PolicyOriginal, credit.PolicyAIMD}, func(n *NICSettings) *credit.Policy { return &n.Credit }),
	switchField("ceth", "whether the NIC speaks CETH; flows at one that does not have CNPs under the scheme ceth", func(n *NICSettings) *bool { return &n.CETH }),
	integerField("control_rate", "limit of ACK, NAK and CNP in packets per second, 0 for none", 0, 1e12, func(n *NICSettings) *int64 { return &n.ControlRate }),
	integerField("control_queue", "room for ACK, NAK and CNP in packets", 1, 1<<24, func(n *NICSettings) *int { return &n.ControlQueue }),
}

var switchFields = slices.Concat(queueFields, classSections(), converterFields)

var queueFields = []field[SwitchSettings]{
	quantityField(sizes, "buffer", "shared buffer", 1, largest, func(s *SwitchSettings) *unit.Bytes { return &s.Buffer }),
	quantityField(sizes, "reserve", "buffer guaranteed to each ingress port and lossless class", 0, largest, func(s *SwitchSettings) *unit.Bytes { return &s.Reserve }),
	quantityField(sizes, "headroom", "buffer of each ingress port and lossless class for what comes in after PAUSE, 0 to compute it from the links; with less than they need, frames are lost", 0, largest, func(s *SwitchSettings) *unit.Bytes { return &s.Headroom }),
	quantityField(sizes, "xoff", "occupancy of an ingress port and class above which PAUSE is sent, 0 for the dynamic threshold", 0, largest, func(s *SwitchSettings) *unit.Bytes { return &s.XOFF }),
	quantityField(sizes, "xon_offset", "how far the occupancy must fall below the threshold for RESUME", 0, largest, func(s *SwitchSettings) *unit.Bytes { return &s.XON }),
	integerField("alpha_shift", "dynamic threshold: free shared buffer divided by 2 to this power", 0, 62, func(s *SwitchSettings) *uint { return &s.AlphaShift }),
	integerField("quanta", "pause time of a PAUSE frame in units of 512 bit times", 1, 65535, func(s *SwitchSettings) *uint16 { return &s.Quanta }),
	losslessField(),
	byClassField("marking", "marking law by traffic class; a lossless class that is not named has the law of the scheme, any other none", laws,
		func(s *SwitchSettings) *[fabric.Priorities]cc.Marking { return &s.Marking }),
	byClassField("rewrite", "what becomes of the marks of a traffic class: rttx turns them into RTT; a lossless class that is not named has what the scheme needs, any other none", rewrites,
		func(s *SwitchSettings) *[fabric.Priorities]cc.Rewrite { return &s.Rewrite }),
	quantityField(sizes, "kmin", "RED: queue from which on frames are marked", 0, largest, func(s *SwitchSettings) *unit.Bytes { return &s.Kmin }),
	quantityField(sizes, "kmax", "RED: queue above which every frame is marked", 0, largest, func(s *SwitchSettings) *unit.Bytes { return &s.Kmax }),
	numberField("pmax", "RED: probability of a mark at kmax", interval{0, 1, false, false}, func(s *SwitchSettings) *float64 { return &s.Pmax }),
	quantityField(sizes, "qcn_set_point", "QCN: queue that the congestion point aims at", 1, largest, func(s *SwitchSettings) *unit.Bytes { return &s.QCN.SetPoint }),
	integerField("qcn_weight", "QCN: how much the growth of the queue counts beside its length", 0, 1024, func(s *SwitchSettings) *int { return &s.QCN.Weight }),
	cite("public implementations of the standard: arrival; departure: PCN §3.2 (ADR 007)",
		choiceField("qcn_sampling", "QCN: which frames are sampled, those that come in or those that leave", []string{"arrival", "departure"},
			func(s *SwitchSettings) *string { return &s.QCN.Sampling })),
	quantityField(sizes, "qcn_sample_base", "QCN: bytes from one sample to the next without congestion; 100KB is the 20us of PCN §3.2 at 40Gbps", 1, largest, func(s *SwitchSettings) *unit.Bytes { return &s.QCN.SampleBase }),
	numberField("qcn_jitter", "QCN: how far the bytes between samples may be off, as a part of them", interval{0, 1, false, true}, func(s *SwitchSettings) *float64 { return &s.QCN.Jitter }),
	integerField("qcn_class", "QCN: traffic class of CNMs", 0, classes, func(s *SwitchSettings) *fabric.Priority { return &s.QCN.CNMClass }),
	weightsField(),
	dscpField("traffic class of IP code points at the switch, where it is another than at the NICs", func(s *SwitchSettings) *[]CodePoint { return &s.DSCP }),
	cite("own: fifo, one output queue, as in the switches of the HPCC simulator and ns3-rdma; ingress: chips that queue at their ingress (ADR 006)",
		choiceField("arbitration", "order within the egress queue of a class: as the frames came, or in turns by ingress port", []string{"fifo", "ingress"},
			func(s *SwitchSettings) *string { return &s.Arbitration })),
}

var linkFields = append([]field[linkForm]{need(endpointsField())},
	lift(linkSettings, func(l *linkForm) *Link { return &l.Link })...)

var flowFields = []field[flowForm]{
	fixed(need(nameField("name", "name of the flow", func(f *flowForm) *string { return &f.name }))),
	need(nameField("from", "NIC that sends", func(f *flowForm) *string { return &f.from })),
	need(nameField("to", "NIC that receives", func(f *flowForm) *string { return &f.to })),
	need(messageField("size", func(f *flowForm) *unit.Bytes { return &f.size })),
	quantityField(spans, "start", "when the flow is ready to send", 0, longest, func(f *flowForm) *unit.Time { return &f.start }),
	omitZero(quantityField(rates, "initial_rate", "rate at which the flow begins, 0 for line rate", 0, fastest, func(f *flowForm) *unit.Rate { return &f.initial }),
		func(f *flowForm) *unit.Rate { return &f.initial }),
	classField("traffic class of the flow", func(f *flowForm) *fabric.Priority { return &f.class }),
}

var burstFields = []field[burstForm]{
	fixed(need(nameField("name", "name of the burst; its flows are called name/sender/0, ...", func(f *burstForm) *string { return &f.name }))),
	need(namesField("from", "NICs that send", func(f *burstForm) *[]string { return &f.from })),
	need(nameField("to", "NIC that receives", func(f *burstForm) *string { return &f.to })),
	integerField("flows_per_sender", "flows of each sender", 1, 1<<16, func(f *burstForm) *int { return &f.flows }),
	need(messageField("size", func(f *burstForm) *unit.Bytes { return &f.size })),
	need(quantityField(spans, "at", "when the flows are ready to send", 0, longest, func(f *burstForm) *unit.Time { return &f.at })),
	classField("traffic class of the flows", func(f *burstForm) *fabric.Priority { return &f.class }),
}

// schemeField is the name of a scheme of package cc.
func schemeField[T any](key, doc string, at func(*T) *string) field[T] {
	names := cc.Names()
	return field[T]{
		meta: meta{key: key, doc: doc}, schema: schema{"type": "string", "enum": names},
		read: func(t *T, n *yaml.Node) error {
			if !isText(n) {
				return fmt.Errorf("%s is no scheme, want one of %v", shown(n), names)
			}
			_, err := cc.Find(n.Value)
			if err == nil {
				*at(t) = n.Value
			}
			return err
		},
		write: func(t *T) *yaml.Node { return text(*at(t)) },
	}
}

// payloadField is the payload of a data packet. The pad count of the BTH fills words
// of 4 bytes in the last packet of a message only (IBTA volume 1 chapter 9). The
// packets before it carry whole words.
func payloadField() field[NICSettings] {
	f := quantityField(sizes, "payload", "largest payload of a data packet, a multiple of 4B", word, mostPayload,
		func(n *NICSettings) *unit.Bytes { return &n.Payload })
	read := f.read
	f.read = func(s *NICSettings, n *yaml.Node) error {
		set := *s
		if err := read(&set, n); err != nil {
			return err
		}
		if rest := set.Payload % word; rest != 0 {
			return fmt.Errorf("%s is no multiple of %dB, which all packets of a message but the last must be: want %dB or %dB",
				n.Value, word, max(set.Payload-rest, word), set.Payload-rest+word)
		}
		*s = set
		return nil
	}
	return f
}

// messageField is the size of a message, or "endless".
func messageField[T any](key string, at func(*T) *unit.Bytes) field[T] {
	const endless = "endless"
	f := quantityField(sizes, key, "size of the message", 1, largest, at)
	read, write := f.read, f.write
	f.limits += `, or "endless"`
	f.schema = schema{"anyOf": []schema{f.schema, {"const": endless}}}
	f.read = func(t *T, n *yaml.Node) error {
		if isText(n) && n.Value == endless {
			*at(t) = Endless
			return nil
		}
		return read(t, n)
	}
	f.write = func(t *T) *yaml.Node {
		if *at(t) == Endless {
			return text(endless)
		}
		return write(t)
	}
	return f
}

// classes is the highest traffic class.
const classes = fabric.Priorities - 1
