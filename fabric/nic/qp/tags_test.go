package qp

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The backlog of a flow whose messages a program posts is that of all messages posted so far. The
// messages lie one after another in the peer's memory, and the last packet of each carries its tag.
func TestPostedMessages(t *testing.T) {
	r := sprayer(t, work.Posted)
	if left := r.left(); left != 0 || r.done {
		t.Errorf("%v to send, done %v, before a message is posted", left, r.done)
	}
	var out fabric.Out
	r.Post(0, 7, 2500, 9, &out)
	r.Post(0, 8, 1000, 0, &out)
	if want := 3500 + 4*(uetHeaders+r.Overhead); r.left() != want {
		t.Errorf("%v to send, want %v", r.left(), want)
	}
	type packet struct {
		address, length, tag uint32
		tagged               bool
	}
	var got []packet
	for range 4 {
		var f frame.Frame
		r.Send(0, &f, &out)
		var p frame.Packet
		if err := p.Parse(&f); err != nil {
			t.Fatal(err)
		}
		tag, tagged := f.Immediate()
		got = append(got, packet{uint32(p.RETH.VA), p.RETH.Length, tag, tagged})
	}
	want := []packet{{0, 1000, 0, false}, {1000, 1000, 0, false}, {2000, 500, 9, true}, {2500, 1000, 0, true}}
	for i, w := range want {
		if got[i] != w {
			t.Errorf("packet %d: %+v, want %+v", i, got[i], w)
		}
	}
	if left := r.left(); left != 0 {
		t.Errorf("%v to send after the last packet", left)
	}
	r.Stop(unit.Microsecond, &out)
	r.Post(unit.Microsecond, 9, 1000, 0, &out) // ignored
}
