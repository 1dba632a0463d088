package lab_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/lab/steering"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// census counts frames other than PFC, which end at the next node, in a slow lab
// whose links are cut and whose NICs freeze.
type census struct {
	*slowLab
	ledger  *ledger // for what a switch says that it queues
	sent    int     // by NICs
	got     int     // by NICs, those among them that a frozen one has lost
	flying  int
	dropped int // by switches
}

func newCensus(t testing.TB, s *topology.Scenario) *census {
	w := newSlowLab(t, s)
	return &census{slowLab: w, ledger: &ledger{slowLab: w, inside: make([]tally, len(s.Nodes))}}
}

// count books one event, and says what has gone wrong with it.
func (c *census) count(e event, arrived *frame.Frame) error {
	isNIC, here := c.s.Nodes[e.node].Kind == topology.NIC, &c.ledger.inside[e.node]
	signal := arrived != nil && arrived.Class() == frame.ClassPFC
	if arrived != nil && !signal {
		c.flying--
		here.add(arrived, 1)
		if isNIC {
			c.got++
		}
	}
	for i := range c.out.Sends {
		f := &c.out.Sends[i].Frame
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
		if n.Kind == fabric.Dropped && !signal {
			c.dropped++
			here.frames--
			here.bytes -= unit.Bytes(n.A)
		}
	}
	// A dropped frame's note has its length and not its payload.
	here.payload = 0
	return c.ledger.check(e.node)
}

// balance holds the frames that were sent, or made by a switch, against where they are.
func (c *census) balance() error {
	within := 0
	for i, n := range c.s.Nodes {
		if n.Kind == topology.Switch {
			within += c.ledger.inside[i].frames
		}
	}
	if c.sent != c.got+c.flying+c.dropped+within {
		return fmt.Errorf("%d frames sent, %d came in, %d on links, %d dropped, %d in switches beyond those made there", c.sent, c.got, c.flying, c.dropped, within)
	}
	return nil
}

// At every instant of a random rack to which random things are done - links cut and
// mended, NICs frozen, settings, schemes, bursts, commands - each frame is on a link, in a
// switch, has come in, or was dropped and noted; a switch queues what has come in and
// neither left nor been dropped. The lab says note for note what the slow one says.
func TestNothingIsLostOrMadeUpUnderChanges(t *testing.T) {
	const end = 300 * unit.Microsecond
	rapid.Check(t, func(rt *rapid.T) {
		base := randomRack(rt)
		base, err := base.Steered()
		if err != nil {
			rt.Fatal(err)
		}
		s := steering.New(base, rapid.Uint64().Draw(rt, "changes")).Extend(base, 0, end, rapid.IntRange(1, 20).Draw(rt, "many"))
		c := newCensus(t, s)
		for {
			e, arrived, ok := c.step(end)
			if !ok {
				break
			}
			err := c.count(e, arrived)
			if err == nil {
				err = c.balance()
			}
			if err != nil {
				rt.Fatalf("under %s, at %s, after an event at %s: %v", s.Scheme, e.at, s.Nodes[e.node].Name, err)
			}
		}
		if c.sent == 0 {
			rt.Skip("the changes let nothing be sent")
		}
		fast, err := lab.New(s)
		if err != nil {
			rt.Fatal(err)
		}
		notes := make([][]fabric.Note, len(s.Nodes))
		fast.PerFrame = true
		fast.Listen = func(node int, some []fabric.Note) { notes[node] = append(notes[node], some...) }
		fast.Run(end)
		if diff := cmp.Diff(c.notes, notes); diff != "" {
			rt.Fatalf("the lab differs from the slow one under %s:\n%s", s.Scheme, diff)
		}
	})
}
