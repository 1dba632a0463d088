package frame

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/unit"
)

const roomy = 9000 // an MTU above every frame's length

func hop(i int) *Hop {
	return &Hop{
		Node: uint32(i), In: uint16(i + 1), Out: uint16(i + 2), Depth: uint32(0x010203 + i),
		Entered: unit.Time(i)*unit.Second + 0x0a0b0c*unit.Nanosecond,
	}
}

// carried returns a data packet with telemetry of the given number of hops;
// Carry allows 3.
func carried(c Carrier, hops int) *Frame {
	f := built(write(WriteFirst))
	f.Carry(c, 3)
	for i := range hops {
		f.PushHop(hop(i+1), roomy)
	}
	return f
}

func drawCarried(t *rapid.T) *Frame {
	p := write(rapid.SampledFrom([]Opcode{WriteFirst, WriteMiddle, WriteLast, WriteOnly, SendLastImm}).Draw(t, "opcode"))
	if rapid.Bool().Draw(t, "stamped") {
		p = stamped(p)
	}
	f := built(p)
	f.Carry(rapid.SampledFrom([]Carrier{CarrierINT, CarrierIOAM}).Draw(t, "carrier"), rapid.Uint8Range(1, MaxHops).Draw(t, "hops"))
	for i := range rapid.IntRange(0, MaxHops+1).Draw(t, "pushes") {
		f.PushHop(hop(i), unit.Bytes(rapid.IntRange(1000, 1300).Draw(t, "mtu")))
	}
	return f
}

// CETH-50: INT between UDP and BTH, the port kept in the shim, the latest hop
// first, with queue, ports and time.
func TestINTLayout(t *testing.T) {
	f := carried(CarrierINT, 2)
	want := unhex(t, "c001"+"fde9"+"0448"+"0000"+ // UDP, 56 bytes longer
		"14"+"0d"+"12b7"+ // shim: MD and port, 13 words
		"20"+"00"+"05"+"01"+"d800"+"0000"+"0000"+"0000"+ // one hop remains
		"00000002"+"0003"+"0004"+"00010205"+"00000000773f9f0c"+
		"00000001"+"0002"+"0003"+"00010204"+"000000003ba4d50c")
	got := f.Header()[34:]
	if diff := cmp.Diff(want, got[:len(want)]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(built(write(WriteFirst)).Header()[42:], got[len(want):]); diff != "" {
		t.Errorf("BTH and RETH: %s", diff)
	}
}

// CETH-51: the incremental trace of IOAM in the same place.
func TestIOAMLayout(t *testing.T) {
	f := carried(CarrierIOAM, 2)
	want := unhex(t, "c001"+"fdea"+"0444"+"0000"+
		"01"+"0c"+"12b7"+
		"0000"+"2805"+"f20000"+"00"+ // nodes of 5 words, 5 words remain
		"40000002"+"0003"+"0004"+"00000002"+"000a0b0c"+"00010205"+
		"40000001"+"0002"+"0003"+"00000001"+"000a0b0c"+"00010204")
	got := f.Header()[34:]
	if diff := cmp.Diff(want, got[:len(want)]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(built(write(WriteFirst)).Header()[42:], got[len(want):]); diff != "" {
		t.Errorf("BTH and RETH: %s", diff)
	}
}

// Telemetry does not change the other fields that a switch or a receiver reads,
// and keeps the checksum valid. Its removal restores the packet.
func TestTelemetryTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawCarried(t)
		if sum := f.ipSum(); sum>>16+sum&0xffff != 0xffff || f.Class() != ClassRoCE {
			t.Fatalf("%v, checksum %x", f.Class(), sum)
		}
		var again Frame
		again.Payload = f.Payload
		if again.SetHeader(f.Header()); again != *f {
			t.Fatal("the header bytes read back make another frame")
		}
		if err := new(Packet).Parse(f); !errors.Is(err, errTelemetry) {
			t.Fatalf("Parse = %v", err)
		}
		plain := *f
		plain.StripTelemetry()
		var p Packet
		if err := p.Parse(&plain); err != nil {
			t.Fatal(err)
		}
		if plain != *built(p) || plain.Carrier() != CarrierNone || plain.Hops() != 0 {
			t.Fatal("something remains")
		}
		if f.Opcode() != p.BTH.Opcode || f.DestQP() != p.BTH.DestQP || f.PSN() != p.BTH.PSN || f.AckReq() != p.BTH.AckReq ||
			f.Timestamped() != p.Timestamped || p.BTH.Opcode.HasRETH() && f.DMALength() != p.RETH.Length ||
			p.Timestamped && f.Timestamps() != p.Timestamps {
			t.Fatalf("%v reads otherwise than %+v", f.Opcode(), p)
		}
	})
}

