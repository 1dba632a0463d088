package imports

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// heard is a packet of a capture: "0ns 1>2 write-first qp 16 psn 0 len 3000". len is the DMA length of a WRITE or
// READ, of which a packet has 1000 bytes, or else the payload.
type heard struct {
	at    time.Duration
	bytes []byte
}

func opcodeNamed(t testing.TB, name string) frame.Opcode {
	t.Helper()
	for i := range 256 {
		if op := frame.Opcode(i); op.String() == name {
			return op
		}
	}
	t.Fatalf("no opcode %q", name)
	return 0
}

// heardOf returns the packets of lines.
func heardOf(t testing.TB, lines string) (list []heard) {
	t.Helper()
	for line := range strings.Lines(lines) {
		var at, from, to int
		var op string
		var qp, psn, length, source, dscp uint32
		if n, err := fmt.Sscanf(line, "%dns %d>%d %s qp %d psn %d len %d from %d dscp %d", &at, &from, &to, &op, &qp, &psn, &length, &source, &dscp); n < 7 {
			t.Fatalf("%q: %v", line, err)
		}
		code := opcodeNamed(t, op)
		p := frame.Packet{
			SrcMAC: frame.HostMAC(from), DstMAC: frame.HostMAC(to), Src: frame.HostIP(from), Dst: frame.HostIP(to), TTL: 64, DSCP: uint8(dscp),
			BTH:  frame.BTH{Opcode: code, DestQP: qp, PSN: psn},
			RETH: frame.RETH{Length: length}, AETH: frame.AETH{Syndrome: uint8(length)}, DETH: frame.DETH{SourceQP: source},
		}
		if code.IsData() {
			p.Payload = length
			if code.HasRETH() {
				p.Payload = min(length, 1000)
			}
			p.BTH.Pad = frame.PadCount(p.Payload)
			p.Payload += uint32(p.BTH.Pad)
		}
		var f frame.Frame
		p.Build(&f)
		list = append(list, heard{time.Duration(at), f.Materialise(nil)})
	}
	return list
}

