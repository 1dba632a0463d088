package topology

import (
	"fmt"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/llr"
	"github.com/rackfab/rackfab/fabric/nic/rx"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/switching/balance"
	"github.com/rackfab/rackfab/fabric/unit"
)

// DefaultScenario returns a scenario with default settings. Name, duration, nodes and
// links have no default.
func DefaultScenario() Scenario {
	return Scenario{
		Seed:   1,
		Bin:    50 * unit.Microsecond,
		Scheme: "pfc",
		CC:     cc.Default(),
	}
}

// DefaultNIC returns the default settings of a NIC.
func DefaultNIC() NICSettings {
	return NICSettings{
		Payload:  1000 * unit.Byte, // HPCC simulator, config.txt
		AckEvery: 1,                // HPCC simulator, L2_ACK_INTERVAL
		Pacer:    "catch-up",       // a token bucket that holds one frame
		// IBTA local ACK timeouts are 4.096 us x 2^n; n = 12 here. The frames of two
		// full 12 MB buffers pass a 40 Gbit/s port in 4.8 ms, so a PAUSE alone does
		// not make the timer expire.
		Timeout:      4096 * unit.Nanosecond << 12,
		Credit:       credit.PolicyScheme,
		RTT:          cc.RTTEcho, // needs no common clock (RTTX-15)
		ACKPorts:     "plain",
		ACKClass:     "control",
		ControlClass: ControlClass,
		CETH:         true,
		ControlRate:  0,
		ControlQueue: 4096,
		Recovery:     cc.RecoveryScheme,
		Entropy:      cc.EntropyScheme,
		Entropies:    64, // uet-htsim; UEC recommends 64 to 256
		Engine:       DefaultEngine(),
	}
}

// DefaultEngine returns the default settings of a NIC's engine. The values of the
// hardware come from the driver and the register map that HPE published for Cassini.
func DefaultEngine() EngineSettings {
	return EngineSettings{
		XON:    3072, // the same as at a switch
		Quanta: 65535,
		// Without translation. The page is the smallest one of x86-64 and Arm. The duration of a
		// miss is a choice: a page walk of a few accesses to the memory of the host.
		Translation: rx.TranslationConfig{Page: 4096, Miss: 330 * unit.Nanosecond},

		Pacing: shaper.PacingBucket, Gate: shaper.GateFull, Policy: shaper.RoundRobin,
		Burst: 4 * 2111, // for a leaf: four frames of the NIC's own protocol
		// For the root: eight Ethernet frames.
		OutBurst: 8 * 9022,
		Length:   work.Length{Header: 40, Scale: 1}, // register of the response length
		GetLimit: 64, PutLimit: 64,
		Units: 48, ResponseUnits: 24, FlowQueues: 48,
		FlowSlots: 16, CommandSlots: 1024,
		// For the outstanding limiter: one bandwidth-delay product of 200 Gbit/s and
		// 4 us.
		Outstanding: 100 * unit.Kilobyte,
	}
}

// DefaultSwitch returns the default settings of a switch. Headroom 0 stands for
// DefaultHeadroom of its links.
func DefaultSwitch() SwitchSettings {
	return SwitchSettings{
		Buffer:     12 * unit.Megabyte, // HPCC simulator, switch-mmu.cc
		Reserve:    4096 * unit.Byte,   // same
		XON:        3072 * unit.Byte,   // same
		AlphaShift: 3,                  // same: alpha = 1/8
		Quanta:     65535,              // the longest pause of IEEE 802.1Q
		Lossless:   []fabric.Priority{3}, MarkLastHop: ByScheme,
		// DCQCN (Zhu et al., SIGCOMM 2015) at 40 Gbit/s, as papers that use its
		// default setting report it.
		Kmin: 5 * unit.Kilobyte,
		Kmax: 200 * unit.Kilobyte,
		Pmax: 0.01,
		// HPCC simulator, run.py dctcp: 30·bw/10 KB at a port of bw Gbit/s.
		Step: 30 * unit.Kilobyte, StepPer: 10 * unit.GigabitPerSec,
		QCN: QCNSettings{
			SetPoint:   26 * unit.Kilobyte,  // IEEE8021-CN-MIB, cnCpQueueSizeSetPoint
			Weight:     2,                   // same, cnCpFeedbackWeight: 2^1
			Sampling:   "arrival",           // as public implementations of the standard do
			SampleBase: 150 * unit.Kilobyte, // same, cnCpMinSampleBase
			Jitter:     0.15,                // IEEE 802.1Qau; no source to cite was found
			CNMClass:   6,                   // the control class, which is strict
		},
		Weights: [fabric.Priorities]int{1, 1, 1, 1, 1, 1, 0, 1}, // class 6: ACK and CNP
		// One output queue, as the switch of the HPCC simulator has.
		Arbitration: "fifo",
		Balance:     balance.Default(),
		RTTX:        defaultRTTX(),
		Queues:      defaultQueues(),
	}
}

