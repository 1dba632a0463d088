package frame

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The bytes of a PAUSE of priority 3, written by hand from the layout.
func TestBuildPause(t *testing.T) {
	p := PFC{Source: SwitchMAC(1), Enable: 1 << 3, Quanta: [8]uint16{3: 0xffff}}
	want := unhex(t, "0180c2000001"+"020100000001"+"8808"+"0101"+"0008"+
		"0000"+"0000"+"0000"+"ffff"+"0000"+"0000"+"0000"+"0000"+
		"0000000000000000000000000000000000000000000000000000")
	f := built(write(WriteOnly))
	p.Build(f)
	if diff := cmp.Diff(want, f.Header()); diff != "" {
		t.Error(diff)
	}
	if f.Payload != 0 || f.Len() != 64 || f.Class() != ClassPFC {
		t.Errorf("Payload %d, Len %d, Class %v", f.Payload, f.Len(), f.Class())
	}
}

func TestPFCBuildParse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := PFC{Source: drawAddr(t, "source"), Enable: rapid.Uint8().Draw(t, "enable")}
		for i := range p.Quanta {
			p.Quanta[i] = rapid.Uint16().Draw(t, "quanta")
		}
		var f Frame
		p.Build(&f)
		var q PFC
		if err := q.Parse(&f); err != nil || p != q {
			t.Fatalf("%+v, %v", q, err)
		}
	})
}

func TestPFCParseRejectsInvalidFrames(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(f *Frame)
		want  error
	}{
		"802.3x PAUSE": {func(f *Frame) { f.head[pfcOp] = 0 }, errNotPFC},
		"EtherType":    {func(f *Frame) { f.head[ethType] = 0x08; f.head[ethType+1] = 0 }, errNotPFC},
		"destination":  {func(f *Frame) { f.head[5] = 2 }, errNotPFC},
		"cut":          {func(f *Frame) { f.SetHeader(f.Header()[:33]) }, errNotPFC},
		"short":        {func(f *Frame) { f.SetHeader(f.Header()[:34]) }, errPFCLength},
		"payload":      {func(f *Frame) { f.Payload = 1 }, errPFCLength},
		"vector":       {func(f *Frame) { f.head[pfcEnable] = 1 }, errPFCPadding},
		"padding":      {func(f *Frame) { f.head[59] = 1 }, errPFCPadding},
	} {
		t.Run(name, func(t *testing.T) {
			var f Frame
			(&PFC{Enable: 1}).Build(&f)
			c.spoil(&f)
			var p PFC
			if err := p.Parse(&f); !errors.Is(err, c.want) || p != (PFC{}) {
				t.Errorf("Parse = %v, want %v; %+v", err, c.want, p)
			}
		})
	}
}
