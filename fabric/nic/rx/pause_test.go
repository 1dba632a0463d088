package rx

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// pfc returns a PFC frame with the quanta for two classes.
func pfc(low, high uint16) *frame.PFC {
	f := &frame.PFC{Enable: 1<<1 | 1<<class}
	f.Quanta[1], f.Quanta[class] = low, high
	return f
}

func TestPausesExpireOneByOne(t *testing.T) {
	p := NewPauses(40 * gbps)
	var out fabric.Out
	p.Receive(0, pfc(100, 300), &out)
	first, second := (40 * gbps).Serialise(100*64), (40 * gbps).Serialise(300*64)
	if p.Set() != 1<<1|1<<class || p.Next() != first {
		t.Errorf("paused %b until %v, want classes 1 and %d until %v", p.Set(), p.Next(), class, first)
	}
	p.Expire(first, &out)
	if p.Has(1) || !p.Has(class) || p.Next() != second {
		t.Errorf("paused %b until %v, want class %d until %v", p.Set(), p.Next(), class, second)
	}
	p.Clear(first+1, &out)
	if p.Set() != 0 || p.Next() != unit.Never {
		t.Errorf("paused %b until %v after all pauses ended", p.Set(), p.Next())
	}
	if s := p.Stats(class); s.RxPause != 1 || s.RxPauseTransition != 1 || s.RxPauseDuration != first+1 {
		t.Errorf("%+v", s)
	}
}

func TestXONEndsOnePauseAndARefreshMovesTheOther(t *testing.T) {
	p := NewPauses(40 * gbps)
	var out fabric.Out
	p.Receive(0, pfc(100, 100), &out)
	p.Receive(5, pfc(0, 200), &out)
	if want := 5 + (40 * gbps).Serialise(200*64); p.Set() != 1<<class || p.Next() != want {
		t.Errorf("paused %b until %v, want class %d until %v", p.Set(), p.Next(), class, want)
	}
	if s := p.Stats(1); s.RxPause != 1 || s.RxResume != 1 || s.RxPauseDuration != 5 {
		t.Errorf("class 1: %+v", s)
	}
	if s := p.Stats(class); s.RxPause != 2 || s.RxResume != 0 || s.RxPauseTransition != 1 {
		t.Errorf("class %d: %+v", class, s)
	}
	if len(out.Notes) != 3 { // two Paused, one Resumed
		t.Errorf("notes %+v", out.Notes)
	}
}
