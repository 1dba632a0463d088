package telemetry_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/services/internal/telemetry"
)

// Two calls of Finish together wait only once for a silent collector, and everything is
// counted.
func TestSilentCollectorDelaysTheEndOnce(t *testing.T) {
	s := scenario(t, "pcn-16to2")
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		f.answers = append(f.answers, silent)
		sender := telemetry.NewSender(f, 1)
		n := sender.Node("r", nil, s, len(s.Nodes)-1, fabric.Sampling{Every: s.Bin, End: s.Duration}, nil)
		n.Observe([]fabric.Note{{Event: fabric.Event{Kind: fabric.PauseSent}, At: 1}})
		n.Finish(unit.Millisecond)
		before := time.Now()
		sender.Finish()
		sender.Finish()
		if took := time.Since(before); took != 2*time.Second {
			t.Errorf("the run was delayed by %v, want 2s", took)
		}
		if c := sender.Counts(); c.GetPointsMade() == 0 || c.GetPointsMade() != c.GetPointsDropped()[telemetry.DropUnreachable] {
			t.Errorf("%v, want that all points are dropped", c)
		}
	})
}