// Each hop that was written can be read back; a flag reports a hop that was
// not.
func TestPushHop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom([]Carrier{CarrierINT, CarrierIOAM}).Draw(t, "carrier")
		allowed := rapid.Uint8Range(0, MaxHops+2).Draw(t, "allowed")
		f := built(write(WriteOnly))
		f.Carry(c, allowed)
		budget := int(min(allowed, MaxHops))
		var want []Hop
		exceeded, long := false, false
		for i := range 7 {
			mtu := unit.Bytes(rapid.IntRange(1070, 1200).Draw(t, "mtu"))
			outcome := Pushed
			switch {
			case len(want) == budget:
				outcome, exceeded = PushExceeded, true
			case f.Len()+hopLen > mtu:
				outcome, long = PushTooLong, true
			default:
				want = append([]Hop{*hop(i)}, want...)
			}
			if got := f.PushHop(hop(i), mtu); got != outcome {
				t.Fatalf("hop %d: %v, want %v", i, got, outcome)
			}
		}
		if f.Hops() != len(want) {
			t.Fatalf("%d hops, want %d", f.Hops(), len(want))
		}
		for i := range want {
			if got := f.Hop(i); got != want[i] {
				t.Fatalf("hop %d: %+v, want %+v", i, got, want[i])
			}
		}
		flags := f.Header()[46] & 0x07 // INT: E and M
		wanted := bit(exceeded, 4) | bit(long, 2)
		if c == CarrierIOAM {
			flags, wanted = f.Header()[48]&0x07, bit(exceeded || long, 4)
		}
		if flags != wanted {
			t.Fatalf("flags %03b, want %03b", flags, wanted)
		}
	})
}

// A queue depth above 24 bits is reported as the maximum of 24 bits.
func TestINTDepthSaturates(t *testing.T) {
	f := built(write(WriteOnly))
	f.Carry(CarrierINT, 1)
	f.PushHop(&Hop{Depth: 1 << 30}, roomy)
	if got := f.Hop(0).Depth; got != 1<<24-1 {
		t.Errorf("depth %#x", got)
	}
}

// The ICRC is that of the packet as its sender built it.
func TestICRCExcludesTelemetry(t *testing.T) {
	for _, c := range []Carrier{CarrierINT, CarrierIOAM} {
		plain := built(write(WriteFirst)).Materialise(nil)
		wire := carried(c, 3).Materialise(nil)
		if !bytes.Equal(plain[len(plain)-4:], wire[len(wire)-4:]) {
			t.Errorf("carrier %d: ICRC % x, want % x", c, wire[len(wire)-4:], plain[len(plain)-4:])
		}
		if len(wire)+FCSLen != int(carried(c, 3).Len()) {
			t.Errorf("carrier %d: %d bytes", c, len(wire))
		}
	}
}

func TestPushHopOnAPacketWithoutTelemetry(t *testing.T) {
	f, want := built(write(WriteOnly)), built(write(WriteOnly))
	if f.PushHop(hop(1), roomy) != PushNone || *f != *want {
		t.Error("a packet without telemetry was changed")
	}
	f.Carry(CarrierNone, 5)
	f.StripTelemetry()
	if *f != *want {
		t.Error("a packet without telemetry was changed")
	}
}

// A CNM for a packet with telemetry contains the packet without it.
func TestCNMExcludesTelemetry(t *testing.T) {
	var with, without CNM
	with.Take(carried(CarrierINT, 2))
	plain := carried(CarrierINT, 2)
	plain.StripTelemetry()
	without.Take(plain)
	if with != without {
		t.Errorf("% x", with.Sample[:with.SampleLen])
	}
	var f Frame
	with.Build(&f)
	if qp, ok := f.SampledQP(); !ok || qp != ReceiverQP(7) {
		t.Errorf("the CNM names queue pair %#x", qp)
	}
}

func TestTelemetryDoesNotAllocate(t *testing.T) {
	p, f, h := write(WriteFirst), new(Frame), hop(1)
	if n := testing.AllocsPerRun(100, func() {
		for _, c := range []Carrier{CarrierINT, CarrierIOAM} {
			p.Build(f)
			f.Carry(c, 5)
			f.PushHop(h, roomy)
			f.PushHop(h, roomy)
			got := f.Hop(1)
			sink += int(got.Depth)
			f.StripTelemetry()
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkPushHop(b *testing.B) {
	f, h := carried(CarrierINT, 1), hop(1)
	for b.Loop() {
		g := *f
		g.PushHop(h, roomy)
	}
}
