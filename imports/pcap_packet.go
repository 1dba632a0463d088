package imports

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// pcapDecoder finds the UDP payload of frames, with and without tags.
type pcapDecoder struct {
	eth      layers.Ethernet
	sll      layers.LinuxSLL
	sll2     layers.LinuxSLL2
	loopback layers.Loopback
	tag      layers.Dot1Q
	ip4      layers.IPv4
	ip6      layers.IPv6
	udp      layers.UDP
	parsers  map[gopacket.LayerType]*gopacket.DecodingLayerParser // by the first layer
	found    []gopacket.LayerType
}

// rawLinks are the link types of packets without a link header: LINKTYPE_RAW, and the numbers that its writers
// on BSD (12) and OpenBSD (14) have for it.
var rawLinks = []layers.LinkType{layers.LinkTypeRaw, 12, 14}

// first returns the first layer of a frame. It returns gopacket.LayerTypeZero if the link type is not read.
func (d *pcapDecoder) first(link layers.LinkType, data []byte) gopacket.LayerType {
	switch {
	case link == layers.LinkTypeEthernet:
		return layers.LayerTypeEthernet
	case link == layers.LinkTypeLinuxSLL:
		return layers.LayerTypeLinuxSLL
	case link == layers.LinkTypeLinuxSLL2:
		return layers.LayerTypeLinuxSLL2
	case link == layers.LinkTypeNull, link == layers.LinkTypeLoop:
		return layers.LayerTypeLoopback
	case link == layers.LinkTypeIPv6, slices.Contains(rawLinks, link) && len(data) > 0 && data[0]>>4 == 6:
		return layers.LayerTypeIPv6
	case link == layers.LinkTypeIPv4, slices.Contains(rawLinks, link):
		return layers.LayerTypeIPv4
	}
	return gopacket.LayerTypeZero
}

// parser returns the parser of frames with a first layer.
func (d *pcapDecoder) parser(first gopacket.LayerType) *gopacket.DecodingLayerParser {
	p, ok := d.parsers[first]
	if !ok {
		p = gopacket.NewDecodingLayerParser(first, &d.eth, &d.sll, &d.sll2, &d.loopback, &d.tag, &d.ip4, &d.ip6, &d.udp)
		p.IgnoreUnsupported = true
		if d.parsers == nil {
			d.parsers = map[gopacket.LayerType]*gopacket.DecodingLayerParser{}
		}
		d.parsers[first] = p
	}
	return p
}

// datagram is a UDP datagram to the port of RoCEv2, or the reason why a frame is none.
type datagram struct {
	none     string
	from, to netip.Addr
	dscp     uint8
	bytes    []byte // after the UDP header, as far as captured
	length   int    // of them on the wire
}

// decode finds the datagram in a frame.
func (d *pcapDecoder) decode(link layers.LinkType, data []byte) datagram {
	first := d.first(link, data)
	if first == gopacket.LayerTypeZero {
		return datagram{none: fmt.Sprintf("of link type %s (%d)", link, uint32(link))}
	}
	if err := d.parser(first).DecodeLayers(data, &d.found); err != nil || !slices.Contains(d.found, layers.LayerTypeUDP) || d.udp.DstPort != frame.PortRoCE {
		return datagram{none: "not to the UDP port of RoCEv2"}
	}
	u := datagram{bytes: d.udp.Payload, length: int(d.udp.Length) - 8}
	if slices.Contains(d.found, layers.LayerTypeIPv6) {
		u.from, _ = netip.AddrFromSlice(d.ip6.SrcIP)
		u.to, _ = netip.AddrFromSlice(d.ip6.DstIP)
		u.dscp = d.ip6.TrafficClass >> 2
		return u
	}
	u.from, _ = netip.AddrFromSlice(d.ip4.SrcIP)
	u.to, _ = netip.AddrFromSlice(d.ip4.DstIP)
	u.dscp = d.ip4.TOS >> 2
	return u
}

