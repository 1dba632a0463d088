package lab_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/nic"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/switching"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// flawed returns a random rack whose links lose and damage frames, each direction at
// its own rates, with enough time for its flows to finish.
func flawed(t *rapid.T) *topology.Scenario {
	s := randomRack(t)
	rate := func(label string) float64 { return rapid.SampledFrom([]float64{0, 0.001, 0.01, 0.05}).Draw(t, label) }
	for i := range s.Links {
		l := &s.Links[i]
		for way := range l.Loss {
			l.Loss[way], l.Corrupt[way] = rate("loss"), rate("corrupt")
		}
	}
	for i := range s.Nodes {
		s.Nodes[i].NIC.Timeout = 200 * unit.Microsecond
	}
	s.Duration, s.Bin = unit.Second, unit.Second
	if _, err := scenariofile.Override(s, scenariofile.Overrides{}); err != nil {
		t.Fatal(err)
	}
	return s
}

// GET-26: a WRITE may change its target, so its connection detects errors and goes
// back: on links that lose and damage frames of every kind - data, ACKs, CNPs, credit,
// PAUSE and RESUME - every message of every scheme finishes. At every instant each
// frame that was sent has come in, was lost, was damaged, was dropped, is on a link
// or in a switch; machines count what their notes say; and the lab says note for
// note what the slow one says.
func TestEveryMessageFinishesOnLossyLinks(t *testing.T) {
	failed := map[fabric.DropReason]int{}
	onRandomRacks(t, flawed, func(t rapid.TB, s *topology.Scenario) {
		c := newCensus(t, s)
		end := c.finish(t, c)
		if err := c.counted(); err != nil {
			t.Fatalf("under %s: %v", s.Scheme, err)
		}
		for reason, n := range c.failed {
			failed[reason] += n
		}
		c.sameNotes(t, end)
	}, func() string {
		if failed[fabric.DropLinkLoss] > 0 && failed[fabric.DropBadFCS] > 0 {
			return ""
		}
		return fmt.Sprintf("links failed %v frames, want some of each kind", failed)
	})
}

// counted compares the counters of machines with the frames lost, damaged or cut off on
// links, PFC frames included.
func (c *census) counted() error {
	said := map[fabric.DropReason]int{}
	for _, m := range c.machines {
		switch m := m.(type) {
		case *switching.Switch:
			for _, p := range m.Stats().Ports {
				said[fabric.DropLinkDown] += int(p.CutFrames)
				said[fabric.DropLinkLoss] += int(p.LostFrames)
				said[fabric.DropBadFCS] += int(p.DamagedFrames)
			}
		case *nic.NIC:
			n := m.Stats()
			said[fabric.DropLinkDown] += int(n.CutFrames)
			said[fabric.DropLinkLoss] += int(n.LostFrames)
			said[fabric.DropBadFCS] += int(n.DamagedFrames)
		}
	}
	for reason, n := range said {
		if n != c.failed[reason]+c.signals[reason] {
			return fmt.Errorf("%s: machines count %d, %d and %d PFC frames were", reason, n, c.failed[reason], c.signals[reason])
		}
	}
	return nil
}
