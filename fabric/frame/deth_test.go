package frame

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// datagram returns a UD SEND with every field of the DETH set.
func datagram(op Opcode) Packet {
	p := write(op)
	p.DETH, p.Imm = DETH{QKey: 0x01234567, SourceQP: 0x89abcd}, 0xa1b2c3d4
	return p
}

// The DETH is the Q_Key, a reserved byte and the source queue pair (IBTA volume 1
// §9.3.2), between the BTH and the immediate data.
func TestDETH(t *testing.T) {
	f := built(datagram(UDSendOnlyImm))
	want := unhex(t, "012345670089abcda1b2c3d4")
	if diff := cmp.Diff(want, f.Header()[bthEnd:]); diff != "" {
		t.Error(diff)
	}
	if got := f.DETH(); got != (DETH{0x01234567, 0x89abcd}) {
		t.Errorf("%#x", got)
	}
	f.head[dethReserved] = 1
	if err := new(Packet).Parse(f); !errors.Is(err, errReserved) {
		t.Errorf("a reserved byte of 1: %v", err)
	}
}

// The header stays readable behind telemetry.
func TestDETHBehindTelemetry(t *testing.T) {
	f := built(datagram(UDSendOnly))
	f.Carry(CarrierINT, 2)
	if got := f.DETH(); got != (DETH{0x01234567, 0x89abcd}) || f.Class() != ClassRoCE {
		t.Errorf("%#x, class %v", got, f.Class())
	}
}

// An independent dissector reads the Q_Key, the source queue pair and the immediate
// data of a datagram.
func TestTsharkDissectsDatagrams(t *testing.T) {
	capture := writeCapture(t, []captureRow{{frame: built(datagram(UDSendOnly))}, {frame: built(datagram(UDSendOnlyImm))}})
	got := tshark(t, capture, "-T", "fields", "-E", "separator=|", "-E", "occurrence=f",
		"-e", "infiniband.bth.opcode", "-e", "infiniband.deth.q_key", "-e", "infiniband.deth.srcqp", "-e", "infiniband.immdt")
	want := []string{"100|0x0000000001234567|0x0089abcd|", "101|0x0000000001234567|0x0089abcd|a1b2c3d4"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if bad := tshark(t, capture, "-Y", "_ws.malformed"); len(bad) > 0 {
		t.Errorf("malformed: %v", bad)
	}
}
