// Package tap picks frames out of what passes the ports of nodes, with the depth
// of the queues there and then: it is what a capture is made of. The lab and the
// processes use the very same recorder. It does not know how a capture is stored.
package tap

import (
	"cmp"
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/node"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Packet is one frame at one port.
type Packet struct {
	At    unit.Time // when its last bit had come in, or its transmission began
	Node  int       // index in the scenario
	Port  fabric.Port
	Way   node.Way
	Frame frame.Frame
	// Queued is what waits to be sent by the port, in bytes: before the machine has
	// a frame that comes in, and without one that goes out. Held is the buffer that
	// frames hold which came in by the port.
	Queued, Held unit.Bytes
}

// Sent tells whether the frame went out.
func (p *Packet) Sent() bool { return p.Way == node.Out }

// Damaged reports whether the frame came in with a bad frame check sequence.
func (p *Packet) Damaged() bool { return p.Way == node.Damaged }

// Sort puts packets in the order of time, then of nodes, as key gives them. The
// packets of one node must stand in the order of its events, and stay in it.
func Sort[P any](packets []P, key func(P) (at unit.Time, node int)) {
	slices.SortStableFunc(packets, func(a, b P) int {
		at, node := key(a)
		otherAt, otherNode := key(b)
		return cmp.Or(cmp.Compare(at, otherAt), cmp.Compare(node, otherNode))
	})
}

// Window says which frames of the chosen ports are picked: those from an instant
// on and before another, of some kinds.
type Window struct {
	From, To unit.Time // To is unit.Never for no end
	Kinds    Kinds     // 0 for all
}

// gauge is a machine that knows how much it queues.
type gauge interface {
	Depth(port fabric.Port) (queued, held unit.Bytes)
}

// Recorder keeps the packets of some ports of one node.
type Recorder struct {
	window  Window
	node    int
	ports   []bool
	machine gauge
	limit   int
	packets []Packet
	lost    []int64 // by port
}

// NewRecorder makes a recorder for ports of the node with that index, whose
// machine it asks for depths. Between two calls of Take it keeps limit packets at
// most, and counts those beyond as lost; 0 is no limit.
func NewRecorder(index int, m fabric.Machine, ports []fabric.Port, w Window, limit int) *Recorder {
	r := &Recorder{window: w, node: index, limit: limit}
	r.machine, _ = m.(gauge)
	for _, p := range ports {
		for len(r.ports) <= int(p) {
			r.ports, r.lost = append(r.ports, false), append(r.lost, 0)
		}
		r.ports[p] = true
	}
	return r
}

// Of gives the tap that lets recorders look on, nil if there is none of them.
func Of(recorders ...*Recorder) *node.Tap {
	switch len(recorders) {
	case 0:
		return nil
	case 1:
		return &node.Tap{Frame: recorders[0].frame}
	}
	return &node.Tap{Frame: func(at unit.Time, port fabric.Port, way node.Way, f *frame.Frame) {
		for _, r := range recorders {
			r.frame(at, port, way, f)
		}
	}}
}

func (r *Recorder) frame(at unit.Time, port fabric.Port, way node.Way, f *frame.Frame) {
	if way == node.Gone || at < r.window.From || at >= r.window.To || int(port) >= len(r.ports) || !r.ports[port] || !r.window.Kinds.Has(f) {
		return
	}
	if r.limit > 0 && len(r.packets) >= r.limit {
		r.lost[port]++
		return
	}
	p := Packet{At: at, Node: r.node, Port: port, Way: way, Frame: *f}
	if r.machine != nil {
		p.Queued, p.Held = r.machine.Depth(port)
	}
	r.packets = append(r.packets, p)
}

// Take gives what was recorded since the last call. The slice is the recorder's
// again when the node goes on.
func (r *Recorder) Take() []Packet {
	packets := r.packets
	r.packets = r.packets[:0]
	return packets
}

// Lost gives how many packets each port has lost so far.
func (r *Recorder) Lost() []int64 { return r.lost }
