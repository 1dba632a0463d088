package switching

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric"
)

// A change that does not apply to a switch is noted and has no effect.
func TestInvalidChanges(t *testing.T) {
	for _, c := range []fabric.Change{
		{Verb: fabric.Freeze},
		{Verb: fabric.Thaw},
		{Verb: fabric.StopFlow},
		{Verb: fabric.Post, Works: []fabric.Work{{Count: 1}}},
		{Verb: fabric.LinkDown, Port: 99},
		{Verb: fabric.Tune, Key: fabric.KeyTimeout, Value: 1},
	} {
		s, err := New(rackConfig(2))
		if err != nil {
			t.Fatal(err)
		}
		var out fabric.Out
		s.Control(5, &c, &out)
		if len(out.Notes) != 1 || out.Notes[0].Kind != fabric.Inapplicable {
			t.Errorf("%+v: notes %+v", c, out.Notes)
		}
	}
}

// Changed thresholds apply from their instant on.
func TestTunedThresholds(t *testing.T) {
	s, err := New(rackConfig(2))
	if err != nil {
		t.Fatal(err)
	}
	var out fabric.Out
	for key, value := range map[fabric.Key]int64{
		fabric.KeyXOFF: 7000, fabric.KeyXON: 500, fabric.KeyAlphaShift: 2, fabric.KeyQuanta: 9, fabric.KeyKmin: 11, fabric.KeyKmax: 12,
	} {
		s.Control(5, &fabric.Change{Verb: fabric.Tune, Key: key, Value: value, Classes: 1<<0 | 1<<3}, &out)
	}
	k := s.cfg.Classes[3]
	if k.XOFF != 7000 || k.XON != 500 || k.AlphaShift != 2 || k.Quanta != 9 || s.cfg.Classes[3].RED.Kmin != 11 || s.cfg.Classes[0].RED.Kmax != 12 {
		t.Errorf("class 3 has %+v", k)
	}
	// A change applies to its classes. An alpha of their own replaces a static threshold.
	tune := func(key fabric.Key, value int64, classes uint8, named bool) {
		s.Control(6, &fabric.Change{Verb: fabric.Tune, Key: key, Value: value, Classes: classes, Named: named}, &out)
	}
	for _, c := range []struct {
		key     fabric.Key
		value   int64
		classes uint8
		named   bool
		want    func(*[fabric.Priorities]ClassConfig)
	}{
		{fabric.KeyXOFF, 5000, 1 << 1, true, func(k *[8]ClassConfig) { k[1].XOFF = 5000 }},
		{fabric.KeyXOFF, 8000, 1 << 3, false, func(k *[8]ClassConfig) { k[3].XOFF = 8000 }},
		{fabric.KeyAlphaShift, 3, 1 << 3, false, func(k *[8]ClassConfig) { k[3].AlphaShift = 3 }},
		{fabric.KeyAlphaShift, -2, 1 << 3, true, func(k *[8]ClassConfig) { k[3].XOFF, k[3].AlphaShift = 0, -2 }},
		{fabric.KeyXOFF, 9000, 0, false, func(*[8]ClassConfig) {}},
		{fabric.KeyKmin, 21, 1<<2 | 1<<7, true, func(k *[8]ClassConfig) { k[2].RED.Kmin, k[7].RED.Kmin = 21, 21 }},
	} {
		want := s.cfg.Classes
		c.want(&want)
		tune(c.key, c.value, c.classes, c.named)
		if diff := cmp.Diff(want, s.cfg.Classes); diff != "" {
			t.Errorf("%d to %d, classes %b:\n%s", c.key, c.value, c.classes, diff)
		}
	}
	tune(fabric.KeyXOFF, 7000, 1<<3, true)
	s.cfg.Classes[0].XOFF = 0
	if s.buffer.threshold(3) != 7000 || s.cfg.Classes[0].XOFF != 0 {
		t.Errorf("threshold %d; a lossy class has XOFF %d", s.buffer.threshold(3), s.cfg.Classes[0].XOFF)
	}
}
