package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gopacket/gopacket/pcapgo"

	"github.com/rackfab/rackfab/fabric/frame"
)

// ackIP and ackBTH are offsets in an ACK without telemetry: of the IPv4 packet, and of
// the BTH with the queue pair and the PSN. ackEnd is the size of the ICRC at its end.
const (
	ackIP  = 14
	ackBTH = 42
	ackEnd = 4
)

// tshark dissects an ACK that a switch has rewritten with RTTX's timestamps, and its
// ICRC matches its new content.
func TestTsharkDissectsARewrittenACK(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rttx.pcapng")
	c := root()
	c.SetOut(io.Discard)
	c.SetArgs([]string{"capture", "rttx-16to2", "--scheme", "timely-rttx", "--at", "s0..s1", "--filter", "ack", "--to", "1ms", "-o", file})
	if err := c.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r, err := pcapgo.NewNgReader(bytes.NewReader(text), pcapgo.NgReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	came, acks, rewritten := map[string]string{}, 0, 0
	for {
		data, info, about, err := r.ReadPacketDataWithOptions()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		acks++
		sealed := len(data) - ackEnd
		if got, want := binary.LittleEndian.Uint32(data[sealed:]), frame.ICRC(data[ackIP:sealed]); got != want {
			t.Fatalf("ICRC %08x, want %08x", got, want)
		}
		face, err := r.Interface(info.InterfaceIndex)
		if err != nil {
			t.Fatal(err)
		}
		node, _, _ := strings.Cut(face.Name, ":")
		key := fmt.Sprintf("%s %x", node, data[ackBTH+4:ackBTH+12]) // queue pair and PSN
		if body := string(data[ackBTH:sealed]); about.Flags.Direction == pcapgo.NgEpbFlagDirectionInbound {
			came[key] = body
		} else if was, ok := came[key]; ok && was != body {
			rewritten++
		}
	}
	if acks < 1000 || rewritten < 100 {
		t.Errorf("%d ACKs, %d of them rewritten: want both", acks, rewritten)
	}
	dissectACKs(t, file, acks)
}

func dissectACKs(t *testing.T, file string, acks int) {
	t.Helper()
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		if os.Getenv("RACKFAB_CI") != "" {
			t.Fatal("tshark is not in PATH")
		}
		t.Skip("tshark is not in PATH: the dissection of rewritten ACKs is not checked")
	}
	filter := "infiniband.bth.opcode == 17 && infiniband.aeth.syndrome.opcode == 0 && !_ws.malformed && ip.checksum.status == Good"
	out, err := exec.Command(tshark, "-n", "-r", file, "-o", "ip.check_checksum:TRUE", "-Y", filter, "-T", "fields", "-e", "frame.number").Output()
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(out, []byte("\n")); n != acks {
		t.Errorf("tshark finds %d of %d ACKs", n, acks)
	}
}

// Packets are not written to a terminal, even one of unknown size.
func TestCaptureRefusesATerminal(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no pseudo-terminal here:", err)
	}
	defer terminal.Close()
	c := root()
	c.SetOut(terminal)
	c.SetArgs(strings.Fields("capture --at s0 --to 10us -o - star-2"))
	if err := c.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "standard output is a terminal") {
		t.Errorf("got %v", err)
	}
}
