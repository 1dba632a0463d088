package imports

import (
	"fmt"
	"strings"
	"time"

	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// answer returns what a packet is that is no request.
func answer(f *frame.Frame) string {
	switch op := f.Opcode(); op {
	case frame.Acknowledge:
		if f.Syndrome()&nakMask != 0 {
			return "NAK"
		}
		return "ACK"
	case frame.OpcodeCNP:
		return "CNP"
	case frame.ReadResponseFirst, frame.ReadResponseMiddle, frame.ReadResponseLast, frame.ReadResponseOnly, frame.AtomicAcknowledge:
		return "responses"
	default:
		return op.String()
	}
}

// nakMask are the bits of a syndrome that are 0 in an ACK (IBTA volume 1 §9.7.5.2).
const nakMask = 0x60

// unreadable returns why a datagram is no readable packet. Its transport header has at least one byte.
func unreadable(u datagram) string {
	switch op := frame.Opcode(u.bytes[0]); {
	case op&^opcodeBits == reliableDatagrams:
		return fmt.Sprintf("over RD, with opcode %#02x", uint8(op))
	case !op.Known():
		return "with " + op.String()
	}
	return "with invalid headers"
}

// reliableDatagrams are the upper bits of opcodes of reliable datagrams, which RoCEv2 NICs do not have (IBTA volume 1 §9.2.1).
const reliableDatagrams = 0x40

// reasons returns why a capture has no message for a scenario, after a colon, "" if there is no reason.
func (p *pcap) reasons(d *pcapDemand) string {
	var list []string
	if all := p.other.list(""); all != "" {
		list = append(list, all)
	}
	if d.own > 0 {
		list = append(list, fmt.Sprintf("%s of a host to itself, which no link carries", unit.Counted(d.own, "message")))
	}
	if d.gaps.headless > 0 {
		list = append(list, unit.Counted(d.gaps.headless, "message")+" without the first packet")
	}
	if len(list) == 0 {
		return ""
	}
	return ": " + strings.Join(list, ", ")
}

// notes returns what the scenario does not say.
func (p *pcap) notes(d *pcapDemand) []string {
	hosts := make([]string, len(p.hosts))
	for i, a := range p.hosts {
		hosts[i] = fmt.Sprintf("h%d is %s", i, a)
	}
	origin := p.first.Add(time.Duration(d.origin / unit.Nanosecond)).UTC().Format(time.RFC3339Nano)
	notes := []string{strings.Join(hosts, ", "), "time 0 of the scenario is " + origin}
	add := func(count int, format string, args ...any) {
		if count > 0 {
			notes = append(notes, fmt.Sprintf(format, args...))
		}
	}
	add(p.other.total(), "%d of %d frames carry no request: %s", p.other.total(), p.frames, p.other.list(""))
	add(d.gaps.repeated, "%s ignored: retransmitted, or captured at several ports", unit.Counted(d.gaps.repeated, "packet"))
	add(d.gaps.headless, "%s left out, without the first packet: %s", unit.Counted(d.gaps.headless, "message"), someOf(d.headless))
	add(d.gaps.endless, "%s no last packet: the size is that of the captured packets", have(d.gaps.endless, "SEND"))
	add(d.gaps.missing, "%s missing within SENDs: counted as full packets", unit.Counted(d.gaps.missing, "packet"))
	add(d.gaps.empty, "%s 1 byte instead of 0", have(d.gaps.empty, "message"))
	add(d.own, "%s of a host to itself left out", unit.Counted(d.own, "message"))
	add(len(d.shared), "several queue pairs between the same hosts are one in the scenario: %s", someOf(d.shared))
	add(p.over.total(), "requests are reliable in the scenario: %s", p.over.list("packets "))
	add(len(p.dscp.names)-1, "requests have several DSCPs, all commands class 3: %s", p.dscp.list("packets "))
	if p.cut {
		notes = append(notes, fmt.Sprintf("the file ends within a packet, after %d frames", p.frames))
	}
	for i := range notes {
		notes[i] = p.file + ": " + notes[i]
	}
	return notes
}