// pcapFile returns a capture in ns of packets, each cut after snap bytes.
func pcapFile(t testing.TB, list []heard, snap int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := pcapgo.NewWriterNanos(&b)
	if err := w.WriteFileHeader(uint32(snap), layers.LinkTypeEthernet); err != nil {
		t.Fatal(err)
	}
	for _, h := range list {
		if err := w.WritePacket(infoOf(h, snap), h.bytes[:min(len(h.bytes), snap)]); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func infoOf(h heard, snap int) gopacket.CaptureInfo {
	return gopacket.CaptureInfo{Timestamp: time.Unix(1, 0).Add(h.at), CaptureLength: min(len(h.bytes), snap), Length: len(h.bytes)}
}

func recorded(data []byte, rack *File) (*Imported, error) {
	return PCAP(File{"t.pcap", data}, rack, testLayout)
}

// commandsOf returns the commands of a scenario, one line each: "Q0 put h0>h1 0ps 5B, 7ns 6B".
func commandsOf(t testing.TB, text []byte) string {
	t.Helper()
	s, err := scenariofile.Parse("s", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var lines []string
	for _, c := range s.Commands {
		var posts []string
		for _, p := range c.Posts {
			posts = append(posts, fmt.Sprintf("%s %dB", c.At+p.After, p.Size))
		}
		verb := c.Verb
		if c.Datagram {
			verb += " ud"
		}
		lines = append(lines, fmt.Sprintf("%s %s %s>%s %s", c.Name, verb, s.Nodes[c.From[0]].Name, s.Nodes[c.To[0]].Name, strings.Join(posts, ", ")))
	}
	return strings.Join(lines, "\n")
}

// IMP-10: Each queue pair becomes commands with the times, verbs and sizes of its messages.
func TestPCAPMessages(t *testing.T) {
	for _, c := range []struct{ name, lines, want, notes string }{
		{
			"write", "5ns 1>2 write-first qp 16 psn 0 len 2500\n6ns 1>2 write-middle qp 16 psn 1 len 1000\n7ns 1>2 write-last qp 16 psn 2 len 500\n20ns 1>2 write-only qp 16 psn 3 len 7",
			"Q0 put h0>h1 0ps 2500B, 15ns 7B", "",
		},
		{
			"send", "5ns 1>2 send-first qp 16 psn 0 len 1000\n6ns 1>2 send-middle qp 16 psn 1 len 1000\n7ns 1>2 send-last-imm qp 16 psn 2 len 501\n20ns 1>2 send-only qp 16 psn 3 len 7",
			"Q0 send h0>h1 0ps 2501B, 15ns 7B", "",
		},
		{
			"read and answer", "5ns 2>1 read-request qp 16 psn 9 len 2500\n6ns 1>2 read-response-first qp 17 psn 9 len 1000\n7ns 1>2 read-response-middle qp 17 psn 10 len 1000\n8ns 1>2 read-response-last qp 17 psn 11 len 500\n9ns 2>1 read-request qp 16 psn 12 len 8",
			"Q0 get h0>h1 0ps 2500B, 4ns 8B", "3 of 5 frames carry no request: 3 responses",
		},
		{
			"atomics", "5ns 2>1 fetch-add qp 16 psn 9 len 0\n6ns 2>1 compare-swap qp 16 psn 10 len 0\n8ns 1>2 atomic-acknowledge qp 17 psn 9 len 0",
			"Q0-fetch-add fetch-add h0>h1 0ps 8B\nQ0-compare-swap compare-swap h0>h1 1ns 8B", "1 of 3 frames carry no request: 1 responses",
		},
		{
			"datagrams of two senders", "5ns 1>2 ud-send-only qp 16 psn 9 len 1000 from 33\n6ns 1>2 ud-send-only qp 16 psn 9 len 20 from 34",
			"Q0 send ud h0>h1 0ps 1000B\nQ1 send ud h0>h1 1ns 20B", "several queue pairs between the same hosts are one in the scenario: h0 to h1\n",
		},
		{
			"control", "1ns 3>1 cnp qp 9 psn 0 len 0\n5ns 1>2 write-only qp 16 psn 0 len 7\n6ns 2>1 acknowledge qp 9 psn 0 len 31\n7ns 2>1 acknowledge qp 9 psn 0 len 96\n8ns 2>1 acknowledge qp 9 psn 0 len 33\n9ns 1>2 ud-send-only qp 1 psn 0 len 256 from 1\n9ns 2>1 acknowledge qp 9 psn 0 len 0\n9ns 2>1 rtt-probe qp 9 psn 0 len 0",
			"Q0 put h1>h2 0ps 7B", "h0 is 10.0.0.4, h1 is 10.0.0.2, h2 is 10.0.0.3\nt.pcap: time 0 of the scenario is 1970-01-01T00:00:01.000000005Z\nt.pcap: 7 of 8 frames carry no request: 2 ACK, 2 NAK, 1 CNP, 1 to queue pairs of management, 1 rtt-probe",
		},
		{
			"retransmission", "5ns 1>2 send-first qp 16 psn 0 len 1000\n6ns 1>2 send-middle qp 16 psn 1 len 1000\n7ns 1>2 send-last qp 16 psn 2 len 500\n8ns 1>2 send-middle qp 16 psn 1 len 1000\n9ns 1>2 send-last qp 16 psn 2 len 500",
			"Q0 send h0>h1 0ps 2500B", "2 packets ignored: retransmitted, or captured at several ports",
		},
		{
			"retransmission of what was lost before the port", "5ns 1>2 send-first qp 16 psn 0 len 1000\n7ns 1>2 send-last qp 16 psn 2 len 500\n8ns 1>2 send-middle qp 16 psn 1 len 1000\n9ns 1>2 send-last qp 16 psn 2 len 500",
			"Q0 send h0>h1 0ps 2500B", "1 packet ignored",
		},
		{
			"first packet again, later", "5ns 1>2 send-middle qp 16 psn 1 len 1000\n6ns 1>2 send-only qp 16 psn 3 len 9\n7ns 1>2 send-last qp 16 psn 2 len 500\n8ns 1>2 send-first qp 16 psn 0 len 1000",
			"Q0 send h0>h1 0ps 2500B, 1ns 9B", "",
		},
		{
			"read of lost responses", "5ns 2>1 read-request qp 16 psn 9 len 2500\n6ns 1>2 read-response-first qp 17 psn 9 len 1000\n9ns 2>1 read-request qp 16 psn 11 len 500\n10ns 2>1 read-request qp 16 psn 12 len 500",
			"Q0 get h0>h1 0ps 2500B, 5ns 500B", "1 packet ignored",
		},
		{
			"packet numbers wrap", "5ns 1>2 send-first qp 16 psn 16777214 len 1000\n6ns 1>2 send-middle qp 16 psn 16777215 len 1000\n7ns 1>2 send-last qp 16 psn 0 len 500\n8ns 1>2 send-only qp 16 psn 1 len 5",
			"Q0 send h0>h1 0ps 2500B, 3ns 5B", "",
		},
		{
			"begins within a message", "5ns 1>2 send-middle qp 16 psn 1 len 1000\n6ns 1>2 send-last qp 16 psn 2 len 1000\n7ns 1>2 write-last qp 18 psn 2 len 1000\n8ns 1>2 send-only qp 16 psn 3 len 5",
			"Q0 send h0>h1 0ps 5B", "2 messages left out, without the first packet: h0 to h1 at 0x10, h0 to h1 at 0x12",
		},
		{
			"ends within a message", "5ns 1>2 send-first qp 16 psn 1 len 1000\n6ns 1>2 write-first qp 18 psn 2 len 3000",
			"Q0 send h0>h1 0ps 1000B\nQ1 put h0>h1 1ns 3000B", "1 SEND has no last packet: the size is that of the captured packets",
		},
		{
			"a message without its end", "5ns 1>2 send-first qp 16 psn 1 len 1000\n6ns 1>2 write-only qp 16 psn 3 len 9\n6ns 1>2 write-last qp 16 psn 4 len 9",
			"Q0-send send h0>h1 0ps 1000B\nQ0-put put h0>h1 1ns 9B", "1 message left out, without the first packet: h0 to h1 at 0x10\nt.pcap: 1 SEND has no last packet",
		},
		{
			"missing packets", "5ns 1>2 send-first qp 16 psn 1 len 1000\n6ns 1>2 send-last qp 16 psn 4 len 9\n7ns 1>2 write-first qp 16 psn 5 len 3000\n8ns 1>2 write-last qp 16 psn 7 len 1000",
			"Q0-send send h0>h1 0ps 3009B\nQ0-put put h0>h1 2ns 3000B", "2 packets missing within SENDs: counted as full packets",
		},
		{
			"too far to be one message", "5ns 1>2 send-first qp 16 psn 1 len 1000\n6ns 1>2 send-last qp 16 psn 4000001 len 9\n7ns 1>2 send-only qp 16 psn 4000002 len 9",
			"Q0 send h0>h1 0ps 1000B, 2ns 9B", "1 message left out",
		},
		{
			"later messages first", "5ns 1>2 write-only qp 16 psn 1 len 5\n9ns 1>2 write-only qp 16 psn 2 len 6\n7ns 1>2 write-only qp 16 psn 3 len 7",
			"Q0 put h0>h1 0ps 5B, 2ns 7B, 4ns 6B", "",
		},
		{
			"the earliest of two copies", "9ns 1>2 write-only qp 16 psn 1 len 5\n5ns 1>2 write-only qp 16 psn 1 len 5\n7ns 1>2 write-only qp 16 psn 2 len 7",
			"Q0 put h0>h1 0ps 5B, 2ns 7B", "1 packet ignored",
		},
		{
			"two headless in a row", "5ns 1>2 send-middle qp 16 psn 1 len 9\n6ns 1>2 send-last qp 16 psn 2 len 9\n7ns 1>2 write-last-imm qp 16 psn 3 len 9\n8ns 1>2 send-only qp 16 psn 4 len 9",
			"Q0 send h0>h1 0ps 9B", "2 messages left out",
		},
		{
			"headless after one without its end", "5ns 1>2 send-middle qp 16 psn 1 len 9\n6ns 1>2 send-first qp 16 psn 2 len 1000\n7ns 1>2 write-last qp 16 psn 3 len 9",
			"Q0 send h0>h1 0ps 1000B", "2 messages left out",
		},
		{
			"a long gap in a WRITE", "5ns 1>2 write-first qp 16 psn 1 len 2147483648\n6ns 1>2 write-last-imm qp 16 psn 4000001 len 9\n7ns 1>2 write-only qp 16 psn 4000002 len 9",
			"Q0 put h0>h1 0ps 2147483648B, 2ns 9B", "",
		},
		{
			"reliable and datagrams", "5ns 1>2 ud-send-only qp 16 psn 9 len 1000 from 33\n6ns 1>2 send-only qp 17 psn 9 len 20",
			"Q0 send ud h0>h1 0ps 1000B\nQ1 send h0>h1 1ns 20B", "",
		},
		{
			"three queue pairs", "9ns 1>2 send-only qp 15 psn 9 len 20\n6ns 1>2 send-only qp 17 psn 9 len 20\n7ns 1>2 send-only qp 18 psn 9 len 20",
			"Q0 send h0>h1 3ns 20B\nQ1 send h0>h1 0ps 20B\nQ2 send h0>h1 1ns 20B", "are one in the scenario: h0 to h1\n",
		},
		{
			"many headless", "5ns 1>2 send-last qp 31 psn 1 len 9\n5ns 1>2 send-last qp 32 psn 1 len 9\n5ns 1>2 send-last qp 33 psn 1 len 9\n5ns 1>2 send-last qp 34 psn 1 len 9\n5ns 1>2 send-last qp 35 psn 1 len 9\n5ns 1>2 send-last qp 36 psn 1 len 9\n5ns 1>2 send-last qp 37 psn 1 len 9\n5ns 1>2 send-only qp 38 psn 1 len 9",
			"Q7 send h0>h1 0ps 9B", "7 messages left out, without the first packet: h0 to h1 at 0x1f, h0 to h1 at 0x20, h0 to h1 at 0x21, h0 to h1 at 0x22, h0 to h1 at 0x23 and 2 more",
		},
		{"empty", "5ns 1>2 write-only-imm qp 16 psn 1 len 0", "Q0 put h0>h1 0ps 1B", "1 message has 1 byte instead of 0"},
		{"to itself", "5ns 1>1 write-only qp 16 psn 1 len 5\n6ns 1>1 write-only qp 16 psn 2 len 5\n5ns 1>2 write-only qp 16 psn 1 len 5", "Q1 put h0>h1 0ps 5B", "2 messages of a host to itself left out"},
		{
			"several classes", "5ns 1>2 write-only qp 16 psn 1 len 5 from 0 dscp 26\n5ns 1>2 write-only qp 16 psn 2 len 5 from 0 dscp 46\n5ns 1>2 write-only qp 16 psn 3 len 5 from 0 dscp 46",
			"Q0 put h0>h1 0ps 5B, 0ps 5B, 0ps 5B", "requests have several DSCPs, all commands class 3: packets 2 with 46, 1 with 26",
		},
		{"out of order in the file", "9ns 1>2 write-only qp 16 psn 2 len 5\n5ns 1>2 write-only qp 16 psn 1 len 6", "Q0 put h0>h1 0ps 6B, 4ns 5B", ""},
		{"longer than a message", "5ns 1>2 write-only qp 16 psn 1 len 2147483649\n5ns 1>2 write-only qp 16 psn 2 len 5", "Q0 put h0>h1 0ps 5B", "1 with invalid headers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := recorded(pcapFile(t, heardOf(t, c.lines), 128), nil)
			if err != nil {
				t.Fatal(err)
			}
			notes := strings.Join(out.Notes, "\n") + "\n"
			if got := commandsOf(t, out.Scenario); got != c.want || !strings.Contains(notes, c.notes) || c.notes == "" && len(out.Notes) > 2 {
				t.Errorf("got\n%s\nnotes %s\nwant\n%s\nnotes %s", got, notes, c.want, c.notes)
			}
		})
	}
}

// The rack of one switch carries packets as large as those of the capture, and the run lasts twice as long as the
// busiest host needs.
func TestPCAPStar(t *testing.T) {
	for _, c := range []struct {
		lines    string
		payload  unit.Bytes
		duration unit.Time
	}{
		{"0ns 1>2 write-only qp 16 psn 0 len 512", topology.DefaultNIC().Payload, 1000 * unit.Microsecond},
		{"0ns 1>2 send-first qp 16 psn 0 len 512\n0ns 1>2 send-last qp 16 psn 1 len 100", 512, 1000 * unit.Microsecond},
		{"0ns 1>2 ud-send-only qp 16 psn 0 len 900 from 44", topology.DefaultNIC().Payload, 1000 * unit.Microsecond},
		{"0ns 1>2 ud-send-only qp 16 psn 0 len 1500 from 44", 1500, 1000 * unit.Microsecond},
		{"0ns 1>2 send-first qp 16 psn 0 len 1024\n0ns 2>1 send-middle qp 16 psn 1 len 512", 1024, 1000 * unit.Microsecond},
		{"0ns 1>2 send-first qp 16 psn 0 len 65336\n0ns 2>1 send-only qp 16 psn 1 len 512", 8192, 1010 * unit.Microsecond},
		{"900000ns 1>2 send-only qp 16 psn 0 len 5\n0ns 2>1 send-only qp 16 psn 1 len 5", topology.DefaultNIC().Payload, 1900 * unit.Microsecond},
		// 3 MB at 100 Gbit/s take 240 us
		{"0ns 1>3 write-only qp 16 psn 0 len 1000000\n5000ns 2>3 write-only qp 16 psn 0 len 2000000", topology.DefaultNIC().Payload, 1485 * unit.Microsecond},
		{"0ns 3>1 read-request qp 16 psn 0 len 1000000\n5000ns 2>3 write-only qp 16 psn 0 len 2000000", topology.DefaultNIC().Payload, 1485 * unit.Microsecond},
		{"0ns 1>3 read-request qp 16 psn 0 len 1000000\n5000ns 2>3 write-only qp 16 psn 0 len 2000000", topology.DefaultNIC().Payload, 1325 * unit.Microsecond},
	} {
		out, err := recorded(pcapFile(t, heardOf(t, c.lines), 128), nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := scenariofile.Parse("s", out.Scenario)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Nodes[0].NIC.Payload; got != c.payload || s.Duration != c.duration || s.Links[0].Rate != testLayout.Rate {
			t.Errorf("%s: payload %s, duration %s, want %s, %s\n%s", c.lines, got, s.Duration, c.payload, c.duration, out.Scenario)
		}
	}
}

// Lines of the scenario have eight messages.
func TestPCAPLines(t *testing.T) {
	var lines strings.Builder
	for i := range 17 {
		fmt.Fprintf(&lines, "%dns 1>2 write-only qp 16 psn %d len 5\n", i, i)
	}
	out, err := recorded(pcapFile(t, heardOf(t, lines.String()), 128), nil)
	if err != nil || strings.Count(string(out.Scenario), "B],\n      [") != 2 || strings.Count(commandsOf(t, out.Scenario), "ns 5B") != 16 {
		t.Errorf("%v\n%s", err, out.Scenario)
	}
}

// The rack may be that of a scenario with a host for each address.
func TestPCAPTopology(t *testing.T) {
	const rack = "name: r\nduration: 1ms\nscheme: pfc\nnics: {h0..h1: }\nswitches: {s0: }\nlinks:\n  - {endpoints: [h0..h1, s0], rate: 40Gbps, delay: 2us}\n"
	const lines = "0ns 1>2 write-only qp 16 psn 0 len 5\n999999ns 1>2 write-only qp 16 psn 1 len 5"
	data := pcapFile(t, heardOf(t, lines), 128)
	out, err := recorded(data, &File{"rack.yaml", []byte(rack)})
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenariofile.Parse("x", out.Scenario)
	if err != nil || s.Name != "r" || s.Commands[0].Count != 2 || s.Links[0].Rate != 40*unit.GigabitPerSec || len(out.Notes) != 2 {
		t.Errorf("%v\n%s\n%q", err, out.Scenario, out.Notes)
	}
	late := pcapFile(t, heardOf(t, strings.Replace(lines, "999999", "1000000", 1)), 128)
	if out, err := recorded(late, &File{"rack.yaml", []byte(rack)}); err != nil || !strings.HasPrefix(out.Notes[2], "rack.yaml: ends at 1ms, and the last message begins at 1ms: see --duration") {
		t.Errorf("%v, %v", out, err)
	}
	third := pcapFile(t, heardOf(t, lines+"\n7ns 2>3 cnp qp 1 psn 1 len 5"), 128)
	for _, c := range []struct {
		data       []byte
		rack, want string
	}{
		{third, rack, "rack.yaml: no NIC h2, which stands for 10.0.0.4 of t.pcap"},
		{data, string(out.Scenario), "rack.yaml: has commands already"},
		{data, "name: [", "rack.yaml:1: "},
	} {
		if _, err := recorded(c.data, &File{"rack.yaml", []byte(c.rack)}); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}
