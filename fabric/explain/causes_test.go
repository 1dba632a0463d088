package explain

import (
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The text starts with the burst, even for a late range: most PAUSEs occur at a
// fraction of the link's rate because the burst's queue is a standing queue. A headline
// for the PAUSE with most bytes, while the others were resumed at the same time,
// reported an overload of 271 Gbit/s at 705 us that did not exist.
func TestFirstCause(t *testing.T) {
	s := paper(t, "pfc")
	x, y, link, err := Link(s, "s1->s0")
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []unit.Time{300 * unit.Microsecond, 600 * unit.Microsecond} {
		r, err := Ask(s, Question{X: x, Y: y, Link: link, Class: topology.DataClass, From: from, To: 900 * unit.Microsecond}, nil)
		if err != nil {
			t.Fatal(err)
		}
		f := r.First
		if f.From < 300*unit.Microsecond || f.To > 360*unit.Microsecond || len(f.Sources) != 2 {
			t.Fatalf("from %s: %+v", from, f)
		}
		burst, long := f.Sources[0], f.Sources[1]
		if burst.Name != "burst" || burst.Flows != 224 || len(burst.Senders) != 14 || burst.Arrived/unit.GigabitPerSec != 559 && burst.Arrived/unit.GigabitPerSec != 560 ||
			long.Name != "F1" || long.Senders[0] != "h1" || burst.Arrived+long.Arrived-f.Arrived > 10 {
			t.Errorf("from %s: %+v", from, f)
		}
		k := r.Chain[0].Kept
		overload := 1
		if from > 500*unit.Microsecond {
			overload = 0
		}
		if k.Overload != overload || k.Standing != k.Pauses-overload || k.Downstream != 0 || k.Pauses != len(r.Pauses) {
			t.Errorf("from %s: kept %+v", from, k)
		}
		// The port to r1 is shared by 15: F1 leaves at a fifteenth or a little less.
		if k.Arrived < 5*unit.GigabitPerSec || k.Arrived > 52*unit.GigabitPerSec/10 || k.Left < 23*unit.GigabitPerSec/10 || k.Left > 27*unit.GigabitPerSec/10 {
			t.Errorf("from %s: arrived %s, left %s", from, k.Arrived, k.Left)
		}
	}
}

// A queue grows by the bytes that arrive beyond its link's rate. The arrivals are those
// that its sources send.
func TestFirstCauseAddsUp(t *testing.T) {
	for _, scheme := range []string{"pfc", "dcqcn", "timely", "qcn"} {
		s := paper(t, scheme)
		f := ask(t, s, "s1->h2").First
		if f == nil {
			t.Errorf("%s: no first cause", scheme)
			continue
		}
		grown, want := f.Most-f.Before, (f.Arrived - f.Rate).In(f.To-f.From)
		if grown < want*98/100 || grown > want*102/100 || grown == 0 {
			t.Errorf("%s: the queue grew by %s, %s arrived beyond what its link carries", scheme, grown, want)
		}
		sum := unit.Rate(0)
		for _, one := range f.Sources {
			sum += one.Arrived
		}
		if sum > f.Arrived || f.Arrived-sum > unit.Rate(len(f.Sources)) {
			t.Errorf("%s: %s arrived, of the sources %s", scheme, f.Arrived, sum)
		}
	}
}

// A victim's loss matches the run's own series.
func TestVictimGoodput(t *testing.T) {
	s := paper(t, "pfc")
	run, err := lab.Measure(s)
	if err != nil {
		t.Fatal(err)
	}
	delivered := func(from, to unit.Time) (sum unit.Bytes) {
		for i, b := range run.Series.Goodput[0].Bins {
			if at := unit.Time(i) * s.Bin; at >= from && at < to {
				sum += unit.Bytes(b)
			}
		}
		return sum
	}
	if run.Series.Goodput[0].Name != "F0" {
		t.Fatalf("%+v", run.Series.Goodput[0].Name)
	}
	x, y, link, err := Link(s, "s0->h0")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Ask(s, Question{X: x, Y: y, Link: link, Class: topology.DataClass, From: 500 * unit.Microsecond, To: 1500 * unit.Microsecond}, nil)
	if err != nil {
		t.Fatal(err)
	}
	v := r.Victims[0]
	while, before := unit.Over(delivered(r.From, r.To), r.To-r.From), unit.Over(delivered(200*unit.Microsecond, 400*unit.Microsecond), 200*unit.Microsecond)
	near := func(a, b unit.Rate) bool { return a > b*98/100 && a < b*102/100 }
	if v.Flow != "F0" || v.From != "h0" || v.To != "r0" || !near(v.Goodput, while) || !near(v.Before, before) || v.Paused != r.Paused {
		t.Errorf("%+v; by the series %s, before %s; paused %s", v, while, before, r.Paused)
	}
	if less := (before - while).In(r.To - r.From); v.Less < less*9/10 || v.Less > less*11/10 {
		t.Errorf("%s less, by the series %s", v.Less, less)
	}
}

// A count of 1 has its noun in the singular.
func TestTextOfOnePause(t *testing.T) {
	r := &Report{
		Link: "s0->h0", First: &Fill{Sources: []Source{{Name: "burst", Flows: 2, Senders: []string{"h1"}}}},
		Chain:   []Step{{Link: "s0->h0", Kept: &Kept{Pauses: 1}}},
		Victims: []Victim{{Flow: "F0", Times: 1}},
	}
	var b strings.Builder
	r.causes(&b)
	for _, want := range []string{"burst, 2 flows from 1 NIC\n", "s0 paused h0 1 time, for ", "F0: paused 1 time, for "} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s\nwant %q", b.String(), want)
		}
	}
}
