package frame

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// An ACK or NAK without a CETH has the SACK right after the AETH; a data packet has none.
func TestSACKFollowsAETH(t *testing.T) {
	for _, stamps := range []bool{false, true} {
		p := selective(write(Acknowledge))
		p.Timestamped = stamps
		f := built(p)
		if diff := cmp.Diff(unhex(t, "40"+"123457"+"8000000000000001"), f.Header()[58:70]); diff != "" {
			t.Error(diff)
		}
		if f.SACK() != p.SACK || f.BECN() {
			t.Errorf("SACK %+v, BECN %v", f.SACK(), f.BECN())
		}
		if _, ok := f.CETH(); ok {
			t.Error("the SACK is read as a CETH")
		}
	}
	if f := built(selective(write(WriteOnly))); int(f.n) != f.extensionsEnd() || f.SACK() != (SACK{}) {
		t.Error("a data packet was given a SACK")
	}
}

// Whatever CETH precedes it, the SACK that is read is the one written; a packet without one has
// none.
func TestSACKIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := write(Acknowledge)
		drawCETH(t, &p)
		drawSACK(t, &p)
		p.Timestamped = rapid.Bool().Draw(t, "timestamps")
		f := built(p)
		var got Packet
		if err := got.Parse(f); err != nil || got.SACK != p.SACK || got.CETH != p.CETH || f.SACK() != p.SACK {
			t.Fatalf("%+v and %+v, want %+v (%v)", got.SACK, f.SACK(), p.SACK, err)
		}
	})
}

// A SACK with another code, reserved bits, without packets, or cut short is rejected and reports nothing.
func TestInvalidSACK(t *testing.T) {
	for name, edit := range map[string]func(*Frame){
		"code":          func(f *Frame) { f.head[58] = 0x60 },
		"reserved bits": func(f *Frame) { f.head[58] |= 1 << 4 },
		"no packets":    func(f *Frame) { clear(f.head[62:70]) },
		"cut short":     func(f *Frame) { f.n -= 4 },
	} {
		f := built(selective(write(Acknowledge)))
		edit(f)
		if err := new(Packet).Parse(f); !errors.Is(err, ErrMalformed) || f.SACK().Bitmap != 0 {
			t.Errorf("%s: %v, %+v", name, err, f.SACK())
		}
	}
}
