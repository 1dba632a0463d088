package switching

import (
	"math/bits"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/splitmix"
)

// ecmp routes by destination host and spreads flows over ports of equal cost.
type ecmp struct {
	seed   uint64
	routes [][]fabric.Port
}

func newECMP(seed uint64, routes [][]fabric.Port) ecmp {
	return ecmp{seed: splitmix.Mix(seed + streamECMP), routes: routes}
}

// route returns the egress port of a frame to the host, false if there is no route.
// All frames of a flow to the host take the same port.
func (e *ecmp) route(host int, f *frame.Frame) (fabric.Port, bool) {
	if uint(host) >= uint(len(e.routes)) || len(e.routes[host]) == 0 {
		return 0, false
	}
	ports := e.routes[host]
	if len(ports) == 1 {
		return ports[0], true
	}
	return pick(ports, e.hash(f)), true
}

// pick selects one of several ports by a hash.
func pick(ports []fabric.Port, hash uint64) fabric.Port {
	i, _ := bits.Mul64(hash, uint64(len(ports)))
	return ports[i]
}

// back returns the egress port of the data that a RoCEv2 packet answers, false if
// there is no route.
func (e *ecmp) back(f *frame.Frame) (fabric.Port, bool) {
	host := f.SrcIP().Host()
	if uint(host) >= uint(len(e.routes)) || len(e.routes[host]) == 0 {
		return 0, false
	}
	return pick(e.routes[host], e.tuple(f.DstIP(), f.SrcIP(), f)), true
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
