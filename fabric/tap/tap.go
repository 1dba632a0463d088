// Package tap records frames that pass the ports of nodes, with the queue depths at
// that instant, for captures. The lab and the node processes use the same recorder.
// It does not know how a capture is stored.
package tap

import (
	"cmp"
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/node"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Packet is one recorded frame at one port.
type Packet struct {
	At    unit.Time // when its last bit arrived, or its transmission began
	Node  int       // index in the scenario
	Port  fabric.Port
	Way   node.Way
	Frame frame.Frame
	// Queued is the number of bytes queued at the port for transmission: before the
	// machine handles an incoming frame, and without an outgoing frame. Held is the
	// buffer used by frames that arrived at the port, in bytes.
	Queued, Held unit.Bytes
}

// Sent reports whether the frame was transmitted.
func (p *Packet) Sent() bool { return p.Way == node.Out }

// Damaged reports whether the frame arrived with a bad frame check sequence.
func (p *Packet) Damaged() bool { return p.Way == node.Damaged }

// Sort sorts packets by time, then by node, both as returned by key. The packets of
// one node must be in the order of its events, and keep this order.
func Sort[P any](packets []P, key func(P) (at unit.Time, node int)) {
	slices.SortStableFunc(packets, func(a, b P) int {
		at, node := key(a)
		otherAt, otherNode := key(b)
		return cmp.Or(cmp.Compare(at, otherAt), cmp.Compare(node, otherNode))
	})
}

// Window selects frames at the chosen ports: from From on and before To, of the given
// kinds.
type Window struct {
	From, To unit.Time // To is unit.Never for no end
	Kinds    Kinds     // 0 for all
}

// gauge is a machine that reports its queue depths.
type gauge interface {
	Depth(port fabric.Port) (queued, held unit.Bytes)
}

// Recorder records the packets at some ports of one node.
type Recorder struct {
	window  Window
	node    int
	ports   []bool
	machine gauge
	limit   int
	packets []Packet
	lost    []int64 // by port
}

// NewRecorder returns a recorder for ports of the node with that index. It asks the
// machine m for queue depths. It keeps at most limit packets between two calls of Take
// and counts further ones as lost. A limit of 0 means no limit.
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

// Of returns a tap that passes frames to all recorders, nil if there are none.
func Of(recorders ...*Recorder) *node.Tap {
	if len(recorders) == 0 {
		return nil
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

// Take returns the packets recorded since the last call. The slice is valid until the
// node runs again.
func (r *Recorder) Take() []Packet {
	packets := r.packets
	r.packets = r.packets[:0]
	return packets
}

// Lost returns the number of packets lost so far, by port.
func (r *Recorder) Lost() []int64 { return r.lost }
