package lab_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/lab/steering"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// census counts frames other than PFC, which end at the next node, in a slow lab
// whose links fail and whose NICs freeze.
type census struct {
	*slowLab
	ledger  *ledger // for what a switch says that it queues
	sent    int     // by NICs
	got     int     // by NICs, those among them that a frozen one has lost
	flying  int
	dropped int                       // by switches
	trimmed int                       // by switches
	failed  map[fabric.DropReason]int // by links
	signals map[fabric.DropReason]int // PFC frames among what links have failed
}

func newCensus(t rapid.TB, s *topology.Scenario) *census {
	w := newSlowLab(t, s)
	return &census{
		slowLab: w, ledger: &ledger{slowLab: w, inside: make([]tally, len(s.Nodes))},
		failed: map[fabric.DropReason]int{}, signals: map[fabric.DropReason]int{},
	}
}

func (c *census) count(e event, arrived *frame.Frame) error {
	isNIC, here := c.s.Nodes[e.node].Kind == topology.NIC, &c.ledger.inside[e.node]
	signal := arrived != nil && arrived.Class() == frame.ClassPFC
	reason := c.lost(arrived)
	switch {
	case arrived == nil:
	case signal && reason != 0:
		c.signals[reason]++
	case signal:
	case reason != 0:
		c.flying--
		c.failed[reason]++
	default:
		c.flying--
		here.add(arrived, 1)
		if isNIC {
			c.got++
		}
	}
	for i := range c.out.Sends {
		f := c.out.Sends[i].Frame
		if f.Class() == frame.ClassPFC {
			continue
		}
		c.flying++
		here.add(f, -1)
		if isNIC {
			c.sent++
		}
	}
	if isNIC {
		return nil
	}
	for _, n := range c.out.Notes {
		switch {
		case n.Kind == fabric.Dropped && !signal && reason == 0:
			c.dropped++
			here.frames--
			here.bytes -= n.Bytes()
		case n.Kind == fabric.Trimmed:
			c.trimmed++
			here.bytes -= n.Cut()
		}
	}
	// A dropped frame's note has its length and not its payload.
	here.payload = 0
	return c.ledger.check(e.node)
}

// lost returns why a frame that arrived was not received, 0 if it was.
func (c *census) lost(arrived *frame.Frame) fabric.DropReason {
	for i := range c.out.Notes {
		n := &c.out.Notes[i]
		reason := n.Reason()
		if arrived != nil && n.Kind == fabric.Dropped && (reason == fabric.DropLinkDown || reason == fabric.DropLinkLoss || reason == fabric.DropBadFCS) {
			return reason
		}
	}
	return 0
}

// balance compares the frames sent, or created by a switch, with their locations.
func (c *census) balance() error {
	within := 0
	for i, n := range c.s.Nodes {
		if n.Kind == topology.Switch {
			within += c.ledger.inside[i].frames
		}
	}
	failed := 0
	for _, n := range c.failed {
		failed += n
	}
	if c.sent != c.got+c.flying+c.dropped+failed+within {
		return fmt.Errorf("%d frames sent, %d came in, %d on links, links failed %v, %d dropped, %d in switches beyond those made there", c.sent, c.got, c.flying, c.failed, c.dropped, within)
	}
	return nil
}

// At every instant of a random rack under random changes - links down, up, and with
// errors, NICs frozen, settings, schemes, bursts, commands - each frame is on a link, in
// a switch, received, or dropped and noted. A switch queues exactly the frames received
// and neither sent nor dropped. The lab records the same notes as the slow one.
func TestFramesAreConservedUnderChanges(t *testing.T) {
	const end = 300 * unit.Microsecond
	rapid.Check(t, func(rt *rapid.T) {
		base := randomRack(rt)
		base, err := scenariofile.ForLiveRun(base)
		if err != nil {
			rt.Fatal(err)
		}
		s := steering.New(base, rapid.Uint64().Draw(rt, "changes")).Extend(base, 0, end, rapid.IntRange(1, 20).Draw(rt, "many"))
		c := newCensus(t, s)
		for c.next(rt, c, end) {
		}
		if c.sent == 0 {
			rt.Skip("the changes let nothing be sent")
		}
		if err := c.counted(); err != nil {
			rt.Fatalf("under %s: %v", s.Scheme, err)
		}
		c.sameNotes(rt, end)
	})
}
