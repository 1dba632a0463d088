package bus

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// build returns an envelope with frames, as a link encodes it.
func build(e Envelope, frames []frame.Frame) []byte {
	b := make([]byte, envelopeHead)
	last := unit.Time(0)
	for i := range frames {
		b = appendFrame(b, last, &frames[i])
		last = frames[i].Arrival
	}
	e.Count = uint32(len(frames))
	e.putHead(b)
	return b
}

func genFrames(t *rapid.T) []frame.Frame {
	at := unit.Time(0)
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) (f frame.Frame) {
		at += unit.Time(rapid.Int64Range(0, 1<<40).Draw(t, "delta"))
		f.Arrival, f.Payload = at, rapid.Uint32().Draw(t, "payload")
		f.Trace = rapid.Uint64().Draw(t, "trace")
		f.SetHeader(rapid.SliceOfN(rapid.Byte(), 0, frame.HeaderRoom).Draw(t, "header"))
		return f
	}), 0, 20).Draw(t, "frames")
}

func TestEnvelopeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := Envelope{
			Flags: rapid.SampledFrom([]uint8{0, flagReport, flagGap, flagReport | flagGap}).Draw(t, "flags"),
			Epoch: rapid.Uint32().Draw(t, "epoch"), Seq: rapid.Uint64Min(1).Draw(t, "seq"),
			Ack: rapid.Uint64().Draw(t, "ack"), Taken: rapid.Uint64().Draw(t, "taken"),
			Promise: unit.Time(rapid.Int64Min(0).Draw(t, "promise")), Want: unit.Time(rapid.Int64Min(-1).Draw(t, "want")),
		}
		frames := genFrames(t)
		out, err := ParseEnvelope(build(in, frames))
		if err != nil {
			t.Fatal(err)
		}
		var f frame.Frame
		for i := range frames {
			if !out.Next(&f) {
				t.Fatalf("%d frames, want %d", i, len(frames))
			}
			if f.Arrival != frames[i].Arrival || f.Payload != frames[i].Payload || f.Trace != frames[i].Trace ||
				!bytes.Equal(f.Header(), frames[i].Header()) {
				t.Fatalf("frame %d: %+v, want %+v", i, f, frames[i])
			}
		}
		if out.Next(&f) {
			t.Fatal("more frames than encoded")
		}
		in.Count = uint32(len(frames))
		out.frames, out.last = nil, 0
		if out.Flags != in.Flags || out.Epoch != in.Epoch || out.Seq != in.Seq || out.Ack != in.Ack ||
			out.Taken != in.Taken || out.Promise != in.Promise || out.Want != in.Want || out.Count != in.Count {
			t.Fatalf("%+v, want %+v", out, in)
		}
	})
}

func TestParseEnvelopeRejectsInvalidInput(t *testing.T) {
	good := func() []byte {
		var f frame.Frame
		f.SetHeader(make([]byte, 62))
		return build(Envelope{Seq: 1, Want: noWant}, []frame.Frame{f})
	}
	set := func(at int, v ...byte) func([]byte) []byte {
		return func(b []byte) []byte { copy(b[at:], v); return b }
	}
	tests := []struct {
		name   string
		change func([]byte) []byte
		want   error
	}{
		{"good", func(b []byte) []byte { return b }, nil},
		{"empty", func([]byte) []byte { return nil }, ErrMalformed},
		{"other magic", set(0, 0), ErrMalformed},
		{"other version", set(1, Version+1), ErrVersion},
		{"other version, short", func(b []byte) []byte { b[1] = 9; return b[:2] }, ErrVersion},
		{"unknown flag", set(2, 0x80), ErrMalformed},
		{"reserved byte", set(3, 1), ErrMalformed},
		{"sequence number 0", set(15, 0), ErrMalformed},
		{"negative promise", set(32, 0x80), ErrMalformed},
		{"want below none", set(40, 0x80), ErrMalformed},
		{"a frame more than there is", set(51, 2), ErrMalformed},
		{"a frame less than there is", set(51, 0), ErrMalformed},
		{"frames in a bare envelope", set(2, flagBare), ErrMalformed},
		{"cut head", func(b []byte) []byte { return b[:envelopeHead-1] }, ErrMalformed},
		{"cut frame", func(b []byte) []byte { return b[:len(b)-1] }, ErrMalformed},
		{"header longer than a frame's", set(envelopeHead+2, frame.HeaderRoom+1), ErrMalformed},
		{"oversized", func(b []byte) []byte { return append(b, make([]byte, MaxEnvelope)...) }, ErrOversized},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := ParseEnvelope(tt.change(good())); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

func TestParseEnvelopeRejectsArrivalOverflow(t *testing.T) {
	frames := []frame.Frame{{Arrival: math.MaxInt64 - 1}, {Arrival: math.MaxInt64}}
	if _, err := ParseEnvelope(build(Envelope{Seq: 1}, frames)); !errors.Is(err, ErrMalformed) {
		t.Errorf("got %v", err)
	}
}

func FuzzParseEnvelope(f *testing.F) {
	var full frame.Frame
	full.SetHeader(make([]byte, frame.HeaderRoom))
	full.Arrival, full.Payload, full.Trace = 5*unit.Microsecond, 1000, 7
	f.Add(build(Envelope{Seq: 1, Want: noWant}, nil))
	f.Add(build(Envelope{Seq: 9, Epoch: 1, Ack: 3, Promise: unit.Never}, []frame.Frame{full, full}))
	f.Add([]byte{envelopeMagic, Version + 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := ParseEnvelope(data)
		if err != nil {
			return
		}
		head, frames := e, []frame.Frame(nil)
		for i := uint32(0); i < head.Count; i++ {
			frames = append(frames, frame.Frame{})
			if !e.Next(&frames[i]) {
				t.Fatalf("frame %d of %d is missing", i, head.Count)
			}
		}
		again, err := ParseEnvelope(build(head, frames))
		if err != nil || again.Count != head.Count || again.Seq != head.Seq || again.Promise != head.Promise {
			t.Fatalf("written again: %+v, %v; want %+v", again, err, head)
		}
	})
}

func BenchmarkEnvelope(b *testing.B) {
	var f frame.Frame
	f.SetHeader(make([]byte, 58))
	f.Payload = 1000
	const count = 100
	buffer := make([]byte, envelopeHead, MaxEnvelope)
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			out := buffer
			for i := range count {
				f.Arrival = unit.Time(i+1) * 200 * unit.Nanosecond
				out = appendFrame(out, f.Arrival-200*unit.Nanosecond, &f)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/count, "ns/frame")
	})
	frames := make([]frame.Frame, count)
	for i := range frames {
		frames[i] = f
		frames[i].Arrival = unit.Time(i+1) * 200 * unit.Nanosecond
	}
	data := build(Envelope{Seq: 1}, frames)
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			e, err := ParseEnvelope(data)
			if err != nil {
				b.Fatal(err)
			}
			for e.Next(&f) {
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/count, "ns/frame")
	})
}
