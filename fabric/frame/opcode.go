package frame

import "fmt"

// Opcode is the first byte of the BTH.
type Opcode uint8

// Opcodes of the reliable connection and of unreliable datagrams (IBTA volume 1
// chapter 9), and of the congestion notification packet (IBTA A17.9.3).
// Invalidations and other transports are not emulated: their frames count as
// malformed.
const (
	SendFirst          Opcode = 0x00
	SendMiddle         Opcode = 0x01
	SendLast           Opcode = 0x02
	SendLastImm        Opcode = 0x03
	SendOnly           Opcode = 0x04
	SendOnlyImm        Opcode = 0x05
	WriteFirst         Opcode = 0x06
	WriteMiddle        Opcode = 0x07
	WriteLast          Opcode = 0x08
	WriteLastImm       Opcode = 0x09
	WriteOnly          Opcode = 0x0a
	WriteOnlyImm       Opcode = 0x0b
	ReadRequest        Opcode = 0x0c
	ReadResponseFirst  Opcode = 0x0d
	ReadResponseMiddle Opcode = 0x0e
	ReadResponseLast   Opcode = 0x0f
	ReadResponseOnly   Opcode = 0x10
	Acknowledge        Opcode = 0x11
	AtomicAcknowledge  Opcode = 0x12
	CompareSwap        Opcode = 0x13
	FetchAdd           Opcode = 0x14
	UDSendOnly         Opcode = 0x64
	UDSendOnlyImm      Opcode = 0x65
	OpcodeCNP          Opcode = 0x81
)

// Opcodes of the RTT probe and its response, from the range that IBTA volume 1 §9.2.1
// leaves to manufacturers, 0xc0 to 0xff. Both consist of the BTH and timestamps.
const (
	RTTProbe    Opcode = 0xc0
	RTTResponse Opcode = 0xc1
)

// traits is the set of headers and data that follow the BTH.
type traits uint8

const (
	hasData traits = 1 << iota
	hasRETH
	hasAETH
	hasImm
	hasCNP
	hasAtomic
	hasOriginal
	hasDETH
)

type opcodeRow struct {
	name   string
	traits traits
}

var opcodes = map[Opcode]opcodeRow{
	SendFirst:          {"send-first", hasData},
	SendMiddle:         {"send-middle", hasData},
	SendLast:           {"send-last", hasData},
	SendLastImm:        {"send-last-imm", hasData | hasImm},
	SendOnly:           {"send-only", hasData},
	SendOnlyImm:        {"send-only-imm", hasData | hasImm},
	WriteFirst:         {"write-first", hasData | hasRETH},
	WriteMiddle:        {"write-middle", hasData},
	WriteLast:          {"write-last", hasData},
	WriteLastImm:       {"write-last-imm", hasData | hasImm},
	WriteOnly:          {"write-only", hasData | hasRETH},
	WriteOnlyImm:       {"write-only-imm", hasData | hasRETH | hasImm},
	ReadRequest:        {"read-request", hasRETH},
	ReadResponseFirst:  {"read-response-first", hasData | hasAETH},
	ReadResponseMiddle: {"read-response-middle", hasData},
	ReadResponseLast:   {"read-response-last", hasData | hasAETH},
	ReadResponseOnly:   {"read-response-only", hasData | hasAETH},
	Acknowledge:        {"acknowledge", hasAETH},
	AtomicAcknowledge:  {"atomic-acknowledge", hasAETH | hasOriginal},
	CompareSwap:        {"compare-swap", hasAtomic},
	FetchAdd:           {"fetch-add", hasAtomic},
	UDSendOnly:         {"ud-send-only", hasData | hasDETH},
	UDSendOnlyImm:      {"ud-send-only-imm", hasData | hasDETH | hasImm},
	OpcodeCNP:          {"cnp", hasCNP},
	RTTProbe:           {"rtt-probe", 0},
	RTTResponse:        {"rtt-response", 0},
}

// noOpcode is the header end of an unknown opcode: beyond the end of any frame.
const noOpcode = 255

// opcodeTraits and opcodeEnd index the table by opcode, for the hot path.
// opcodeEnd is the end of the opcode's last extension header.
var opcodeTraits, opcodeEnd = func() (t [256]traits, end [256]uint8) {
	for i := range end {
		row, ok := opcodes[Opcode(i)]
		t[i], end[i] = row.traits, noOpcode
		if ok {
			end[i] = bthEnd + row.traits.length()
		}
	}
	return t, end
}()

// length returns the length of the extension headers in bytes.
func (t traits) length() (n uint8) {
	for _, h := range []struct {
		trait  traits
		length uint8
	}{
		{hasRETH, rethLen},
		{hasAETH, aethLen},
		{hasImm, ImmLen},
		{hasCNP, cnpLen},
		{hasAtomic, atomicLen},
		{hasOriginal, atomicAckLen},
		{hasDETH, dethLen},
	} {
		if t&h.trait != 0 {
			n += h.length
		}
	}
	return n
}

// Known reports whether the opcode is one of the constants of this package.
func (o Opcode) Known() bool { return opcodeEnd[o] != noOpcode }

// IsData reports whether the packet carries payload of a message.
func (o Opcode) IsData() bool { return opcodeTraits[o]&hasData != 0 }

// HasRETH reports whether an RDMA header follows the BTH.
func (o Opcode) HasRETH() bool { return opcodeTraits[o]&hasRETH != 0 }

// WithImm returns the opcode of the last or only packet of a message that carries immediate data too.
func (o Opcode) WithImm() Opcode { return o | 1 }

// HasAETH reports whether an acknowledgement header follows the BTH.
func (o Opcode) HasAETH() bool { return opcodeTraits[o]&hasAETH != 0 }

// HasAtomic reports whether an atomic header follows the BTH.
func (o Opcode) HasAtomic() bool { return opcodeTraits[o]&hasAtomic != 0 }

// HasDETH reports whether a datagram header follows the BTH.
func (o Opcode) HasDETH() bool { return opcodeTraits[o]&hasDETH != 0 }

// MeasuresRTT reports whether the packet returns timestamps to a sender that measures the
// round-trip time, provided that it carries a timestamp header.
func (o Opcode) MeasuresRTT() bool { return o == Acknowledge || o == RTTResponse }

// HasImm reports whether immediate data is the last extension header.
func (o Opcode) HasImm() bool { return opcodeTraits[o]&hasImm != 0 }

// String returns the name of the opcode, "write-first".
func (o Opcode) String() string {
	if row, ok := opcodes[o]; ok {
		return row.name
	}
	return fmt.Sprintf("opcode(%#02x)", uint8(o))
}
