package frame

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// captureRow is a frame and the fields that tshark must print of it: BTH
// opcode, PSN, AETH syndrome, PFC opcode, quanta of priority 3.
type captureRow struct {
	frame *Frame
	want  string
}

func captureRows() []captureRow {
	ack, nak, cnp := write(Acknowledge), write(Acknowledge), write(OpcodeCNP)
	ack.AETH, nak.AETH = AETH{SyndromeACK, 1}, AETH{SyndromeNAKSequence, 1}
	cnp.ECN, cnp.RecRate = CE, 19000
	trimmed, again := nak, write(WriteOnly)
	trimmed.AETH.Syndrome, again.BTH.Resv7 = SyndromeNAKTrimmed, SentBefore(true)
	probe, response := stamped(write(RTTProbe)), stamped(write(RTTResponse))
	probe.Payload, response.Payload = 0, 0
	pause, resume := new(Frame), new(Frame)
	(&PFC{Source: SwitchMAC(0), Enable: 8, Quanta: [8]uint16{3: 0xffff}}).Build(pause)
	(&PFC{Source: SwitchMAC(0), Enable: 8}).Build(resume)
	const psn = "1193046"
	rows := cethRows(psn)
	return append(rows, []captureRow{
		{built(write(WriteFirst)), "6|" + psn + "|||"},
		{built(write(WriteMiddle)), "7|" + psn + "|||"},
		{built(write(WriteLast)), "8|" + psn + "|||"},
		{built(write(WriteOnly)), "10|" + psn + "|||"},
		{trimmedTo(built(trimmable()), 64), "10|" + psn + "|||"},
		{trimmedTo(built(trimmable()), 128), "10|" + psn + "|||"},
		{built(ack), "17|" + psn + "|31||"},
		{built(nak), "17|" + psn + "|96||"},
		{built(cnp), "129|" + psn + "|||"},
		{built(selective(ack)), "17|" + psn + "|31||"},
		{built(selective(nak)), "17|" + psn + "|96||"},
		{built(stamped(selective(nak))), "17|" + psn + "|96||"},
		{built(receipted(selective(ack))), "17|" + psn + "|31||"},
		{built(stamped(receipted(trimmed))), "17|" + psn + "|112||"},
		{built(again), "10|" + psn + "|||"},
		{built(stamped(write(WriteFirst))), "6|" + psn + "|||"},
		{built(stamped(ack)), "17|" + psn + "|31||"},
		{built(probe), "192|" + psn + "|||"},
		{built(response), "193|" + psn + "|||"},
		{pause, "|||0x0101|65535"},
		{resume, "|||0x0101|0"},
	}...)
}

// cethRows are acknowledgements in each form of the CETH.
func cethRows(psn string) (rows []captureRow) {
	for words := range uint8(cethMaxWords + 1) {
		rows = append(rows, captureRow{built(aggregated(words)), "17|" + psn + "|31||"})
	}
	followed, first, second, cnp, read := aggregated(3), aggregated(0), aggregated(0), write(OpcodeCNP), write(ReadRequest)
	followed.SACK = SACK{7, 1 << 63}
	first.BTH.Resv6 = ShortCETH{CETHVersion, RatioHeavy, false}.Resv6()
	second.BTH.Resv7 = ShortCETH{CETHVersion, RatioHeavy, true}.Resv7()
	cnp.CETH, read.CETH = aggregated(4).CETH, aggregated(4).CETH
	return append(rows,
		captureRow{built(followed), "17|" + psn + "|31||"},
		captureRow{built(first), "17|" + psn + "|31||"},
		captureRow{built(second), "17|" + psn + "|31||"},
		captureRow{carried(CarrierINT, 2), "||||"}, // to a port that tshark does not know
		captureRow{carried(CarrierIOAM, 2), "||||"},
		captureRow{built(read), "12|" + psn + "|||"},
		captureRow{built(cnp), "129|" + psn + "|||"})
}

// writeCapture writes a classic pcap file of link type Ethernet.
func writeCapture(t *testing.T, rows []captureRow) string {
	t.Helper()
	le := binary.LittleEndian
	b := le.AppendUint32(nil, 0xa1b2c3d4)
	b = le.AppendUint16(b, 2)
	b = le.AppendUint16(b, 4)
	b = append(b, make([]byte, 8)...)
	b = le.AppendUint32(b, 1<<16)
	b = le.AppendUint32(b, 1)
	for i, r := range rows {
		wire := r.frame.Materialise(nil)
		b = le.AppendUint32(b, 0)
		b = le.AppendUint32(b, uint32(i))
		b = le.AppendUint32(b, uint32(len(wire)))
		b = le.AppendUint32(b, uint32(len(wire)))
		b = append(b, wire...)
	}
	name := filepath.Join(t.TempDir(), "frames.pcap")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// tshark returns the lines that tshark prints for the capture.
func tshark(t *testing.T, capture string, args ...string) []string {
	t.Helper()
	path, err := exec.LookPath("tshark")
	if err != nil {
		if os.Getenv("RACKFAB_CI") != "" {
			t.Fatal("tshark is not in PATH")
		}
		t.Skip("tshark is not in PATH: dissection is not checked")
	}
	cmd := exec.Command(path, append([]string{"-n", "-r", capture}, args...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("tshark: %v\n%s", err, stderr.String())
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' })
}

// An independent dissector reads the frames that this package writes.
func TestTsharkDissectsFrames(t *testing.T) {
	rows := captureRows()
	capture := writeCapture(t, rows)
	got := tshark(t, capture, "-T", "fields", "-E", "separator=|",
		"-e", "infiniband.bth.opcode", "-e", "infiniband.bth.psn", "-e", "infiniband.aeth.syndrome",
		"-e", "macc.opcode", "-e", "macc.cbfc.pause_time.c3")
	var want []string
	for _, r := range rows {
		want = append(want, r.want)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if bad := tshark(t, capture, "-o", "ip.check_checksum:TRUE", "-Y", "_ws.malformed || ip.checksum.status == Bad"); len(bad) > 0 {
		t.Errorf("malformed:\n%s", strings.Join(bad, "\n"))
	}
}

// A dissector identifies a CNM by its EtherType. The CNM is addressed to the
// sender of the sampled frame, and its length field is correct.
func TestTsharkDissectsCNM(t *testing.T) {
	f := new(Frame)
	c := sampledCNM(built(write(WriteMiddle)))
	c.Build(f)
	capture := writeCapture(t, []captureRow{{frame: f}})
	filter := "eth.type == 0x22e7 && eth.dst == " + HostMAC(1).String() + " && frame.len == 80"
	if got := tshark(t, capture, "-Y", filter); len(got) != 1 {
		t.Errorf("%d frames fit %q", len(got), filter)
	}
}
