package node

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Way tells what comes in at a port from what goes out by it.
type Way uint8

// Ways.
const (
	In      Way = iota
	Out         // handed to the link; what the link does to it shows at the other end
	Damaged     // came in with a bad frame check sequence
	Gone        // was to come in, and did not: its link lost it, or was down
)

// String names the way, "in".
func (w Way) String() string {
	switch w {
	case Out:
		return "out"
	case Damaged:
		return "damaged"
	case Gone:
		return "gone"
	default:
		return "in"
	}
}

// linked is a machine that knows what becomes of frames on the links to it.
type linked interface {
	Fate(now unit.Time, port fabric.Port, f *frame.Frame) fabric.Fate
}

// Tap looks on at a node and changes nothing. Run calls it, in the order of
// events; either function may be nil.
type Tap struct {
	// Frame gets each frame that comes in, when the last of it is there and before
	// the machine has it, and each that goes out, when its transmission begins and
	// the machine has let it go. The frame may be read until Frame returns; one that
	// came in damaged is shown as it was sent.
	Frame func(at unit.Time, port fabric.Port, way Way, f *frame.Frame)
	// Event gets what the machine has noted at an event, once it has handled it.
	Event func(at unit.Time, notes []fabric.Note)
}

// Look puts a tap at the node, in the place of the one before; nil is none.
func (n *Node) Look(t *Tap) { n.tap = t }

// arriving tells the tap of a frame that the machine gets next.
func (n *Node) arriving(port int, f *frame.Frame) {
	if n.tap.Frame != nil {
		n.tap.Frame(n.now, fabric.Port(port), n.wayIn(fabric.Port(port), f), f)
	}
}

// wayIn gives the way of a frame that arrives now.
func (n *Node) wayIn(port fabric.Port, f *frame.Frame) Way {
	m, ok := n.machine.(linked)
	if !ok {
		return In
	}
	switch m.Fate(n.now, port, f) {
	case fabric.Damaged:
		return Damaged
	case fabric.CutOff, fabric.Lost:
		return Gone
	default:
		return In
	}
}

// handled tells the tap what an event has put out, beyond what was out before it.
func (n *Node) handled(sends, notes int, out *fabric.Out) {
	if n.tap.Frame != nil {
		for i := sends; i < len(out.Sends); i++ {
			n.tap.Frame(n.now, out.Sends[i].Port, Out, &out.Sends[i].Frame)
		}
	}
	if n.tap.Event != nil {
		n.tap.Event(n.now, out.Notes[notes:])
	}
}