// invalidates are the opcodes of the last and only packet of a SEND that invalidates a key (IBTA volume 1
// §9.2.1), and those of packets with the same headers and immediate data, which is as long as the key.
var invalidates = map[frame.Opcode]frame.Opcode{0x16: frame.SendLastImm, 0x17: frame.SendOnlyImm}

// pcapTransport is a transport whose packets have the opcodes of the reliable connection in their lower bits
// (IBTA volume 1 §9.2.1).
type pcapTransport struct {
	name   string
	header int // bytes that its requests have after the BTH, before other headers
}

// bthLen is the length of the BTH in bytes.
const bthLen = 12

// opcodeBits are the bits of an opcode that are not those of its transport.
const opcodeBits = 0x1f

// pcapTransports are the transports by the upper bits of the opcode. The header of XRC is the XRCETH.
var pcapTransports = map[byte]pcapTransport{0x20: {"UC", 0}, 0xa0: {"XRC", 4}}

// reliable returns the datagram as a packet of the reliable connection, and the name of its transport, "" if the
// transport is not one of pcapTransports.
func (u datagram) reliable() (datagram, string) {
	t, ok := pcapTransports[u.bytes[0]&^opcodeBits]
	op := frame.Opcode(u.bytes[0] & opcodeBits)
	_, invalidating := invalidates[op]
	_, request := pcapSteps[op]
	if !ok || t.name == "UC" && (!request || op > frame.WriteOnlyImm) || len(u.bytes) < bthLen+t.header {
		return u, ""
	}
	rest := u.bytes[bthLen:]
	if request || invalidating {
		rest, u.length = rest[t.header:], u.length-t.header
	}
	u.bytes = slices.Concat([]byte{byte(op)}, u.bytes[1:bthLen], rest)
	return u, t.name
}

// packetOf returns the packet in a datagram of the reliable connection or of unreliable datagrams. It returns false if
// its headers are incomplete, its opcode is unknown, or its message is longer than 2 GiB.
func packetOf(u datagram) (frame.Frame, bool) {
	b := u.bytes
	if like, ok := invalidates[frame.Opcode(b[0])]; ok {
		b = append([]byte{byte(like)}, b[1:]...)
	}
	f, ok := frame.FromTransport(b, u.length)
	return f, ok && (!f.Opcode().HasRETH() || unit.Bytes(f.DMALength()) <= work.MaxMessage)
}

// managementQP is the last queue pair of management (IBTA volume 1).
const managementQP = 1

// add adds a packet of the capture.
func (p *pcap) add(u datagram, captured time.Time) error {
	if u.none != "" {
		p.other.add(u.none)
		return nil
	}
	at, err := p.after(captured)
	if err != nil {
		return err
	}
	from, to := p.host(u.from), p.host(u.to)
	if len(u.bytes) == 0 {
		p.other.add("with invalid headers")
		return nil
	}
	like, over := u.reliable()
	f, ok := packetOf(like)
	if !ok {
		p.other.add(unreadable(like))
		return nil
	}
	if slices.Contains(fullPackets, f.Opcode()) {
		ends := [2]int{min(from, to), max(from, to)}
		p.mtu[ends] = max(p.mtu[ends], int64(f.Payload))
	}
	switch _, request := pcapSteps[f.Opcode()]; {
	case !request:
		p.other.add(answer(&f))
	case f.DestQP() <= managementQP:
		p.other.add("to queue pairs of management")
	default:
		p.request(&f, pcapKey{from: from, to: to, qp: f.DestQP()}, at)
		p.dscp.add(fmt.Sprint("with ", u.dscp))
		if over != "" {
			p.over.add("over " + over)
		}
	}
	return nil
}

// fullPackets are the opcodes of packets that carry as much as the path allows: all but the last of a message.
var fullPackets = []frame.Opcode{
	frame.SendFirst, frame.SendMiddle, frame.WriteFirst, frame.WriteMiddle, frame.ReadResponseFirst, frame.ReadResponseMiddle,
}
