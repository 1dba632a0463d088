package imports

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/rackfab/rackfab/fabric/frame"
)

// onLink returns a capture of another link type, with a header in place of the Ethernet header of packets.
func onLink(t testing.TB, link layers.LinkType, header []byte, list []heard) []byte {
	t.Helper()
	var b bytes.Buffer
	w := pcapgo.NewWriterNanos(&b)
	if err := w.WriteFileHeader(128, link); err != nil {
		t.Fatal(err)
	}
	for _, h := range list {
		h.bytes = slices.Concat(header, h.bytes[14:])
		if err := w.WritePacket(infoOf(h, 128), h.bytes[:min(len(h.bytes), 128)]); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// IMP-10: The same packets make the same commands on each link type that is read.
func TestPCAPLinkTypes(t *testing.T) {
	list := heardOf(t, twoWrites)
	sll := func(protocol ...byte) []byte {
		return append([]byte{0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0}, protocol...)
	}
	sll2 := func(protocol ...byte) []byte {
		return append(protocol, 0, 0, 0, 0, 0, 3, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0)
	}
	for _, c := range []struct {
		name   string
		link   layers.LinkType
		header []byte
		list   []heard
	}{
		{"Linux cooked", layers.LinkTypeLinuxSLL, sll(8, 0), list},
		{"Linux cooked, IPv6", layers.LinkTypeLinuxSLL, sll(0x86, 0xdd), overIPv6(list)},
		{"Linux cooked, tag", layers.LinkTypeLinuxSLL, append(sll(0x81, 0), 0x60, 5, 8, 0), list},
		{"Linux cooked 2", layers.LinkTypeLinuxSLL2, sll2(8, 0), list},
		{"Linux cooked 2, IPv6", layers.LinkTypeLinuxSLL2, sll2(0x86, 0xdd), overIPv6(list)},
		{"raw", layers.LinkTypeRaw, nil, list},
		{"raw, IPv6", layers.LinkTypeRaw, nil, overIPv6(list)},
		{"raw on BSD", 12, nil, list},
		{"raw on OpenBSD", 14, nil, overIPv6(list)},
		{"IPv4", layers.LinkTypeIPv4, nil, list},
		{"IPv6", layers.LinkTypeIPv6, nil, overIPv6(list)},
		{"loopback", layers.LinkTypeNull, []byte{2, 0, 0, 0}, list},
		{"loopback of OpenBSD", layers.LinkTypeLoop, []byte{0, 0, 0, 2}, list},
	} {
		out, err := recorded(onLink(t, c.link, c.header, c.list), nil)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := commandsOf(t, out.Scenario); got != "Q0 put h0>h1 0ps 7B, 2us 2000B" || len(out.Notes) != 2 {
			t.Errorf("%s: %s, notes %q", c.name, got, out.Notes)
		}
	}
	const ppp = "t.pcap: no complete RoCEv2 request between two hosts in 3 frames: 3 of link type PPP (9)"
	if _, err := recorded(onLink(t, layers.LinkTypePPP, nil, list), nil); message(err) != ppp {
		t.Errorf("PPP: %v", err)
	}
}

// over returns packets of the reliable connection as packets of another transport, requests with a header after the BTH.
func over(list []heard, transport byte, header ...byte) (out []heard) {
	const udpLength, bth = 38, 42
	for _, h := range list {
		b := slices.Clone(h.bytes)
		_, request := pcapSteps[frame.Opcode(b[bth])]
		if request || b[bth] == 0x17 {
			b = slices.Insert(b, bth+12, header...)
			b[17] += byte(len(header))
			b[udpLength+1] += byte(len(header))
		}
		b[bth] |= transport
		out = append(out, heard{h.at, b})
	}
	return out
}

// IMP-10: Requests over UC and XRC make the commands of the reliable connection, with a line.
func TestPCAPTransports(t *testing.T) {
	unreliable := heardOf(t, "5ns 1>2 write-only qp 16 psn 0 len 8\n2005ns 1>2 send-first qp 16 psn 1 len 48\n2010ns 1>2 send-last qp 16 psn 2 len 16\n9005ns 1>2 write-only-imm qp 16 psn 3 len 12")
	shared := heardOf(t, "5ns 1>2 write-only qp 16 psn 0 len 8\n2005ns 1>2 read-request qp 16 psn 1 len 48\n2006ns 2>1 read-response-only qp 17 psn 1 len 48\n9005ns 1>2 fetch-add qp 16 psn 2 len 0\n9006ns 2>1 acknowledge qp 17 psn 2 len 0")
	shared = append(shared, changed(heardOf(t, "9505ns 1>2 send-only-imm qp 16 psn 3 len 7")[0], 42, 0x17))
	for _, c := range []struct {
		name, want, note string
		list             []heard
	}{
		{"UC", "Q0-put put h0>h1 0ps 8B, 9us 12B\nQ0-send send h0>h1 2us 64B", "t.pcap: requests are reliable in the scenario: packets 4 over UC", over(unreliable, 0x20)},
		{"XRC", "Q0-put put h0>h1 0ps 8B\nQ0-get get h0>h1 2us 48B\nQ0-fetch-add fetch-add h0>h1 9us 8B\nQ0-send send h0>h1 9.5us 7B", "t.pcap: requests are reliable in the scenario: packets 4 over XRC", over(shared, 0xa0, 0, 0, 0, 9)},
		{
			"RC", "Q0 put h0>h1 0ps 7B, 2us 2000B", "t.pcap: 2 of 5 frames carry no request: 1 over RD, with opcode 0x4a, 1 with opcode(0x2c)",
			append(heardOf(t, twoWrites), changed(unreliable[0], 42, 0x4a), changed(unreliable[0], 42, 0x2c)),
		},
	} {
		out, err := recorded(pcapFile(t, c.list, 128), nil)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := commandsOf(t, out.Scenario); got != c.want || !slices.Contains(out.Notes, c.note) {
			t.Errorf("%s:\n%s\nwant\n%s\nnotes\n%s\nlack %s", c.name, got, c.want, strings.Join(out.Notes, "\n"), c.note)
		}
	}
}

// A capture without a message between two hosts is refused with all reasons.
func TestPCAPOfOneHost(t *testing.T) {
	data, err := os.ReadFile("testdata/self.pcap")
	if err != nil {
		t.Fatal(err)
	}
	headless := heardOf(t, "0ns 1>2 write-last qp 16 psn 5 len 8\n1ns 1>2 cnp qp 16 psn 6 len 0\n2ns 1>1 write-only qp 9 psn 6 len 8\n3ns 1>1 write-only qp 9 psn 7 len 8")
	for _, c := range []struct {
		data []byte
		want string
	}{
		{data, "t.pcap: no complete RoCEv2 request between two hosts in 1 frames: 1 message of a host to itself, which no link carries"},
		{pcapFile(t, headless, 128), "t.pcap: no complete RoCEv2 request between two hosts in 4 frames: 1 CNP, 2 messages of a host to itself, which no link carries, 1 message without the first packet"},
	} {
		if _, err := recorded(c.data, nil); message(err) != c.want {
			t.Errorf("%v\nwant %s", err, c.want)
		}
	}
}
