package frame

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/unit"
)

const trimmedDSCP = 10

// trimmable returns a WRITE only of 1000 bytes, as a NIC sends it.
func trimmable() Packet {
	p := write(WriteOnly)
	p.RETH = RETH{VA: 0x1000, RKey: 7, Length: 1000}
	return p
}

// trimmedTo returns the frame trimmed to a size.
func trimmedTo(f *Frame, size unit.Bytes) *Frame {
	f.Trim(size, trimmedDSCP)
	return f
}

// TRIM-1: the headers and the four bytes before the FCS remain of a WRITE. A larger size keeps payload.
func TestTrimKeepsHeaders(t *testing.T) {
	for _, c := range []struct {
		size, want unit.Bytes
		payload    uint32
	}{
		{0, 78, 0}, {64, 78, 0}, {78, 78, 0}, {80, 80, 2}, {128, 128, 50}, {1077, 1077, 999}, {1078, 1077, 999}, {9000, 1077, 999},
	} {
		f := built(trimmable())
		before, length := slices.Clone(f.Header()), f.TrimmedLen(c.size)
		cut := f.Trim(c.size, trimmedDSCP)
		if f.Len() != c.want || length != c.want || f.Payload != c.payload || cut != unit.Bytes(1000-c.payload) {
			t.Errorf("trimmed to %d: Len %d, payload %d, cut %d; want %d, %d", c.size, f.Len(), f.Payload, cut, c.want, c.payload)
		}
		if !f.Trimmed() || f.DSCP() != trimmedDSCP || f.ECN() != ECT0 {
			t.Errorf("trimmed to %d: Trimmed %v, DSCP %d, ECN %d", c.size, f.Trimmed(), f.DSCP(), f.ECN())
		}
		if !slices.Equal(f.Header()[udpEnd:], before[udpEnd:]) {
			t.Errorf("trimmed to %d: % x\n was % x", c.size, f.Header()[udpEnd:], before[udpEnd:])
		}
	}
}

// TRIM-2: lengths and checksum are those of the packet on the wire, so that every parser accepts it.
func TestTrimmedPacketParses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPacket(t)
		f := built(p)
		if trimmable := f.Trimmable(); f.Trim(unit.Bytes(rapid.Uint32Range(0, 2000).Draw(t, "size")), 9) == 0 {
			if trimmable || *f != *built(p) {
				t.Fatalf("%+v: trimmable, and Trim did nothing or half of it", p.BTH)
			}
			return
		}
		var q Packet
		if err := q.Parse(f); err != nil {
			t.Fatal(err)
		}
		if *built(q) != *f {
			t.Fatal("a trimmed packet is not built again")
		}
		q.Payload, q.DSCP = p.Payload, p.DSCP
		if diff := cmp.Diff(p, q); diff != "" {
			t.Fatal(diff)
		}
		if f.Trimmable() || f.Trim(0, 1) != 0 {
			t.Fatal("a trimmed packet is trimmed again")
		}
	})
}

// TRIM-4: only a WRITE of one packet names the length of its own payload.
func TestTrimmableOpcodes(t *testing.T) {
	for _, op := range knownOpcodes() {
		p := write(op)
		p.RETH.Length = p.Payload
		f := built(p)
		if got, want := f.Trimmable(), op == WriteOnly || op == WriteOnlyImm; got != want {
			t.Errorf("%v: Trimmable %v, want %v", op, got, want)
		}
		if f.Trimmed() {
			t.Errorf("%v is trimmed", op)
		}
	}
}

// A message of 0 bytes and a packet of 1 byte, with pad, are the shortest ones.
func TestTrimShortPackets(t *testing.T) {
	empty, one := trimmable(), trimmable()
	empty.Payload, empty.RETH.Length = 0, 0
	one.Payload, one.RETH.Length, one.BTH.Pad = 4, 1, 3
	if f := built(empty); f.Trimmable() || f.Trimmed() {
		t.Error("a WRITE of 0 bytes is trimmable, or trimmed")
	}
	f := built(one)
	if cut := f.Trim(1500, trimmedDSCP); cut != 4 || !f.Trimmed() {
		t.Errorf("a WRITE of 1 byte: cut %d, trimmed %v", cut, f.Trimmed())
	}
}

