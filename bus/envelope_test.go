package bus

import (
	"bytes"
	"errors"
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// build returns an envelope with frames on link 0, as a peer encodes it.
func build(e Envelope, frames []frame.Frame) []byte { return buildLinks(e, frames) }

// buildLinks returns an envelope with the frames of each link.
func buildLinks(e Envelope, links ...[]frame.Frame) []byte {
	p := newPeer(PeerConfig{Links: len(links)})
	for link, frames := range links {
		for i := range frames {
			p.put(link, &frames[i])
		}
	}
	e.Count = p.open.count
	b := p.open.flush(make([]byte, envelopeHead))
	e.putHead(b)
	return b
}

func genFrames(t *rapid.T) []frame.Frame {
	at := unit.Time(0)
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) (f frame.Frame) {
		at += unit.Time(rapid.Int64Range(0, 1<<40).Draw(t, "delta"))
		f.Arrival, f.Payload = at, rapid.Uint32().Draw(t, "payload")
		f.Trace = rapid.Uint64().Draw(t, "trace")
		if rapid.Bool().Draw(t, "numbered") {
			f.Sequence = frame.Numbered | rapid.Uint32Range(0, frame.SequenceMask).Draw(t, "sequence")
		}
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
		links := make([][]frame.Frame, rapid.IntRange(1, 4).Draw(t, "links"))
		for i := range links {
			links[i] = genFrames(t)
		}
		frames := slices.Concat(links...)
		out, err := ParseEnvelope(buildLinks(in, links...))
		if err != nil {
			t.Fatal(err)
		}
		var f frame.Frame
		link, left := 0, links[0]
		for i := range frames {
			for len(left) == 0 {
				link++
				left = links[link]
			}
			left = left[1:]
			if on, ok := out.Next(&f); !ok || on != link {
				t.Fatalf("frame %d of %d on link %d: %t, %d", i, len(frames), link, ok, on)
			}
			if f.Arrival != frames[i].Arrival || f.Payload != frames[i].Payload || f.Trace != frames[i].Trace ||
				f.Sequence != frames[i].Sequence || !bytes.Equal(f.Header(), frames[i].Header()) {
				t.Fatalf("frame %d: %+v, want %+v", i, f, frames[i])
			}
		}
		if _, ok := out.Next(&f); ok {
			t.Fatal("more frames than encoded")
		}
		in.Count = uint32(len(frames))
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
		return buildLinks(Envelope{Seq: 1, Want: noWant}, []frame.Frame{f}, []frame.Frame{f})
	}
	const second = envelopeHead + 67 // where the section of link 1 begins
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
		{"a frame more than there is", set(51, 3), ErrMalformed},
		{"a frame less than there is", set(51, 1), ErrMalformed},
		{"frames in a bare envelope", set(2, flagBare), ErrMalformed},
		{"cut head", func(b []byte) []byte { return b[:envelopeHead-1] }, ErrMalformed},
		{"cut frame", func(b []byte) []byte { return b[:len(b)-1] }, ErrMalformed},
		{"header longer than a frame's", set(envelopeHead+4, frame.HeaderRoom+1), ErrMalformed},
		{"number without bit 31", set(envelopeHead+4, sequenceMark, 0, 0, 0, 7, 0), ErrMalformed},
		{"number above 20 bits", set(envelopeHead+4, sequenceMark, 0x80, 0x10, 0, 0, 0), ErrMalformed},
		{"cut number", func(b []byte) []byte { return append(b, 2, 4, 0, 0, sequenceMark, 0x80) }, ErrMalformed},
		{"section longer than the rest", set(second+1, 66), ErrMalformed},
		{"two sections of a link", set(second, 0), ErrMalformed},
		{"section without frames", func(b []byte) []byte { return append(b, 2, 0) }, ErrMalformed},
		{"cut head of a section", func(b []byte) []byte { return append(b, 2) }, ErrMalformed},
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
	f.Add(buildLinks(Envelope{Seq: 2}, []frame.Frame{full}, nil, []frame.Frame{full, full}))
	full.Sequence = frame.Numbered | 7
	f.Add(build(Envelope{Seq: 3}, []frame.Frame{full}))
	f.Add([]byte{envelopeMagic, Version + 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := ParseEnvelope(data)
		if err != nil {
			return
		}
		head, links := e, map[int][]frame.Frame{}
		for i := uint32(0); i < head.Count; i++ {
			var one frame.Frame
			link, ok := e.Next(&one)
			if !ok {
				t.Fatalf("frame %d of %d is missing", i, head.Count)
			}
			links[link] = append(links[link], one)
		}
		var dense [][]frame.Frame // links are numbered again, without gaps
		for _, link := range slices.Sorted(maps.Keys(links)) {
			dense = append(dense, links[link])
		}
		again, err := ParseEnvelope(buildLinks(head, dense...))
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
			for _, ok := e.Next(&f); ok; _, ok = e.Next(&f) {
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/count, "ns/frame")
	})
}
