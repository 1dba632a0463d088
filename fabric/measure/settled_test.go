package measure

import (
	"math"
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Only the second half counts: there F0 delivers three times as much as F1, together all that
// their bottleneck allows. Jain's index of 3 and 1 is 16/(2·10). The queue is that of s0->r0.
func TestSettled(t *testing.T) {
	s := rack()
	s.Bursts = nil
	s.Flows = []topology.Flow{{Name: "F0", From: 0, To: 2, Size: topology.Endless, Burst: -1}, {Name: "F1", From: 1, To: 2, Size: topology.Endless, Burst: -1}}
	quarter := int64(Bottleneck(s).In(s.Bin)) / 4
	var delivered, queued []fabric.Note
	for at := unit.Time(0); at < s.Duration; at += s.Bin {
		first, queue := 3*quarter, int64(2000)
		if at < s.Duration/2 {
			first, queue = 0, 90_000
		}
		delivered = append(delivered, note(at+us, fabric.Delivered, 0, first, 0), note(at+us, fabric.Delivered, 1, quarter, 0))
		n := note(at+us, fabric.QueueSampled, fabric.NoFlow, 2*queue, queue)
		n.Port = 2
		queued = append(queued, n)
	}
	run := merged(t, s, map[int][]fabric.Note{2: delivered, 3: queued})
	got := run.Settled
	if got == nil || math.Abs(got.Jain-0.8) > 1e-9 || math.Abs(got.Share-1) > 1e-3 || got.Queue != 2000 || got.Peak != 4000 {
		t.Errorf("%+v", got)
	}
}

// Flows that end or start late, bursts and commands do not settle.
func TestNotSettled(t *testing.T) {
	if run := merged(t, rack(), nil); run.Settled != nil || Sharing(rack()) {
		t.Errorf("a rack with a burst: %+v", run.Settled)
	}
	s := rack()
	s.Flows, s.Bursts = s.Flows[:1], nil
	if s.Flows[0].Size = 1000; Sharing(s) {
		t.Error("a flow with an end settles")
	}
	s.Flows[0].Size, s.Flows[0].Start = topology.Endless, s.Duration/2-1
	if !Sharing(s) {
		t.Error("an endless flow that starts in the first half does not settle")
	}
	if s.Flows[0].Start = s.Duration / 2; Sharing(s) {
		t.Error("a flow that starts in the second half settles")
	}
	text, _ := scenariofile.Builtin("path-failure")
	if several, err := scenariofile.Parse("path-failure", text); err != nil || Sharing(several) {
		t.Errorf("flows with several paths settle (%v)", err)
	}
	if SettledJain.Text(&Run{}) != "-" {
		t.Errorf("a run without the figure: %s", SettledJain.Text(&Run{}))
	}
}
