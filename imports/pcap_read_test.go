package imports

import (
	"bytes"
	"encoding/binary"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
)

const twoWrites = "5ns 1>2 write-only qp 16 psn 0 len 7\n2005ns 1>2 write-first qp 16 psn 1 len 2000\n2010ns 1>2 write-last qp 16 psn 2 len 1000"

// pcapng returns a capture in pcapng of two interfaces: Ethernet with all packets, and PPP with the first one again.
func pcapng(t testing.TB, list []heard) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := pcapgo.NewNgWriterInterface(&b, pcapgo.NgInterface{Name: "a", LinkType: layers.LinkTypeEthernet, TimestampResolution: 9}, pcapgo.NgWriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.AddInterface(pcapgo.NgInterface{Name: "b", LinkType: layers.LinkTypePPP, TimestampResolution: 9}); err != nil {
		t.Fatal(err)
	}
	for i, h := range append(slices.Clone(list), list[0]) {
		info := infoOf(h, len(h.bytes))
		info.InterfaceIndex = i / len(list)
		if err := w.WritePacket(info, h.bytes); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// converted returns a capture in ns of the machine's byte order with another magic number: in units of nanos, and in
// the other byte order if swapped.
func converted(data []byte, magic uint32, nanos uint32, swapped bool) []byte {
	out := slices.Clone(data)
	swap := func(at, n int) {
		if swapped {
			slices.Reverse(out[at : at+n])
		}
	}
	binary.LittleEndian.PutUint32(out, magic)
	for _, f := range [][2]int{{0, 4}, {4, 2}, {6, 2}, {8, 4}, {12, 4}, {16, 4}, {20, 4}} {
		swap(f[0], f[1])
	}
	for at := 24; at < len(data); {
		binary.LittleEndian.PutUint32(out[at+4:], binary.LittleEndian.Uint32(data[at+4:])/nanos)
		for i := range 4 {
			swap(at+4*i, 4)
		}
		at += 16 + int(binary.LittleEndian.Uint32(data[at+8:]))
	}
	return out
}

// inserted returns packets with bytes inserted at an offset of the first ones.
func inserted(list []heard, at int, bytes ...byte) (out []heard) {
	for _, h := range list {
		out = append(out, heard{h.at, slices.Insert(slices.Clone(h.bytes), at, bytes...)})
	}
	return out
}

// overIPv6 returns the packets over IPv6 from fd00::a to fd00::b, with DSCP 26.
func overIPv6(list []heard) (out []heard) {
	for _, h := range list {
		udp := h.bytes[34:]
		b := append(slices.Clone(h.bytes[:12]), 0x86, 0xdd, 0x66, 0x80, 0, 0, byte(len(udp)>>8), byte(len(udp)), 17, 64)
		for _, last := range []byte{0xa, 0xb} {
			b = append(b, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last)
		}
		out = append(out, heard{h.at, append(b, udp...)})
	}
	return out
}

// IMP-10: The same packets make the same commands in every kind of file, with tags, over IPv6, and cut after 128 bytes.
func TestPCAPFiles(t *testing.T) {
	list := heardOf(t, twoWrites)
	tag := []byte{0x81, 0, 0x60, 5}
	outer := []byte{0x88, 0xa8, 0x60, 9}
	for _, c := range []struct {
		name        string
		data        []byte
		want, notes string
	}{
		{"ns", pcapFile(t, list, 65535), "0ps 7B, 2us 2000B", "h0 is 10.0.0.2, h1 is 10.0.0.3"},
		{"headers alone", pcapFile(t, list, 70), "0ps 7B, 2us 2000B", "time 0 of the scenario is 1970-01-01T00:00:01.000000005Z"},
		{"us", converted(pcapFile(t, list, 128), 0xa1b2c3d4, 1000, false), "0ps 7B, 2us 2000B", "time 0 of the scenario is 1970-01-01T00:00:01Z"},
		{"us, other byte order", converted(pcapFile(t, list, 128), 0xa1b2c3d4, 1000, true), "0ps 7B, 2us 2000B", "time 0 of the scenario is 1970-01-01T00:00:01Z"},
		{"ns, other byte order", converted(pcapFile(t, list, 128), 0xa1b23c4d, 1, true), "0ps 7B, 2us 2000B", "1970-01-01T00:00:01.000000005Z"},
		{"pcapng", pcapng(t, list), "0ps 7B, 2us 2000B", "1 of 4 frames carry no request: 1 of link type PPP (9)"},
		{"tag", pcapFile(t, inserted(list, 12, tag...), 128), "0ps 7B, 2us 2000B", ""},
		{"two tags", pcapFile(t, inserted(list, 12, append(outer, tag...)...), 128), "0ps 7B, 2us 2000B", ""},
		{"IPv6", pcapFile(t, overIPv6(list), 128), "0ps 7B, 2us 2000B", "h0 is fd00::a, h1 is fd00::b"},
		{"too short", pcapFile(t, append(heardOf(t, "0ns 1>2 send-only qp 17 psn 1 len 5"), list...), 68), "0ps 5B", "2 of 4 frames carry no request: 2 with invalid headers"},
		{"cut", pcapFile(t, list, 70)[:24+3*(16+70)-1], "0ps 7B, 2us 2000B", "the file ends within a packet, after 2 frames"},
		{"an unknown opcode", pcapFile(t, append(list[:3:3], changed(list[0], 42, 0x2c)), 128), "0ps 7B, 2us 2000B", "1 of 4 frames carry no request: 1 with opcode(0x2c)"},
		{"another port", pcapFile(t, append(list[:3:3], changed(list[0], 37, 0xb8)), 128), "0ps 7B, 2us 2000B", "1 of 4 frames carry no request: 1 not to the UDP port of RoCEv2"},
		{"no UDP", pcapFile(t, append(list[:3:3], changed(list[0], 23, 6)), 128), "0ps 7B, 2us 2000B", "1 of 4 frames carry no request: 1 not to the UDP port of RoCEv2"},
		{"DSCP of IPv6", pcapFile(t, append(list[:3:3], overIPv6(heardOf(t, "5ns 1>2 write-only qp 16 psn 9 len 7"))...), 128), "0ps 7B, 2us 2000B", "requests have several DSCPs, all commands class 3: packets 3 with 0, 1 with 26"},
		{"invalidating", pcapFile(t, []heard{changed(heardOf(t, "5ns 1>2 send-only-imm qp 16 psn 9 len 7")[0], 42, 0x17)}, 128), "0ps 7B", ""},
		{"invalidating at the end", pcapFile(t, []heard{heardOf(t, "5ns 1>2 send-first qp 16 psn 9 len 1000")[0], changed(heardOf(t, "6ns 1>2 send-last-imm qp 16 psn 10 len 7")[0], 42, 0x16)}, 128), "0ps 1007B", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := recorded(c.data, nil)
			if err != nil {
				t.Fatal(err)
			}
			notes := strings.Join(out.Notes, "\n")
			got := strings.Split(commandsOf(t, out.Scenario), "\n")[0]
			if _, posts, _ := strings.Cut(got, "h0>h1 "); posts != c.want || !strings.Contains(notes, c.notes) || c.notes == "" && len(out.Notes) > 2 {
				t.Errorf("got %s\nnotes %s\nwant %s\nnotes %s", got, notes, c.want, c.notes)
			}
		})
	}
}

// changed returns a packet with another byte at an offset.
func changed(h heard, at int, to byte) heard {
	b := slices.Clone(h.bytes)
	b[at] = to
	return heard{h.at, b}
}

// A file without a request, or that is no capture, is refused with its reason.
func TestPCAPFaults(t *testing.T) {
	list := heardOf(t, twoWrites)
	whole := pcapFile(t, list, 70)
	long := whole[:24+16+70]
	for _, c := range []struct {
		data []byte
		want string
	}{
		{nil, "t.pcap: not a capture, want pcap or pcapng, uncompressed"},
		{[]byte("\x1f\x8b\x08"), "t.pcap: not a capture, want pcap or pcapng, uncompressed"},
		{whole[:20], "t.pcap: "},
		{pcapFile(t, nil, 128), "t.pcap: no complete RoCEv2 request between two hosts in 0 frames"},
		{pcapFile(t, heardOf(t, "5ns 1>2 cnp qp 16 psn 0 len 7"), 128), "t.pcap: no complete RoCEv2 request between two hosts in 1 frames: 1 CNP"},
		{pcapFile(t, append(list[:1:1], heard{1001e9, list[1].bytes}), 128), "t.pcap: packet 2: 1970-01-01T00:16:42Z is more than 1000s from the first RoCEv2 packet: import a part of the capture"},
		{pcapFile(t, []heard{{1001e9, list[1].bytes}, list[0]}, 128), "t.pcap: packet 2: 1970-01-01T00:00:01.000000005Z is more than 1000s"},
		{append(slices.Clone(long), whole[24:24+8]...), "ok"},
		{append(slices.Clone(whole[:24]), whole[24:24+8]...), "t.pcap: packet 1: unexpected EOF"},
		{append(slices.Clone(long), 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0), "t.pcap: packet 2: capture length"},
	} {
		_, err := recorded(c.data, nil)
		if text := message(err); !strings.HasPrefix(text, c.want) || strings.Contains(text, "\n") {
			t.Errorf("%q, want %q", text, c.want)
		}
	}
}

func message(err error) string {
	if err == nil {
		return "ok"
	}
	return err.Error()
}

// counting returns copies of a packet whose field of three bytes at an offset counts.
func counting(h heard, at, count int) []heard {
	list := make([]heard, count)
	for i := range list {
		b := slices.Clone(h.bytes[:70])
		b[at], b[at+1], b[at+2] = byte(i>>16), byte(i>>8), byte(i)
		list[i] = heard{h.at, b}
	}
	return list
}

// A capture of more messages or addresses than a scenario may have is refused.
func TestPCAPLimits(t *testing.T) {
	const psn, host = 51, 31 // their last three bytes
	one := heardOf(t, "0ns 1>2 write-only qp 16 psn 0 len 7")[0]
	for _, c := range []struct {
		list []heard
		want string
	}{
		{counting(one, psn, scenariofile.MaxCommands+1), "t.pcap: 500001 messages, want at most 500000: import a part of the capture"},
		{counting(one, psn, scenariofile.MaxCommands), "ok"},
		{counting(one, host, topology.MaxNodes), "t.pcap: 131072 addresses, want fewer than 131072"},
	} {
		if _, err := recorded(pcapFile(t, c.list, 128), nil); message(err) != c.want {
			t.Errorf("%.200v, want %s", err, c.want)
		}
	}
}

// No input panics, and what is accepted is a valid scenario.
func FuzzPCAP(f *testing.F) {
	list := heardOf(f, twoWrites)
	f.Add(pcapFile(f, list, 128))
	f.Add(pcapng(f, list))
	if run, err := os.ReadFile("testdata/requests.pcapng"); err != nil {
		f.Fatal(err)
	} else {
		f.Add(run)
	}
	f.Add(pcapFile(f, overIPv6(list), 128))
	f.Add(pcapFile(f, heardOf(f, "5ns 1>2 ud-send-only qp 16 psn 0 len 7 from 44\n6ns 2>1 read-request qp 9 psn 4 len 2000\n9ns 1>2 send-first qp 3 psn 16777215 len 1000\n8ns 1>2 send-last qp 3 psn 1 len 7"), 128))
	f.Fuzz(func(t *testing.T, data []byte) {
		if out, err := recorded(data, nil); err == nil {
			if _, err := scenariofile.Parse("s", out.Scenario); err != nil {
				t.Errorf("%v\n%s", err, out.Scenario)
			}
		}
	})
}
