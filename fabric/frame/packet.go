package frame

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/rackfab/rackfab/fabric/unit"
)

// ErrMalformed is wrapped by every error of the Parse methods.
var ErrMalformed = errors.New("frame: malformed")

var (
	errClass       = malformed("not RoCEv2: unexpected headers or lengths")
	errLength      = malformed("header bytes beyond the opcode's headers")
	errFlags       = malformed("IP flags other than DF")
	errChecksum    = malformed("wrong IP header checksum")
	errUDPChecksum = malformed("UDP checksum in use")
	errVersion     = malformed("unknown BTH version")
	errPad         = malformed("pad longer than the payload")
	errBECN        = malformed("CNP without BECN")
	errReserved    = malformed("reserved bytes in use")
	errNext        = malformed("unknown header after the CETH")
	errTelemetry   = malformed("telemetry present: strip it first")
)

func malformed(reason string) error { return fmt.Errorf("%w: %s", ErrMalformed, reason) }

// MaxPayload is the maximum payload in bytes that fits into an IP packet with
// any opcode.
const MaxPayload = 65535 - (HeaderRoom - ethEnd) - ICRCLen

// Packet is a parsed RoCEv2 packet. The opcode determines which of RETH, AETH,
// Atomic, Original, DETH, Imm and RecRate are on the wire, and Timestamped determines
// whether Timestamps are. CETH is on the wire of an ACK, READ request or CNP only, Receipt of an ACK or NAK. Values wider than their fields on the wire are truncated.
type Packet struct {
	SrcMAC, DstMAC Addr
	Src, Dst       IP
	DSCP           uint8 // 0 to 63
	ECN            ECN   // in a CNP of PCN, CE means congested
	TTL            uint8
	ID             uint16
	SrcPort        uint16 // the flow's entropy
	Mirrored       bool   // SrcPort is the UDP destination port, and PortRoCE the source port
	BTH            BTH
	RETH           RETH
	AETH           AETH
	Atomic         AtomicETH
	Original       uint64 // previous value of an atomic's word
	DETH           DETH
	Imm            uint32 // immediate data
	RecRate        uint32 // of a CNP, in Mbit/s
	CETH           CETH   // no header if its length is 0; a header sets BECN
	SACK           SACK   // no header if its bitmap is 0; in an ACK or NAK, or after a CETH
	Receipted      bool
	Receipt        Receipt // of an ACK or NAK, if Receipted
	Timestamped    bool
	Timestamps     Timestamps
	Payload        uint32 // bytes, pad included, at most MaxPayload
}

// Len returns the length in bytes of the frame that Build writes, from
// destination address to FCS.
func (p *Packet) Len() unit.Bytes {
	return max(unit.Bytes(p.end())+unit.Bytes(p.Payload)+ICRCLen+FCSLen, MinLen)
}

// end returns the end of the packet's last header.
func (p *Packet) end() uint8 {
	end := opcodeEnd[p.BTH.Opcode]
	if end == noOpcode {
		end = bthEnd
	}
	if p.appends() {
		end += p.appended()
	}
	if p.Timestamped {
		end += stampLen
	}
	return end
}

// Build writes the packet's headers into f and sets f.Payload. It does not
// change Arrival and Trace. With an unknown opcode or a payload above
// MaxPayload the result is malformed.
func (p *Packet) Build(f *Frame) {
	end := p.end()
	f.n, f.shift = end, 0
	f.Payload = p.Payload
	*(*Addr)(f.head[ethDst:]) = p.DstMAC
	*(*Addr)(f.head[ethSrc:]) = p.SrcMAC
	binary.BigEndian.PutUint16(f.head[ethType:], typeIPv4)
	length := uint32(end) - ethEnd + p.Payload + ICRCLen
	p.buildIP(f, length)
	p.buildUDP(f, length-(ipEnd-ethEnd))
	p.BTH.build(f)
	p.buildExtensions(f)
	if p.appends() {
		p.buildAppended(f)
	}
	if p.Timestamped {
		f.head[bthFlags] |= stampedVersion
		f.SetTimestamps(p.Timestamps)
	}
	clear(f.head[end:])
}

func (p *Packet) buildExtensions(f *Frame) {
	t := opcodeTraits[p.BTH.Opcode]
	if t&hasRETH != 0 {
		p.RETH.build(f)
	}
	if t&hasAETH != 0 {
		p.AETH.build(f)
	}
	if t&hasAtomic != 0 {
		p.Atomic.build(f)
	}
	if t&hasOriginal != 0 {
		p.buildOriginal(f)
	}
	if t&hasDETH != 0 {
		p.DETH.build(f)
	}
	if t&hasImm != 0 {
		p.buildImm(f)
	}
	if t&hasCNP != 0 {
		p.buildCNP(f)
	}
}

// Parse parses f into p. It rejects frames that Build would not write, with an
// error that wraps ErrMalformed, and leaves p unchanged then.
func (p *Packet) Parse(f *Frame) error {
	if f.Class() != ClassRoCE {
		return errClass
	}
	if f.shift != 0 {
		return errTelemetry
	}
	q := Packet{SrcMAC: f.SrcMAC(), DstMAC: f.DstMAC(), Payload: f.Payload, Timestamped: f.Timestamped()}
	if q.Timestamped {
		q.Timestamps = f.Timestamps()
	}
	if err := q.parseAppended(f); err != nil {
		return err
	}
	if err := q.parseIP(f); err != nil {
		return err
	}
	if err := q.parseUDP(f); err != nil {
		return err
	}
	if err := q.BTH.parse(f); err != nil {
		return err
	}
	if err := q.parseExtensions(f); err != nil {
		return err
	}
	*p = q
	return nil
}

func (p *Packet) parseExtensions(f *Frame) error {
	t := opcodeTraits[p.BTH.Opcode]
	if t&hasRETH != 0 {
		p.RETH.parse(f)
	}
	if t&hasAETH != 0 {
		p.AETH.parse(f)
	}
	if t&hasAtomic != 0 {
		p.Atomic = f.Atomic()
	}
	if t&hasOriginal != 0 {
		p.Original = f.Original()
	}
	if t&hasDETH != 0 {
		if err := p.DETH.parse(f); err != nil {
			return err
		}
	}
	if t&hasImm != 0 {
		p.parseImm(f)
	}
	if t&hasCNP != 0 {
		return p.parseCNP(f)
	}
	return nil
}
