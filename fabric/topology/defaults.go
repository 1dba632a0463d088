package topology

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/credit"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// DefaultScenario gives the settings of a scenario that says nothing of its
// own; name, duration, nodes and links have no default.
func DefaultScenario() Scenario {
	return Scenario{
		Seed:   1,
		Bin:    50 * unit.Microsecond,
		Scheme: "pfc",
		CC:     cc.Default(),
	}
}

// DefaultNIC gives the settings of a NIC that says nothing of its own.
func DefaultNIC() NICSettings {
	return NICSettings{
		Payload:  1000 * unit.Byte, // HPCC simulator, config.txt
		AckEvery: 1,                // HPCC simulator, L2_ACK_INTERVAL
		Pacer:    "catch-up",       // a token bucket with room for one frame
		// IBTA local ACK timeouts are 4.096 us x 2^n; n = 12 here. The frames of
		// two full 12 MB buffers pass a 40 Gbit/s port in 4.8 ms, so that a
		// pause alone does not make the timer fire.
		Timeout:      4096 * unit.Nanosecond << 12,
		Credit:       credit.PolicyScheme,
		RTT:          cc.RTTEcho, // needs no clock in common (RTTX-15)
		ACKPorts:     "plain",
		ACKClass:     "control",
		ControlClass: ControlClass,
		CETH:         true,
		ControlRate:  0,
		ControlQueue: 4096,
		Engine:       DefaultEngine(),
	}
}

// DefaultSwitch gives the settings of a switch that says nothing of its own.
// Headroom 0 stands for DefaultHeadroom of its links.
func DefaultSwitch() SwitchSettings {
	return SwitchSettings{
		Buffer:     12 * unit.Megabyte, // HPCC simulator, switch-mmu.cc
		Reserve:    4096 * unit.Byte,   // same
		XON:        3072 * unit.Byte,   // same
		AlphaShift: 3,                  // same: alpha = 1/8
		Quanta:     65535,              // the longest pause of IEEE 802.1Q
		Lossless:   []fabric.Priority{3},
		// DCQCN (Zhu et al., SIGCOMM 2015) at 40 Gbit/s, as papers that use its
		// default setting report it.
		Kmin: 5 * unit.Kilobyte,
		Kmax: 200 * unit.Kilobyte,
		Pmax: 0.01,
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
		RTTX:        defaultRTTX(),
	}
}

// DefaultLink gives the settings of a link that says nothing of its own. Rate
// and delay are 0: they have no default.
func DefaultLink() Link {
	return Link{
		Overhead: 0,                // preamble and gap not counted, as in ns-3
		MTU:      1518 * unit.Byte, // the largest untagged frame of IEEE 802.3
	}
}

// DefaultHeadroom gives the headroom in bytes of a switch with these links: for
// the link that asks most, three times the one-way bandwidth-delay product
// (HPCC simulator, third.cc), and never less than NeededHeadroom.
func DefaultHeadroom(links []Link) unit.Bytes {
	var most unit.Bytes
	for _, l := range links {
		most = max(most, 3*l.Rate.In(l.Delay), NeededHeadroom(l))
	}
	return most
}

// NeededHeadroom gives the bytes that can still come in at a port of the link
// from the frame on that passes the threshold: that frame itself; one frame
// that PAUSE waits behind, and PAUSE; both propagations; and the frame that the
// peer has just begun (the worst case of IEEE 802.1Q annex N, without the
// response times of transceivers). An overhead below 0 lets more bytes of frames come
// in than the rate says, most of all if they are short.
func NeededHeadroom(l Link) unit.Bytes {
	flying := l.Rate.In(2*l.Delay) + 1
	if l.Overhead < 0 {
		flying = flying*frame.MinLen/(frame.MinLen+l.Overhead) + 1
	}
	return flying + 3*l.MTU + frame.MinLen
}

// DataFrame gives the length in bytes of the largest data frame with so much
// payload: a WRITE that carries its RETH and, as under some schemes, timestamps.
func DataFrame(payload unit.Bytes) unit.Bytes {
	p := frame.Packet{
		BTH: frame.BTH{Opcode: frame.WriteOnly}, Timestamped: true,
		Payload: uint32((payload + word - 1) / word * word),
	}
	var f frame.Frame
	p.Build(&f)
	return f.Len()
}

// DataHeaders gives what each data packet under the scenario's scheme has beside its
// payload, and what the first one of a message has more, in bytes.
func (s *Scenario) DataHeaders() (each, first unit.Bytes) {
	scheme, _ := cc.Find(s.Scheme) // it has been checked
	if scheme.Notification == cc.NotifyCredit {
		return frame.UETHeaders + frame.FCSLen, 0
	}
	const payload = 1000 // so that it is no short frame
	length := func(opcode frame.Opcode) unit.Bytes {
		p := frame.Packet{BTH: frame.BTH{Opcode: opcode}, Timestamped: scheme.Timestamps, Payload: payload}
		return p.Len()
	}
	each = length(frame.WriteMiddle) - payload
	return each, length(frame.WriteFirst) - payload - each
}