// DefaultLink returns the default settings of a link. Rate and delay have no default
// and are 0.
func DefaultLink() Link {
	return Link{
		Overhead: 0,                // preamble and gap not counted, as in ns-3
		MTU:      1518 * unit.Byte, // the largest untagged frame of IEEE 802.3
		Retry:    Retry{Settings: llr.DefaultSettings()},
	}
}

// DefaultHeadroom returns the headroom in bytes of a switch with these links. For the
// most demanding link, it is three times the one-way bandwidth-delay product (HPCC
// simulator, third.cc), and at least NeededHeadroom.
func DefaultHeadroom(links []Link) unit.Bytes {
	var most unit.Bytes
	for _, l := range links {
		most = max(most, 3*l.Rate.In(l.Delay), NeededHeadroom(l))
	}
	return most
}

// PayloadWord is the unit of payloads in bytes: IBTA pads them to a multiple of it.
const PayloadWord = 4

// DataFrame returns the length in bytes of the largest data frame with that payload:
// a WRITE with its RETH and, as under some schemes, timestamps.
func DataFrame(payload unit.Bytes) unit.Bytes {
	p := frame.Packet{
		BTH: frame.BTH{Opcode: frame.WriteOnly}, Timestamped: true,
		Payload: uint32((payload + PayloadWord - 1) / PayloadWord * PayloadWord),
	}
	var f frame.Frame
	p.Build(&f)
	return f.Len()
}

// CheckFlows returns an error if the scenario has more flows than its scheme can number: UET's packet delivery
// contexts have 16 bits.
func (s *Scenario) CheckFlows() error {
	scheme, err := cc.Find(s.Scheme)
	if err != nil || !scheme.Notification.UET() || len(s.Flows) <= frame.MaxUETFlows {
		return err
	}
	return fmt.Errorf("%d flows, with the pairs of hosts between which programs and collectives send: UET, under the scheme %s, has at most %d",
		len(s.Flows), s.Scheme, frame.MaxUETFlows)
}

// DataHeaders returns the bytes of headers and FCS in each data packet from one host to another, and
// the additional bytes in the first packet of a message. Telemetry is not among them: see
// routes.Table.Packets.
func (s *Scenario) DataHeaders(from, to int) (each, first unit.Bytes) {
	scheme := s.SchemeBetween(from, to)
	if scheme.Notification.UET() {
		return frame.UETHeaders + frame.FCSLen, 0
	}
	const payload = 1000 // long enough to need no padding
	length := func(opcode frame.Opcode) unit.Bytes {
		p := frame.Packet{
			BTH:         frame.BTH{Opcode: opcode},
			Timestamped: scheme.Timestamps && s.Nodes[from].NIC.RTTProbe == 0, // probes carry them instead
			Payload:     payload,
		}
		return p.Len()
	}
	if s.Recovers(&Flow{From: from, To: to}) != cc.RecoveryGoBackN {
		return length(frame.WriteOnly) - payload, 0
	}
	each = length(frame.WriteMiddle) - payload
	return each, length(frame.WriteFirst) - payload - each
}

// Response returns the length in bytes of the response to the largest data request of
// a NIC, as its shaper counts it.
func (e *EngineSettings) Response(payload unit.Bytes) unit.Bytes {
	payload = payload / 4 * 4
	cutter := work.Cutter{Payload: max(payload, 1), SubRequest: e.SubRequest, Length: e.Length}
	if cutter.SubRequest == 0 {
		cutter.SubRequest = cutter.Payload
	}
	_, length := cutter.Answer(cutter.SubRequest)
	return length
}

// Buffers reports whether received frames wait in a buffer of the NIC.
func (e *EngineSettings) Buffers() bool { return e.Absorb > 0 || e.Translation.Entries > 0 }

// Intake returns the receive buffer of a NIC behind that link, and the occupancies at
// which it sends PAUSE and RESUME.
func (e *EngineSettings) Intake(l Link) (buffer, xoff, xon unit.Bytes) {
	buffer, xoff = e.Buffer, e.XOFF
	if xoff == 0 {
		xoff = max(l.Rate.In(unit.Microsecond), 2*l.MTU)
	}
	if buffer == 0 {
		buffer = xoff + NeededHeadroom(l)
	}
	return buffer, xoff, max(0, xoff-e.XON)
}
