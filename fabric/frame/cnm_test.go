package frame

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/unit"
)

// sampledCNM returns a CNM for the frame, from a congestion point 320 bytes
// above its set point, whose queue has shrunk by 64.
func sampledCNM(f *Frame) CNM {
	c := CNM{Src: SwitchMAC(1), Feedback: 0x2a, CPID: 0x0201000000010013, QOffset: 5, QDelta: -1, Priority: 3}
	c.Take(f)
	return c
}

// The bytes of a CNM, written by hand from the layout.
func TestBuildCNM(t *testing.T) {
	p := write(WriteMiddle)
	p.BTH.DestQP = 0x800017
	sampled := built(p)
	want := unhex(t, "020000000001"+"020100000001"+"22e7"+
		"002a"+"0201000000010013"+"0005"+"ffff"+"6000"+"020000000002"+"002a"+
		"0800"+"45"+"6a"+"0414"+"000040004011"+"226b"+"0a0000020a000003"+ // MSDU: EtherType, IP
		"c00112b70400"+"0000"+"0700ffff"+"00800017"+"80123456") // UDP, BTH
	var f Frame
	c := sampledCNM(sampled)
	c.Build(&f)
	if diff := cmp.Diff(want, f.Header()); diff != "" {
		t.Error(diff)
	}
	if f.Payload != 0 || f.Len() != 14+24+42+4 || f.Class() != ClassCNM {
		t.Errorf("Payload %d, Len %d, Class %v", f.Payload, f.Len(), f.Class())
	}
}

// A CNM identifies its congestion point, the degree of congestion, and the
// flow.
func TestCNMAccessors(t *testing.T) {
	var f Frame
	c := sampledCNM(built(stamped(write(WriteFirst))))
	c.Build(&f)
	if f.Feedback() != 0x2a || f.QOffset() != 5 || f.QDelta() != -1 {
		t.Errorf("feedback %d, offset %d, delta %d", f.Feedback(), f.QOffset(), f.QDelta())
	}
	if qp, ok := f.SampledQP(); !ok || qp != ReceiverQP(7) || f.SampledSrcPort() != 0xc001 {
		t.Errorf("queue pair %x, %v, source port %x", qp, ok, f.SampledSrcPort())
	}
	if f.DstMAC().Host() != 1 {
		t.Errorf("addressed to %v", f.DstMAC())
	}
}

// A sample that is not a RoCEv2 packet identifies no flow.
func TestCNMOfADifferentFrame(t *testing.T) {
	uet, cut, pause, empty := new(Frame), new(Frame), new(Frame), new(Frame)
	samples := uetSamples()
	samples[0].Build(uet)
	cut.SetHeader(built(write(WriteFirst)).Header()[:bthEnd-1])
	(&PFC{Enable: 1}).Build(pause)
	for name, sampled := range map[string]*Frame{"UET": uet, "cut": cut, "PFC": pause, "empty": empty} {
		var f Frame
		c := sampledCNM(sampled)
		c.Build(&f)
		if qp, ok := f.SampledQP(); ok || f.SampledSrcPort() != 0 || f.Class() != ClassCNM {
			t.Errorf("%s: queue pair %x, source port %x, %v", name, qp, f.SampledSrcPort(), f.Class())
		}
	}
}

func TestCNMBuildParse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := CNM{
			Dst: drawAddr(t, "dst"), Src: drawAddr(t, "src"), SampledDst: drawAddr(t, "sampled"),
			Feedback: uint8(uintBelow(t, MaxFeedback+1, "feedback")), CPID: rapid.Uint64().Draw(t, "cpid"),
			QOffset: rapid.Int16().Draw(t, "offset"), QDelta: rapid.Int16().Draw(t, "delta"),
			Priority: uint8(uintBelow(t, 8, "priority")),
		}
		sample := rapid.SliceOfN(rapid.Byte(), 0, CNMMaxSample).Draw(t, "sample")
		c.SampleLen = uint8(copy(c.Sample[:], sample))
		var f Frame
		c.Build(&f)
		var d CNM
		if err := d.Parse(&f); err != nil || c != d {
			t.Fatalf("%+v decoded as %+v, %v", c, d, err)
		}
	})
}

func TestCNMParseRejectsInvalidFrames(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(f *Frame)
		want  error
	}{
		"EtherType":       {func(f *Frame) { f.head[ethType] = 0x23 }, errNotCNM},
		"cut":             {func(f *Frame) { f.SetHeader(f.Header()[:cnmMSDU-1]) }, errNotCNM},
		"sample cut":      {func(f *Frame) { f.n-- }, errNotCNM},
		"sample too long": {func(f *Frame) { f.n, f.head[cnmLength+1] = cnmMSDU+65, 65 }, errNotCNM},
		"payload":         {func(f *Frame) { f.Payload = 1 }, errNotCNM},
		"version":         {func(f *Frame) { f.head[cnmFeedback] = 0x10 }, errCNMReserved},
		"reserved":        {func(f *Frame) { f.head[cnmFeedback+1] |= 0x40 }, errCNMReserved},
		"priority":        {func(f *Frame) { f.head[cnmPriority] |= 1 }, errCNMReserved},
	} {
		t.Run(name, func(t *testing.T) {
			var f Frame
			m := sampledCNM(built(write(WriteMiddle)))
			m.Build(&f)
			c.spoil(&f)
			var p CNM
			if err := p.Parse(&f); !errors.Is(err, c.want) || p != (CNM{}) {
				t.Errorf("Parse = %v, want %v; %+v", err, c.want, p)
			}
		})
	}
}

func TestCNMQueue(t *testing.T) {
	for _, c := range []struct {
		bytes unit.Bytes
		want  int16
	}{{0, 0}, {63, 0}, {64, 1}, {-63, 0}, {-64, -1}, {26000, 406}, {3 * unit.Megabyte, 32767}, {-3 * unit.Megabyte, -32768}} {
		if got := CNMQueue(c.bytes); got != c.want {
			t.Errorf("%d bytes are %d units, want %d", c.bytes, got, c.want)
		}
	}
}
