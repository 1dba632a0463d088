package torture

import (
	"testing"

	"github.com/rackfab/rackfab/fabric/lab"
)

// The checks notice a byte that a switch or a link has lost, and a frame that a lossless rack has
// dropped.
func TestChecksNoticeEveryLoss(t *testing.T) {
	s := Scenario()
	want, err := measured(s)
	if err != nil {
		t.Fatal(err)
	}
	if !want.lossless {
		t.Fatal("the default scenario has losses, want none")
	}
	at := stepEnd(s.Duration, 0)
	l, err := lab.New(s)
	if err != nil {
		t.Fatal(err)
	}
	l.Run(at)
	now := func() []figures { return counted(l, s) }
	if err := want.check(at, now()); err != nil {
		t.Errorf("nothing is wrong: %v", err)
	}
	s0 := 3 // after three hosts
	for name, alter := range map[string]func(f []figures){
		"the switch":         func(f []figures) { f[s0].gone++ },
		"a queue":            func(f []figures) { f[s0].ports[0].queued++ },
		"a link":             func(f []figures) { f[0].ports[0].sent += mostFlying(&s.Links[0]) + 1 },
		"a byte from nought": func(f []figures) { f[s0].ports[0].received = f[0].ports[0].sent + 1 },
		"a drop":             func(f []figures) { f[s0].ports[0].lost++ },
		"a delivery":         func(f []figures) { f[2].delivered-- },
	} {
		f := now()
		if alter(f); want.check(at, f) == nil {
			t.Errorf("%s: not noticed", name)
		}
		// Between the ends of two steps, there are no figures of the lab.
		if name != "a queue" && name != "a delivery" && want.check(at+1, f) == nil {
			t.Errorf("%s: not noticed within a step", name)
		}
	}
}
