package frame

import (
	"errors"
	"testing"
)

func seedFrames() []*Frame {
	var frames []*Frame
	for _, op := range knownOpcodes() {
		frames = append(frames, built(write(op)), built(stamped(write(op))))
	}
	for words := range uint8(cethMaxWords) {
		p := aggregated(words + 1)
		frames = append(frames, built(p))
		p.SACK = SACK{1, 1 << 63}
		frames = append(frames, built(p), built(stamped(p)))
	}
	sack := selective(write(Acknowledge))
	frames = append(frames, built(sack), built(stamped(sack)))
	receipt := receipted(write(Acknowledge))
	frames = append(frames, built(receipt), built(stamped(receipt)), built(receipted(sack)))
	frames = append(frames, carried(CarrierINT, 2), carried(CarrierIOAM, 2), trimmedTo(built(trimmable()), 128))
	pause, resume := new(Frame), new(Frame)
	(&PFC{Source: SwitchMAC(0), Enable: 8, Quanta: [8]uint16{3: 0xffff}}).Build(pause)
	(&PFC{Source: SwitchMAC(0), Enable: 8}).Build(resume)
	for _, u := range uetSamples() {
		f := new(Frame)
		u.Build(f)
		frames = append(frames, f)
	}
	cnm := new(Frame)
	m := sampledCNM(built(write(WriteFirst)))
	m.Build(cnm)
	retry := new(Frame)
	(&Retry{SwitchMAC(1), RetryInitEcho, 7, 5}).Build(retry)
	return append(frames, pause, resume, cnm, retry, new(Frame))
}

func seed(f *testing.F) {
	for _, s := range seedFrames() {
		f.Add(s.Header(), s.Payload)
	}
}

// Build reproduces byte for byte every frame that Parse accepts.
func FuzzParse(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, header []byte, payload uint32) {
		fr, ok := frameOf(header, payload)
		if !ok {
			return
		}
		var p Packet
		if err := p.Parse(fr); err != nil {
			if !errors.Is(err, ErrMalformed) || p != (Packet{}) {
				t.Fatalf("%v, %+v", err, p)
			}
			return
		}
		if *built(p) != *fr {
			t.Fatalf("% x came back as % x", header, built(p).Header())
		}
	})
}

// Build reproduces byte for byte every frame that PFC.Parse accepts.
func FuzzPFC(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, header []byte, payload uint32) {
		fr, ok := frameOf(header, payload)
		if !ok {
			return
		}
		var p PFC
		if err := p.Parse(fr); err != nil {
			if !errors.Is(err, ErrMalformed) || p != (PFC{}) {
				t.Fatalf("%v, %+v", err, p)
			}
			return
		}
		var again Frame
		if p.Build(&again); again != *fr {
			t.Fatalf("% x came back as % x", header, again.Header())
		}
	})
}

// Build reproduces byte for byte every frame that UET.Parse accepts.
func FuzzUET(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, header []byte, payload uint32) {
		fr, ok := frameOf(header, payload)
		if !ok {
			return
		}
		var u UET
		if err := u.Parse(fr); err != nil {
			if !errors.Is(err, ErrMalformed) || u != (UET{}) {
				t.Fatalf("%v, %+v", err, u)
			}
			return
		}
		var again Frame
		if u.Build(&again); again != *fr {
			t.Fatalf("% x came back as % x", header, again.Header())
		}
	})
}

// Build reproduces byte for byte every frame that CNM.Parse accepts, and its
// accessors are safe on any CNM.
func FuzzCNM(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, header []byte, payload uint32) {
		fr, ok := frameOf(header, payload)
		if !ok {
			return
		}
		var c CNM
		if err := c.Parse(fr); err != nil {
			if !errors.Is(err, ErrMalformed) || c != (CNM{}) {
				t.Fatalf("%v, %+v", err, c)
			}
			return
		}
		var again Frame
		if c.Build(&again); again != *fr {
			t.Fatalf("% x came back as % x", header, again.Header())
		}
		if qp, ok := fr.SampledQP(); !ok && (qp != 0 || fr.SampledSrcPort() != 0) {
			t.Fatalf("queue pair %x of no packet", qp)
		}
	})
}

// Class agrees with its twin on any bytes, and Len is never below the minimum.
func FuzzClass(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, header []byte, payload uint32) {
		fr, ok := frameOf(header, payload)
		if !ok {
			return
		}
		if got, want := fr.Class(), slowClass(header, payload); got != want {
			t.Fatalf("%v, want %v: % x", got, want, header)
		}
		if fr.Len() < MinLen {
			t.Fatalf("Len %d", fr.Len())
		}
	})
}

// Telemetry in arbitrary bytes is read, extended and removed safely, and a
// RoCEv2 packet remains one.
func FuzzTelemetry(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, header []byte, payload uint32) {
		fr, ok := frameOf(header, payload)
		if !ok {
			return
		}
		class := fr.Class()
		readAll(fr)
		before := fr.Hops()
		for i := range before {
			fr.Hop(i)
		}
		if fr.PushHop(hop(1), roomy) == Pushed && (fr.Hops() != before+1 || fr.Hop(0) != *hop(1)) {
			t.Fatalf("%d hops, the latest %+v", fr.Hops(), fr.Hop(0))
		}
		if fr.StripTelemetry(); fr.Carrier() != CarrierNone || class == ClassRoCE && fr.Class() != ClassRoCE {
			t.Fatalf("%v is left as %v", class, fr.Class())
		}
	})
}

func frameOf(header []byte, payload uint32) (*Frame, bool) {
	f := &Frame{Payload: payload}
	return f, f.SetHeader(header)
}

// Build reproduces byte for byte every frame that Retry.Parse accepts.
func FuzzRetry(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, header []byte, payload uint32) {
		fr, ok := frameOf(header, payload)
		if !ok {
			return
		}
		var r Retry
		if err := r.Parse(fr); err != nil {
			if !errors.Is(err, ErrMalformed) || r != (Retry{}) {
				t.Fatalf("%v, %+v", err, r)
			}
			return
		}
		var again Frame
		if r.Build(&again); again != *fr {
			t.Fatalf("% x came back as % x", header, again.Header())
		}
	})
}
