package node

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Way is the direction of a frame at a port, and how it arrived.
type Way uint8

// Ways.
const (
	In      Way = iota
	Out         // handed to the link; the other end shows what happened to it there
	Damaged     // arrived with a bad frame check sequence
	Gone        // did not arrive: its link lost it or was down
)

// String returns the name of the way, such as "in".
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

// linked is a machine that knows the fate of frames on its incoming links.
type linked interface {
	Fate(now unit.Time, port fabric.Port, f *frame.Frame) fabric.Fate
}

// Tap observes a node without changing anything. Run calls it in the order of
// events. Either function may be nil.
type Tap struct {
	// Frame is called for each incoming frame when its last bit has arrived, before
	// the machine handles it. It is called for each outgoing frame when its
	// transmission begins, after the machine has sent it. The frame may be read until
	// Frame returns. A damaged frame is shown as it was sent.
	Frame func(at unit.Time, port fabric.Port, way Way, f *frame.Frame)
	// Event is called with the notes of an event after the machine has handled it.
	Event func(at unit.Time, notes []fabric.Note)
}

// Look sets the tap of the node and replaces the previous one; nil removes it.
func (n *Node) Look(t *Tap) { n.tap = t }

// arriving calls the tap for the frame that the machine handles next.
func (n *Node) arriving(port int, f *frame.Frame) {
	if n.tap.Frame != nil {
		n.tap.Frame(n.now, fabric.Port(port), n.wayIn(fabric.Port(port), f), f)
	}
}

// wayIn returns the way of a frame that arrives now.
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

// handled calls the tap for the sends and notes that an event has added to out.
func (n *Node) handled(sends, notes int, out *fabric.Out) {
	if n.tap.Frame != nil {
		for i := sends; i < len(out.Sends); i++ {
			n.tap.Frame(n.now, out.Sends[i].Port, Out, out.Sends[i].Frame)
		}
	}
	if n.tap.Event != nil {
		n.tap.Event(n.now, out.Notes[notes:])
	}
}
