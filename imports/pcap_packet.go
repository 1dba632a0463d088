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

// pcapDecoder finds the UDP payload of Ethernet frames, with and without tags.
type pcapDecoder struct {
	eth    layers.Ethernet
	tag    layers.Dot1Q
	ip4    layers.IPv4
	ip6    layers.IPv6
	udp    layers.UDP
	parser *gopacket.DecodingLayerParser
	found  []gopacket.LayerType
}

func newPcapDecoder() *pcapDecoder {
	d := &pcapDecoder{}
	d.parser = gopacket.NewDecodingLayerParser(layers.LayerTypeEthernet, &d.eth, &d.tag, &d.ip4, &d.ip6, &d.udp)
	d.parser.IgnoreUnsupported = true
	return d
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
func (d *pcapDecoder) decode(data []byte) datagram {
	if err := d.parser.DecodeLayers(data, &d.found); err != nil || !slices.Contains(d.found, layers.LayerTypeUDP) || d.udp.DstPort != frame.PortRoCE {
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

// packetOf returns the packet in a datagram. It returns false if its headers are incomplete, its opcode is
// unknown, or its message is longer than 2 GiB.
func packetOf(u datagram) (frame.Frame, bool) {
	if len(u.bytes) == 0 {
		return frame.Frame{}, false
	}
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
	f, ok := packetOf(u)
	from, to := p.host(u.from), p.host(u.to)
	if !ok {
		p.other.add(unreadable(u))
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
	}
	return nil
}

// fullPackets are the opcodes of packets that carry as much as the path allows: all but the last of a message.
var fullPackets = []frame.Opcode{
	frame.SendFirst, frame.SendMiddle, frame.WriteFirst, frame.WriteMiddle, frame.ReadResponseFirst, frame.ReadResponseMiddle,
}
