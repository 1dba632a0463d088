package frame

import (
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/unit"
)

// RTTX-13, RTTX-14: an ACK and the data packet that it answers, and a probe and its
// response, carry T_s and T_r after all other headers: the offsets of RETH and AETH do not change.
func TestTimestampHeaderIsLast(t *testing.T) {
	for op, ext := range map[Opcode]int{WriteFirst: 16, WriteMiddle: 0, WriteOnlyImm: 20, Acknowledge: 4, RTTProbe: 0, RTTResponse: 0} {
		p := stamped(write(op))
		p.Imm, p.AETH, p.RETH = 7, AETH{SyndromeACK, 9}, RETH{Length: 64000}
		p.Payload = 100 // longer than the padding of short frames
		plain := p
		plain.Timestamped = false
		f, without := built(p), built(plain)
		if f.Len() != max(without.Len()+8, MinLen) {
			t.Errorf("%v: %d bytes, without timestamps %d", op, f.Len(), without.Len())
		}
		at := 54 + ext
		if got := string(f.Header()[at:]); got != "\x01\x02\x03\x04\x05\x06\x07\x08" {
			t.Errorf("%v: % x after the other headers", op, got)
		}
		if string(f.Header()[54:at]) != string(without.Header()[54:]) {
			t.Errorf("%v: % x, without timestamps % x", op, f.Header()[54:at], without.Header()[54:])
		}
		if f.head[43] != without.head[43]|1 {
			t.Errorf("%v: BTH byte 1 is %#x, want transport header version 1", op, f.head[43])
		}
	}
}

// RTTX-36: the ICRC covers the timestamps, so that it must be recomputed when
// they are rewritten; it is computed when a frame leaves the fabric.
func TestICRCCoversTheTimestamps(t *testing.T) {
	f := built(stamped(write(Acknowledge)))
	before := f.Materialise(nil)
	f.SetTimestamps(Timestamps{Sent: 0x01020304, Received: 0x05060708 + 1000})
	after := f.Materialise(nil)
	old, renewed := before[len(before)-4:], after[len(after)-4:]
	if string(old) == string(renewed) {
		t.Error("the ICRC did not change")
	}
	if binary.LittleEndian.Uint32(renewed) != ICRC(after[14:len(after)-4]) {
		t.Error("the ICRC does not match the packet")
	}
}

// RTTX-34: instants are counted modulo 2^32 ns; spans across the wrap are
// correct.
func TestTimestampsWrap(t *testing.T) {
	const turn = unit.Time(1<<32) * unit.Nanosecond
	for _, c := range []struct{ from, to, want unit.Time }{
		{0, 0, 0},
		{0, 30_999, 30_000},
		{turn - 5_000, turn + 7_000, 12_000},
		{turn - 1, turn, 1_000},
	} {
		if got := StampOf(c.to).Since(StampOf(c.from)); got != c.want {
			t.Errorf("from %d ps to %d ps: %d ps, want %d", c.from, c.to, got, c.want)
		}
	}
	// A span is correct even if a switch moved an ACK's T_s below 0.
	early := StampOf(1000 * unit.Nanosecond)
	early -= StampOf(2 * unit.Microsecond)
	if got := StampOf(unit.Microsecond).Since(early); got != 2*unit.Microsecond {
		t.Errorf("T_s lowered below 0 reads as %s, want 2us", got)
	}
}

// Parse reads the values that were rewritten in place, and nothing else has
// changed.
func TestSetTimestamps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPacket(t)
		p.Timestamped = true
		f := built(p)
		p.Timestamps = Timestamps{Stamp(rapid.Uint32().Draw(t, "sent")), Stamp(rapid.Uint32().Draw(t, "received"))}
		f.SetTimestamps(p.Timestamps)
		if *f != *built(p) {
			t.Fatalf("% x", f.Header())
		}
	})
}

// RTTX-6: an answer may swap the ports of the packet that it answers: it is
// RoCEv2 by its source port and has the same 5-tuple reversed.
func TestMirroredPorts(t *testing.T) {
	p := write(Acknowledge)
	plain := built(p)
	p.Mirrored = true
	f := built(p)
	if f.Class() != ClassRoCE || !f.Mirrored() || plain.Mirrored() {
		t.Errorf("class %v, mirrored %v and %v", f.Class(), f.Mirrored(), plain.Mirrored())
	}
	if f.SrcPort() != plain.DstPort() || f.DstPort() != plain.SrcPort() {
		t.Errorf("ports %d to %d, without swap %d to %d", f.SrcPort(), f.DstPort(), plain.SrcPort(), plain.DstPort())
	}
}
