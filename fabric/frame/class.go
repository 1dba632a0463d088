package frame

import "encoding/binary"

// Class is the kind of a frame, as determined from its header bytes.
type Class uint8

// Classes.
const (
	ClassMalformed Class = iota // none of the other classes
	ClassRoCE                   // RoCEv2 over IPv4, its headers complete for the opcode
	ClassPFC                    // priority flow control, IEEE 802.1Q
	ClassUET                    // UET over UDP and IPv4, its headers complete for the type
	ClassCNM                    // congestion notification message, IEEE 802.1Qau
	ClassRetry                  // control frame of link-layer retry
)

// String returns the name of the class, "roce".
func (c Class) String() string {
	names := [...]string{"malformed", "roce", "pfc", "uet", "cnm", "retry"}
	if int(c) >= len(names) {
		c = ClassMalformed
	}
	return names[c]
}

// Class classifies the frame by EtherType, opcode and lengths. It is safe on
// any bytes, and a frame that it accepts is long enough for the accessors. It
// verifies no checksum.
func (f *Frame) Class() Class {
	h := &f.head
	if binary.BigEndian.Uint32(h[ethType:])>>8 != typeIPv4<<8|versionIHL {
		return f.classControl()
	}
	length := binary.BigEndian.Uint16(h[ipLength:])
	if int(f.n) >= f.extensionsEnd() &&
		h[ipProtocol] == protocolUDP &&
		(binary.BigEndian.Uint16(h[udpDst:]) == PortRoCE || f.shift != 0 || f.Mirrored()) &&
		binary.BigEndian.Uint16(h[ipFlags:])&fragmentMask == 0 &&
		uint64(length) == uint64(f.n)-ethEnd+uint64(f.Payload)+ICRCLen &&
		binary.BigEndian.Uint16(h[udpLength:]) == length-(ipEnd-ethEnd) {
		return ClassRoCE
	}
	return f.classUET()
}

// extensionsEnd returns the end of the last extension header of a RoCEv2
// packet. The result is beyond any frame if the opcode is unknown.
func (f *Frame) extensionsEnd() int {
	end := f.at(int(opcodeEnd[f.Opcode()]))
	if f.Timestamped() {
		end += stampLen
	}
	return end
}

// classControl classifies a frame that is not IPv4.
func (f *Frame) classControl() Class {
	h := &f.head
	if f.n >= pfcEnd &&
		binary.BigEndian.Uint32(h[ethType:]) == typePause<<16|pfcOpcode &&
		Addr(h[ethDst:ethSrc]) == pfcAddr {
		return ClassPFC
	}
	if f.isCNM() {
		return ClassCNM
	}
	if f.isRetry() {
		return ClassRetry
	}
	return ClassMalformed
}
