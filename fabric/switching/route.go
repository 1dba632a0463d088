package switching

import (
	"math/bits"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/splitmix"
)

// ecmp routes by destination host, and spreads flows over ports of equal cost.
type ecmp struct {
	seed   uint64
	routes [][]fabric.Port
}

func newECMP(seed uint64, routes [][]fabric.Port) ecmp {
	return ecmp{seed: splitmix.Mix(seed + streamECMP), routes: routes}
}

// route gives the egress port of a frame to the host, false if none leads there.
// All frames of a flow to the host take the same port.
func (e *ecmp) route(host int, f *frame.Frame) (fabric.Port, bool) {
	if uint(host) >= uint(len(e.routes)) || len(e.routes[host]) == 0 {
		return 0, false
	}
	ports := e.routes[host]
	if len(ports) == 1 {
		return ports[0], true
	}
	pick, _ := bits.Mul64(e.hash(f), uint64(len(ports)))
	return ports[pick], true
}

// hash mixes the 5-tuple; two of its five, the protocol and one of the ports, are
// the same in every RoCEv2 frame. For a CNM it mixes what names the sampled flow.
func (e *ecmp) hash(f *frame.Frame) uint64 {
	if f.Class() == frame.ClassCNM {
		qp, _ := f.SampledQP()
		return splitmix.Mix(splitmix.Mix(e.seed^uint64(qp)) ^ uint64(f.SampledSrcPort()))
	}
	h := splitmix.Mix(e.seed ^ (uint64(f.SrcIP())<<32 | uint64(f.DstIP())))
	return splitmix.Mix(h ^ uint64(f.SrcPort()^f.DstPort()^frame.PortRoCE))
}
