package switching

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
)

// A change that does not fit a switch is noted and changes nothing.
func TestUnfitChanges(t *testing.T) {
	for _, c := range []fabric.Change{
		{Verb: fabric.Freeze},
		{Verb: fabric.Thaw},
		{Verb: fabric.StopFlow},
		{Verb: fabric.LinkDown, Port: 99},
		{Verb: fabric.Tune, Key: fabric.KeyTimeout, Value: 1},
	} {
		s, err := New(rackConfig(2))
		if err != nil {
			t.Fatal(err)
		}
		var out fabric.Out
		s.Control(5, &c, &out)
		if len(out.Notes) != 1 || out.Notes[0].Kind != fabric.Unfit {
			t.Errorf("%+v: notes %+v", c, out.Notes)
		}
	}
}

// Thresholds hold from their instant on.
func TestTunedThresholds(t *testing.T) {
	s, err := New(rackConfig(2))
	if err != nil {
		t.Fatal(err)
	}
	var out fabric.Out
	for key, value := range map[fabric.Key]int64{
		fabric.KeyXOFF: 7000, fabric.KeyXON: 500, fabric.KeyAlphaShift: 2, fabric.KeyQuanta: 9, fabric.KeyKmin: 11, fabric.KeyKmax: 12,
	} {
		s.Control(5, &fabric.Change{Verb: fabric.Tune, Key: key, Value: value}, &out)
	}
	k := s.cfg.Classes[3]
	if k.XOFF != 7000 || k.XON != 500 || k.AlphaShift != 2 || k.Quanta != 9 || s.cfg.Classes[3].RED.Kmin != 11 || s.cfg.Classes[0].RED.Kmax != 12 {
		t.Errorf("class 3 has %+v", k)
	}
	if s.buffer.threshold(3) != 7000 || s.cfg.Classes[0].XOFF != 0 {
		t.Errorf("threshold %d; a lossy class has XOFF %d", s.buffer.threshold(3), s.cfg.Classes[0].XOFF)
	}
}
