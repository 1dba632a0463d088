package switching

import (
	"math/bits"
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/splitmix"
)

// ecmp routes by destination host and spreads flows over ports of equal cost.
type ecmp struct {
	seed uint64
	// next is the egress port by host, or ^i if the host is reached by the ports of
	// sets[i]. Many hosts share few sets, so that a route is found by one access to a
	// small table, and one to a set that is in use all the time.
	next []int32
	sets [][]fabric.Port // each once; the first is empty, of hosts without a route
}

// noRoute is the entry of a host without a route.
const noRoute = ^int32(0)

func newECMP(seed uint64, routes [][]fabric.Port) ecmp {
	e := ecmp{seed: splitmix.Mix(seed + streamECMP)}
	e.setRoutes(routes)
	return e
}

// setRoutes replaces the routes, given as egress ports by host.
func (e *ecmp) setRoutes(routes [][]fabric.Port) {
	e.next, e.sets = make([]int32, len(routes)), [][]fabric.Port{nil}
	for host, ports := range routes {
		if len(ports) == 1 {
			e.next[host] = int32(ports[0])
			continue
		}
		same := func(set []fabric.Port) bool { return slices.Equal(set, ports) }
		i := slices.IndexFunc(e.sets, same)
		if i < 0 {
			i = len(e.sets)
			e.sets = append(e.sets, slices.Clone(ports))
		}
		e.next[host] = ^int32(i)
	}
}

// route returns the egress port of a frame to the host by its hash, false if there is no
// route. All frames of a flow to the host take the same port.
func (e *ecmp) route(host int, f *frame.Frame) (fabric.Port, bool) {
	port, set := e.lookUp(host)
	if ports := e.sets[set]; len(ports) > 0 {
		port = pick(ports, e.hash(f))
	}
	return port, port >= 0
}

// lookUp returns the only egress port to the host, and set 0, which is empty; otherwise a
// negative port, and the number of the set to pick from. Set 0 then says that there is no
// route.
func (e *ecmp) lookUp(host int) (port fabric.Port, set int) {
	next := noRoute
	if uint(host) < uint(len(e.next)) {
		next = e.next[host]
	}
	if next >= 0 {
		return fabric.Port(next), 0
	}
	return -1, int(^next)
}

// pick selects one of several ports by a hash.
func pick(ports []fabric.Port, hash uint64) fabric.Port {
	i, _ := bits.Mul64(hash, uint64(len(ports)))
	return ports[i]
}

// back returns the egress port of the data that a RoCEv2 packet answers, false if
// there is no route.
func (e *ecmp) back(f *frame.Frame) (fabric.Port, bool) {
	port, set := e.lookUp(f.SrcIP().Host())
	if ports := e.sets[set]; len(ports) > 0 {
		port = pick(ports, e.tuple(f.DstIP(), f.SrcIP(), f))
	}
	return port, port >= 0
}

// Spread returns the port that the frames of a flow take at the switch with that
// Config.Seed, out of at least one port of equal cost. source is the flow's UDP
// source port.
func Spread(seed uint64, ports []fabric.Port, from, to frame.IP, source uint16) fabric.Port {
	e := newECMP(seed, nil)
	return pick(ports, e.mix(from, to, source))
}

// hash mixes the 5-tuple. The protocol and one of the ports are the same in every
// RoCEv2 frame and left out. For a CNM it mixes the fields of the sampled flow.
func (e *ecmp) hash(f *frame.Frame) uint64 {
	if f.Class() == frame.ClassCNM {
		qp, _ := f.SampledQP()
		return splitmix.Mix(splitmix.Mix(e.seed^uint64(qp)) ^ uint64(f.SampledSrcPort()))
	}
	return e.tuple(f.SrcIP(), f.DstIP(), f)
}

// tuple mixes two addresses and the port that is not RoCEv2's.
func (e *ecmp) tuple(from, to frame.IP, f *frame.Frame) uint64 {
	return e.mix(from, to, f.SrcPort()^f.DstPort()^frame.PortRoCE)
}

func (e *ecmp) mix(from, to frame.IP, port uint16) uint64 {
	h := splitmix.Mix(e.seed ^ (uint64(from)<<32 | uint64(to)))
	return splitmix.Mix(h ^ uint64(port))
}
