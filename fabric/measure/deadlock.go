package measure

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Deadlock is a PFC deadlock: a cycle of switches, each of which pauses the one before it because the
// frames in its buffer wait for the one after it. No frame of the cycle moves again.
type Deadlock struct {
	Class int `json:"class"`
	// Links are the paused directions in the order of the cycle: the peer of each pauses it, and
	// its frames wait for the next one. The first follows the last.
	Links []string `json:"links"`
	// Since is the instant from which all of them are paused, picoseconds.
	Since unit.Time `json:"since_ps"`
}

// String names the cycle: "s0->s1, s1->s2, s2->s0 in class 3, since 1.2 ms".
func (d *Deadlock) String() string {
	return fmt.Sprintf("%s in class %d, since %.4g ms", strings.Join(d.Links, ", "), d.Class, float64(d.Since)/float64(unit.Millisecond))
}

// longestPause is the time for which one PAUSE frame pauses at most, in bytes of the link: 65,535
// quanta of 512 bit times (IEEE 802.1Q-2022 35.1.2, IEEE 802.3 31B.2).
const longestPause unit.Bytes = math.MaxUint16 * 512 / 8

// buffer is an ingress port and class of a node.
type buffer struct {
	node  int
	port  fabric.Port
	class fabric.Priority
}

// StuckOf returns the stuck buffers of a machine; only switches have any.
func StuckOf(m fabric.Machine) []fabric.Stuck {
	if s, ok := m.(interface{ Stuck() []fabric.Stuck }); ok {
		return s.Stuck()
	}
	return nil
}

// Deadlocks returns the PFC deadlocks at an instant, by the stuck buffers of each node. A pause that began less than
// the longest pause ago is not part of one: it may be a moment of congestion, and end.
func Deadlocks(s *topology.Scenario, now unit.Time, stuck func(node int) []fabric.Stuck) (list []Deadlock) {
	g := stuckGraph{ends: s.PortMap(), stuck: map[buffer]*fabric.Stuck{}}
	for i := range s.Nodes {
		all := stuck(i)
		for k := range all {
			b := &all[k]
			if pause := s.Links[g.ends[i][b.Egress[0]].Link].Rate.Serialise(longestPause); now-b.Since >= pause {
				at := buffer{i, b.Ingress, b.Class}
				g.stuck[at], g.order = b, append(g.order, at)
			}
		}
	}
	g.release()
	walked := map[buffer]int{} // number of the walk
	for walk, at := range g.order {
		var path []buffer
		for g.stuck[at] != nil && walked[at] == 0 {
			walked[at], path = walk+1, append(path, at)
			at = g.next(at, g.stuck[at].Egress[0])
		}
		if g.stuck[at] != nil && walked[at] == walk+1 {
			list = append(list, g.cycle(s, path[slices.Index(path, at):]))
		}
	}
	return list
}

// stuckGraph has the buffers that may be part of a deadlock, each with the buffers that must be relieved
// before a frame leaves it.
type stuckGraph struct {
	ends  [][]topology.End
	stuck map[buffer]*fabric.Stuck
	order []buffer // of stuck, by node, class and port
}

// next returns the buffer behind an egress port of a buffer's switch.
func (g *stuckGraph) next(at buffer, egress fabric.Port) buffer {
	e := g.ends[at.node][egress]
	return buffer{e.Peer, e.PeerPort, at.class}
}

// release removes each buffer with a frame that will move: behind its egress port is a buffer that
// is not stuck, and will be relieved.
func (g *stuckGraph) release() {
	before := map[buffer][]buffer{} // the buffers that wait for one
	var free []buffer
	for _, at := range g.order {
		for _, egress := range g.stuck[at].Egress {
			behind := g.next(at, egress)
			if before[behind] = append(before[behind], at); g.stuck[behind] == nil {
				free = append(free, at)
			}
		}
	}
	for len(free) > 0 {
		at := free[len(free)-1]
		free = free[:len(free)-1]
		if g.stuck[at] != nil {
			delete(g.stuck, at)
			free = append(free, before[at]...)
		}
	}
}

// cycle returns the deadlock of a cycle of buffers, each of which waits for the next one. It begins with
// the first node of the scenario.
func (g *stuckGraph) cycle(s *topology.Scenario, path []buffer) Deadlock {
	first := slices.Index(path, slices.MinFunc(path, func(a, b buffer) int { return cmp.Compare(a.node, b.node) }))
	path = slices.Concat(path[first:], path[:first])
	d := Deadlock{Class: int(path[0].class)}
	for _, at := range path {
		b := g.stuck[at]
		d.Links, d.Since = append(d.Links, s.DirectionName(at.node, g.ends[at.node][b.Egress[0]])), max(d.Since, b.Since)
	}
	return d
}
