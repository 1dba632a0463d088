package bus

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// wireDoc is the specification of the envelope.
func wireDoc(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/wire.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The table of the fixed header lists the offset and length of each field.
func TestDocumentedOffsetsMatchTheCode(t *testing.T) {
	var blank, full [envelopeHead]byte
	new(Envelope).putHead(blank[:])
	fields := map[string]Envelope{
		"flags": {Flags: 0xff}, "epoch": {Epoch: 1<<32 - 1}, "seq": {Seq: 1<<64 - 1}, "ack": {Ack: 1<<64 - 1},
		"taken": {Taken: 1<<64 - 1}, "promise": {Promise: -1}, "want": {Want: -1}, "count": {Count: 1<<32 - 1},
	}
	_, text, _ := strings.Cut(wireDoc(t), "## Envelope")
	text, _, _ = strings.Cut(text, "Each frame is")
	end, seen := 0, 0
	for line := range strings.Lines(text) {
		cells := strings.Split(line, "|")
		if len(cells) < 6 {
			continue
		}
		at, err1 := strconv.Atoi(strings.TrimSpace(cells[1]))
		size, err2 := strconv.Atoi(strings.TrimSpace(cells[2]))
		name := strings.TrimSpace(cells[3])
		if err1 != nil || err2 != nil {
			continue
		}
		if at != end {
			t.Errorf("%s at %d, the field before ends at %d", name, at, end)
		}
		end, seen = at+size, seen+1
		e, ok := fields[name]
		if !ok {
			continue // magic, version, reserved
		}
		e.putHead(full[:])
		for i := range full {
			if inside := i >= at && i < end; inside != (full[i] != blank[i]) {
				t.Errorf("%s is documented as bytes %d to %d; byte %d is %02x, without it %02x", name, at, end-1, i, full[i], blank[i])
			}
		}
	}
	if end != envelopeHead || seen != len(fields)+3 {
		t.Errorf("%d fields up to byte %d documented, want %d up to %d", seen, end, len(fields)+3, envelopeHead)
	}
}

// example is the envelope shown in the specification.
func example() []byte {
	var pause, data frame.Frame
	(&frame.PFC{Source: frame.HostMAC(1), Enable: 8, Quanta: [8]uint16{3: 0xffff}}).Build(&pause)
	pause.Arrival = 7 * unit.Microsecond
	(&frame.Packet{
		SrcMAC: frame.HostMAC(1), DstMAC: frame.HostMAC(2), Src: frame.HostIP(1), Dst: frame.HostIP(2),
		DSCP: 26, ECN: frame.ECT0, TTL: frame.DefaultTTL, SrcPort: 0xc001, Payload: 1000,
		BTH: frame.BTH{Opcode: frame.WriteMiddle, PKey: frame.DefaultPKey, DestQP: frame.ReceiverQP(7), PSN: 0x123456},
	}).Build(&data)
	data.Arrival, data.Trace = pause.Arrival+212800, 3<<32|9
	return build(Envelope{
		Flags: flagReport, Epoch: 0x0badcafe, Seq: 3, Ack: 2, Taken: 41,
		Promise: 12500 * unit.Nanosecond, Want: 10 * unit.Microsecond,
	}, []frame.Frame{pause, data})
}

// The example matches the code byte by byte. Its lines are an offset, two spaces, the
// bytes, two spaces, and their meaning.
func TestDocumentedExampleMatchesTheCode(t *testing.T) {
	_, text, ok := strings.Cut(wireDoc(t), "## Example")
	if !ok {
		t.Fatal("no example")
	}
	var got []byte
	for line := range strings.Lines(strings.Split(text, "```")[1]) {
		parts := strings.SplitN(strings.TrimSpace(line), "  ", 3)
		if len(parts) < 2 {
			continue
		}
		if want := fmt.Sprintf("%03x", len(got)); parts[0] != want {
			t.Errorf("line %q: want offset %s", line, want)
		}
		b, err := hex.DecodeString(strings.ReplaceAll(parts[1], " ", ""))
		if err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		got = append(got, b...)
	}
	if want := example(); !bytes.Equal(got, want) {
		t.Errorf("documented\n% x\nwritten\n% x", got, want)
	}
	if _, err := ParseEnvelope(got); err != nil {
		t.Error(err)
	}
}

func TestDocumentedLimitsMatchTheCode(t *testing.T) {
	text := strings.Join(strings.Fields(wireDoc(t)), " ")
	for _, want := range []string{
		fmt.Sprintf("Envelope, version %d", Version),
		fmt.Sprintf("An envelope has at most %d MiB", MaxEnvelope>>20),
		fmt.Sprintf("header length | at most %d", frame.HeaderRoom),
		fmt.Sprintf("1 *bare*: control only, no sequence number of its own and no frames; %d *report*", flagReport),
		fmt.Sprintf("%d *gap*", flagGap),
		fmt.Sprintf("silence of %s ticks", map[int]string{2: "two"}[probeFirst]),
		fmt.Sprintf("(300 is `% x`)", binary.AppendUvarint(nil, 300)),
		fmt.Sprintf("More than %d envelopes in a row", refusedLimit),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("not in docs/wire.md: %q", want)
		}
	}
}
