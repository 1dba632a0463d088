package measure

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Each endless flow of a burst has its own goodput, measured until it is stopped.
func TestEndlessBurstFlowsHaveTheirOwnGoodput(t *testing.T) {
	s := rack()
	s.Flows[1].Size = topology.Endless
	s.Flows = append(s.Flows, topology.Flow{Name: "B/b0/1", From: 1, To: 2, Size: topology.Endless, Start: 100 * us})
	run := merged(t, s, map[int][]fabric.Note{
		1: {note(300*us, fabric.Completed, 2, 5000, int64(100*us))},
		2: {
			note(110*us, fabric.Delivered, 1, 3000, 0), note(120*us, fabric.Delivered, 2, 5000, 0),
			note(390*us, fabric.Delivered, 1, 6000, 0), note(395*us, fabric.Delivered, 0, 7000, 0),
		},
	})
	want := []Flow{
		{Name: "B/b0/0", From: "b0", To: "r0", Bytes: 9000, Start: 100 * us, End: 400 * us, Goodput: unit.Over(9000, 300*us)},
		{Name: "B/b0/1", From: "b0", To: "r0", Bytes: 5000, Start: 100 * us, End: 300 * us, Goodput: unit.Over(5000, 200*us)},
	}
	if want[1].Name = s.Flows[2].Name; !cmp.Equal(want, run.Endless) {
		t.Error(cmp.Diff(want, run.Endless))
	}
	if run.EndlessGoodput(0) != want[1].Goodput || run.EndlessGoodput(1000) != want[0].Goodput {
		t.Errorf("from %v to %v", run.EndlessGoodput(0), run.EndlessGoodput(1000))
	}
	if got := merged(t, rack(), nil).Endless; got != nil {
		t.Errorf("a burst of finite flows has %v", got)
	}
}

// PAUSE is also counted in bins of 25 us, so that PAUSE after a burst is not drawn
// before it.
func TestPauseHasFineBins(t *testing.T) {
	s := rack()
	run := merged(t, s, map[int][]fabric.Note{3: {
		note(130*us, fabric.PauseSent, fabric.NoFlow, 65535, 0), note(149*us, fabric.PauseSent, fabric.NoFlow, 65535, 0),
		note(399*us, fabric.PauseSent, fabric.NoFlow, 65535, 0),
	}})
	p := run.Series.Pauses[0]
	if len(p.Fine) != 16 || p.Fine[4] != 0 || p.Fine[5] != 2 || p.Fine[15] != 1 || p.Bins[2] != 2 {
		t.Errorf("%+v", p)
	}
	s.Bin = PauseBin
	if p := merged(t, s, map[int][]fabric.Note{3: {note(130*us, fabric.PauseSent, fabric.NoFlow, 65535, 0)}}).Series.Pauses[0]; p.Fine != nil || p.Bins[5] != 1 {
		t.Errorf("bins of 25 us: %+v", p)
	}
}