// Telemetry belongs to the headers: what switches wrote so far arrives.
func TestTrimKeepsTelemetry(t *testing.T) {
	f := built(trimmable())
	f.Carry(CarrierINT, 3)
	f.PushHop(&Hop{Node: 9, Depth: 77}, 9000)
	length := f.Len()
	if cut := f.Trim(64, trimmedDSCP); cut != 1000 || f.Len() != length-1000 || !f.Trimmed() {
		t.Fatalf("cut %d of %d", cut, length)
	}
	if f.Hops() != 1 || f.Hop(0).Depth != 77 {
		t.Errorf("%d hops", f.Hops())
	}
	f.StripTelemetry()
	if want := trimmedTo(built(trimmable()), 64); *f != *want {
		t.Error("without its telemetry, the packet differs from one trimmed without")
	}
}

// TRIM-1, TRIM-2: the first of several requests keeps no payload, because its headers do not tell its length.
func TestTrimUET(t *testing.T) {
	for name, c := range map[string]struct {
		first, last bool
		length      uint32
		want        uint32 // payload of 1000, trimmed to 206 bytes: 100 beyond the headers
	}{
		"first":  {true, false, 5000, 0},
		"middle": {false, false, 5000, 100},
		"last":   {false, true, 5000, 100},
		"only":   {true, true, 1000, 100},
	} {
		h := write(WriteOnly)
		u := UET{Header: Packet{
			SrcMAC: h.SrcMAC, DstMAC: h.DstMAC, Src: h.Src, Dst: h.Dst, DSCP: 26, ECN: ECT0, TTL: 64, Payload: 1000,
		}, Type: UETRequest, Flow: 3, PSN: 4, First: c.first, Last: c.last, Length: c.length}
		var f Frame
		u.Build(&f)
		if f.Trimmed() || !f.Trimmable() {
			t.Errorf("%s: trimmed, or not trimmable, before Trim", name)
		}
		if f.Trim(206, trimmedDSCP); f.Payload != c.want || f.Class() != ClassUET || !f.Trimmed() {
			t.Errorf("%s: payload %d, want %d; %v, trimmed %v", name, f.Payload, c.want, f.Class(), f.Trimmed())
		}
		if length, _, _ := f.UETSpan(); length != c.length {
			t.Errorf("%s: message of %d bytes", name, length)
		}
		var got UET
		if err := got.Parse(&f); err != nil || !c.first && got.Cut != 1000-c.want {
			t.Errorf("%s: %v, cut %d", name, err, got.Cut)
		}
		if role, back := f.Role(); role != RoleTrimmed || back {
			t.Errorf("%s: role %v, back %v", name, role, back)
		}
	}
}

// TRIM-4: ACKs, NACKs and credit of UET have no payload to cut.
func TestTrimmableUETTypes(t *testing.T) {
	for _, u := range uetSamples() {
		var f Frame
		u.Build(&f)
		if got, want := f.Trimmable(), u.Type.IsRequest(); got != want || f.Trimmed() {
			t.Errorf("%+v: trimmable %v, trimmed %v", u, got, f.Trimmed())
		}
	}
}

// PFC and CNM have no payload either.
func TestTrimOtherFrames(t *testing.T) {
	var pfc, cnm, none Frame
	(&PFC{Enable: 8}).Build(&pfc)
	c := sampledCNM(built(write(WriteMiddle)))
	c.Build(&cnm)
	for _, f := range []*Frame{&pfc, &cnm, &none} {
		before := *f
		if f.Trimmable() || f.Trimmed() || f.Trim(0, 1) != 0 || *f != before {
			t.Errorf("%v was trimmed", f.Class())
		}
	}
}

// In a capture, four bytes of the payload are where a parser expects the ICRC, and are wrong.
func TestTrimmedICRC(t *testing.T) {
	f := trimmedTo(built(trimmable()), 64)
	wire := f.Materialise(nil)
	if unit.Bytes(len(wire)) != f.Len()-FCSLen {
		t.Fatalf("%d bytes, Len %d", len(wire), f.Len())
	}
	end := len(wire) - ICRCLen
	if got := binary.LittleEndian.Uint32(wire[end:]); got != 0 || got == ICRC(wire[ethEnd:end]) {
		t.Errorf("ICRC %#x", got)
	}
}
