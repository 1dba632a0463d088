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
	cnmLength   = ethEnd + 22 // of the rest of the message
	cnmMSDU     = ethEnd + 24 // the sampled frame from its EtherType on

	typeCNM = 0x22e7

	// CNMMaxSample is the maximum number of bytes of the sampled frame in a
	// CNM.
	CNMMaxSample = 64
	// CNMQueueUnit is the unit of QOffset and QDelta.
	CNMQueueUnit = 64 * unit.Byte
	// MaxFeedback is the largest quantised feedback.
	MaxFeedback = 63

	// Offsets of the sampled RoCEv2 packet's headers in the CNM.
	cnmShift   = cnmMSDU - ethType
	cnmRoCEEnd = bthEnd - ethType
)

var (
	errNotCNM      = malformed("not a CNM")
	errCNMReserved = malformed("CNM version or reserved bits are not zero")
)

// CNM is a congestion notification message.
type CNM struct {
	Dst, Src Addr   // the source of the sampled frame; the congestion point
	Feedback uint8  // QntzFb, 0 to MaxFeedback: degree of congestion
	CPID     uint64 // identifies the congestion point
	// QOffset is the queue length above its set point, QDelta its increase
	// since the previous sample, both in CNMQueueUnit.
	QOffset, QDelta int16
	Priority        uint8 // class of the sampled frame, 0 to 7
	SampledDst      Addr  // destination of the sampled frame
	SampleLen       uint8 // bytes of Sample, at most CNMMaxSample
	Sample          [CNMMaxSample]byte
}

// CNMQueue converts a number of bytes to CNMQueueUnit, rounded towards 0 and
// limited to 16 bits.
func CNMQueue(b unit.Bytes) int16 {
	const most = 1<<15 - 1
	return int16(max(-most-1, min(most, b/CNMQueueUnit)))
}

// Take addresses the message to the sender of f. It copies as much of f's
// headers, without telemetry, as fits.
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

// Build writes the message into f, without payload. It does not change Arrival
// and Trace.
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

// Parse parses f into c. It rejects frames that Build would not write, with an
// error that wraps ErrMalformed, and leaves c unchanged then.
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

// isCNM reports whether a frame that is not IPv4 is a complete CNM.
func (f *Frame) isCNM() bool {
	return f.n >= cnmMSDU && f.n <= cnmMSDU+CNMMaxSample && f.Payload == 0 &&
		binary.BigEndian.Uint16(f.head[ethType:]) == typeCNM &&
		binary.BigEndian.Uint16(f.head[cnmLength:]) == uint16(f.n-cnmMSDU)
}

// Feedback returns the quantised feedback of a CNM, 0 to MaxFeedback.
func (f *Frame) Feedback() uint8 { return f.head[cnmFeedback+1] & MaxFeedback }

// QOffset returns the queue length above its set point, in CNMQueueUnit.
func (f *Frame) QOffset() int16 { return int16(binary.BigEndian.Uint16(f.head[cnmQOffset:])) }

// QDelta returns the increase of the queue since the previous sample, in
// CNMQueueUnit.
func (f *Frame) QDelta() int16 { return int16(binary.BigEndian.Uint16(f.head[cnmQDelta:])) }

// SampledQP returns the destination queue pair of the RoCEv2 packet sampled in
// a CNM, which identifies the flow. ok is false if the CNM contains no such
// packet.
func (f *Frame) SampledQP() (qp uint32, ok bool) {
	if !f.sampledRoCE() {
		return 0, false
	}
	return uint24(f.head[cnmShift+bthDestQP:]), true
}

// SampledSrcPort returns the UDP source port of the RoCEv2 packet sampled in a
// CNM, or 0 if the CNM contains no such packet.
func (f *Frame) SampledSrcPort() uint16 {
	if !f.sampledRoCE() {
		return 0
	}
	return binary.BigEndian.Uint16(f.head[cnmShift+udpSrc:])
}

// sampledRoCE reports whether a CNM contains a RoCEv2 packet at least up to its
// BTH.
func (f *Frame) sampledRoCE() bool {
	h := f.head[cnmShift:]
	return f.isCNM() && f.n >= cnmMSDU+cnmRoCEEnd &&
		binary.BigEndian.Uint16(h[ethType:]) == typeIPv4 && h[ipVersion] == versionIHL &&
		h[ipProtocol] == protocolUDP && binary.BigEndian.Uint16(h[udpDst:]) == PortRoCE
}
