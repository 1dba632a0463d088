package frame

import (
	"encoding/binary"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Congestion notification message of quantised congestion notification, IEEE
// 802.1Qau (now clause 33 of 802.1Q), after the Ethernet header. The order of
// the fields is that of HPE's manual of the FlexFabric 5940 and of two public
// packet libraries; the order within Encapsulated priority and the unit of the
// two queue fields are this project's reading (docs/wire.md).
const (
	cnmFeedback = ethEnd      // version 4, reserved 6, quantised feedback 6
	cnmCPID     = ethEnd + 2  // congestion point identifier
	cnmQOffset  = ethEnd + 10 // two's complement
	cnmQDelta   = ethEnd + 12 // two's complement
	cnmPriority = ethEnd + 14 // of the sampled frame, in the upper three bits
	cnmDst      = ethEnd + 16 // destination of the sampled frame
	cnmLength   = ethEnd + 22 // of what follows
	cnmMSDU     = ethEnd + 24 // the sampled frame from its EtherType on

	typeCNM = 0x22e7

	// CNMMaxSample is the most of a sampled frame that a CNM brings back, in bytes.
	CNMMaxSample = 64
	// CNMQueueUnit is the unit of QOffset and QDelta.
	CNMQueueUnit = 64 * unit.Byte
	// MaxFeedback is the largest quantised feedback.
	MaxFeedback = 63

	// Where the headers of a sampled RoCEv2 packet lie in the CNM.
	cnmShift   = cnmMSDU - ethType
	cnmRoCEEnd = bthEnd - ethType
)

var (
	errNotCNM      = malformed("no CNM")
	errCNMReserved = malformed("CNM version or reserved bits in use")
)

// CNM is a congestion notification message.
type CNM struct {
	Dst, Src Addr   // the source of the sampled frame; the congestion point
	Feedback uint8  // QntzFb, 0 to MaxFeedback: how congested
	CPID     uint64 // names the congestion point
	// QOffset is how far the queue is above its set point, QDelta how much it has
	// grown since the sample before, both in CNMQueueUnit.
	QOffset, QDelta int16
	Priority        uint8 // class of the sampled frame, 0 to 7
	SampledDst      Addr  // destination of the sampled frame
	SampleLen       uint8 // bytes of Sample, at most CNMMaxSample
	Sample          [CNMMaxSample]byte
}

// CNMQueue gives a number of bytes in CNMQueueUnit, rounded towards 0 and
// limited to 16 bits.
func CNMQueue(b unit.Bytes) int16 {
	const most = 1<<15 - 1
	return int16(max(-most-1, min(most, b/CNMQueueUnit)))
}

// Take addresses the message to the sender of f, and takes as much of f's headers
// as fits, telemetry left out.
func (c *CNM) Take(f *Frame) {
	if f.shift != 0 {
		plain := *f
		plain.StripTelemetry()
		f = &plain
	}
	c.Dst, c.SampledDst = f.SrcMAC(), f.DstMAC()
	clear(c.Sample[:])
	c.SampleLen = 0
	if f.n > ethType {
		c.SampleLen = uint8(copy(c.Sample[:], f.head[ethType:f.n]))
	}
}

// Build writes the message into f, without payload; Arrival and Trace stay as
// they are.
func (c *CNM) Build(f *Frame) {
	clear(f.head[:])
	n := min(c.SampleLen, CNMMaxSample)
	f.n, f.shift, f.Payload = cnmMSDU+n, 0, 0
	*(*Addr)(f.head[ethDst:]) = c.Dst
	*(*Addr)(f.head[ethSrc:]) = c.Src
	binary.BigEndian.PutUint16(f.head[ethType:], typeCNM)
	f.head[cnmFeedback+1] = c.Feedback & MaxFeedback
	binary.BigEndian.PutUint64(f.head[cnmCPID:], c.CPID)
	binary.BigEndian.PutUint16(f.head[cnmQOffset:], uint16(c.QOffset))
	binary.BigEndian.PutUint16(f.head[cnmQDelta:], uint16(c.QDelta))
	f.head[cnmPriority] = c.Priority << 5
	*(*Addr)(f.head[cnmDst:]) = c.SampledDst
	f.head[cnmLength+1] = n
	copy(f.head[cnmMSDU:], c.Sample[:n])
}

// Parse takes f apart. It refuses, with an error that wraps ErrMalformed, what
// Build would not write: then c is unchanged.
func (c *CNM) Parse(f *Frame) error {
	if f.Class() != ClassCNM {
		return errNotCNM
	}
	if f.head[cnmFeedback] != 0 || f.head[cnmFeedback+1] > MaxFeedback ||
		f.head[cnmPriority]&0x1f != 0 || f.head[cnmPriority+1] != 0 {
		return errCNMReserved
	}
	*c = CNM{
		Dst: f.DstMAC(), Src: f.SrcMAC(), Feedback: f.Feedback(), CPID: binary.BigEndian.Uint64(f.head[cnmCPID:]),
		QOffset: f.QOffset(), QDelta: f.QDelta(), Priority: f.head[cnmPriority] >> 5,
		SampledDst: Addr(f.head[cnmDst:cnmLength]), SampleLen: f.n - cnmMSDU,
	}
	copy(c.Sample[:], f.head[cnmMSDU:f.n])
	return nil
}

// isCNM tells whether a frame that is not IPv4 is a CNM, whole.
func (f *Frame) isCNM() bool {
	return f.n >= cnmMSDU && f.n <= cnmMSDU+CNMMaxSample && f.Payload == 0 &&
		binary.BigEndian.Uint16(f.head[ethType:]) == typeCNM &&
		binary.BigEndian.Uint16(f.head[cnmLength:]) == uint16(f.n-cnmMSDU)
}

// Feedback gives the quantised feedback of a CNM, 0 to MaxFeedback.
func (f *Frame) Feedback() uint8 { return f.head[cnmFeedback+1] & MaxFeedback }

// QOffset gives, in CNMQueueUnit, how far the queue was above its set point.
func (f *Frame) QOffset() int16 { return int16(binary.BigEndian.Uint16(f.head[cnmQOffset:])) }

// QDelta gives, in CNMQueueUnit, how much the queue had grown since the sample
// before.
func (f *Frame) QDelta() int16 { return int16(binary.BigEndian.Uint16(f.head[cnmQDelta:])) }

// SampledQP gives the destination queue pair of the RoCEv2 packet that a CNM
// brings back, which names the flow; ok is false if it brings none back.
func (f *Frame) SampledQP() (qp uint32, ok bool) {
	if !f.sampledRoCE() {
		return 0, false
	}
	return uint24(f.head[cnmShift+bthDestQP:]), true
}

// SampledSrcPort gives the UDP source port of the RoCEv2 packet that a CNM brings
// back, 0 if it brings none back.
func (f *Frame) SampledSrcPort() uint16 {
	if !f.sampledRoCE() {
		return 0
	}
	return binary.BigEndian.Uint16(f.head[cnmShift+udpSrc:])
}

// sampledRoCE tells whether a CNM brings back a RoCEv2 packet up to its BTH.
func (f *Frame) sampledRoCE() bool {
	h := f.head[cnmShift:]
	return f.isCNM() && f.n >= cnmMSDU+cnmRoCEEnd &&
		binary.BigEndian.Uint16(h[ethType:]) == typeIPv4 && h[ipVersion] == versionIHL &&
		h[ipProtocol] == protocolUDP && binary.BigEndian.Uint16(h[udpDst:]) == PortRoCE
}
