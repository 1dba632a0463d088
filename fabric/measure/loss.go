package measure

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Early describes the packets of one flow that its receiver got out of order.
type Early struct {
	Flow  fabric.FlowID `json:"flow"`
	Depth int64         `json:"depth"` // the largest distance of a packet from the expected one, in packets
}

// psnMask covers the bits of a PSN of RoCEv2. Distances are far smaller under UET too, whose
// PSN has 32 bits.
const psnMask = 1<<24 - 1

// outOfSequence records how far a packet was ahead of the expected one.
func (r *Recorder) outOfSequence(n *fabric.Note) {
	depth := int64((n.PSN() - n.ExpectedPSN()) & psnMask)
	i, known := r.early[n.Flow]
	if !known {
		if r.early == nil {
			r.early = map[fabric.FlowID]int{}
		}
		i = len(r.result.Early)
		r.early[n.Flow], r.result.Early = i, append(r.result.Early, Early{Flow: n.Flow})
	}
	e := &r.result.Early[i]
	e.Depth = max(e.Depth, depth)
}

// losses sums the packets and bytes that the nodes sent again and trimmed, and finds the
// largest depth of packets out of order, of the run and of each single flow.
func (r *Run) losses(s *topology.Scenario, nodes []*NodeResult) {
	flows := map[string]*Flow{}
	for i := range r.Flows {
		flows[r.Flows[i].Name] = &r.Flows[i]
	}
	for _, n := range nodes {
		r.RetransmittedBytes += unit.Bytes(n.Counters["retransmitted_bytes"])
		for i := range n.Ports {
			for _, c := range n.Ports[i].Classes {
				r.TrimmedFrames += int64(c.Counters["SAI_QUEUE_STAT_TRIM_PACKETS"])
				r.TrimmedBytes += unit.Bytes(c.Counters["trimmed_bytes"])
			}
		}
		for _, e := range n.Early {
			r.OutOfOrder = max(r.OutOfOrder, e.Depth)
			if int(e.Flow) < len(s.Flows) && s.Flows[e.Flow].Burst < 0 {
				flows[s.Flows[e.Flow].Name].OutOfOrder = e.Depth
			}
		}
	}
}

// Figures of what was sent again, trimmed and reordered, and of the use of parallel links.
var (
	RetransmittedBytes = count("retransmitted_bytes", "", "", func(r *Run) int64 { return int64(r.RetransmittedBytes) })
	RetransmittedKB    = kilobytes("again", RetransmittedBytes).means("again KB: payload that senders sent again, in 1000 bytes")
	TrimmedFrames      = count("trimmed_frames", "trimmed", "packets", func(r *Run) int64 { return r.TrimmedFrames })
	TrimmedBytes       = count("trimmed_bytes", "", "", func(r *Run) int64 { return int64(r.TrimmedBytes) })
	TrimmedKB          = kilobytes("trimmed", TrimmedBytes).means("trimmed: packets whose payload switches cut off, and that payload in 1000 bytes")
	OutOfOrder         = count("out_of_order", "out of", "order", func(r *Run) int64 { return r.OutOfOrder }).means(
		"out of order: the largest distance of a received packet from the one that its receiver expected, in packets")
	Imbalance = number("imbalance", "paths", "max/mean", func(r *Run) float64 { return imbalance(r.Parallel) }).
			without(func(r *Run) bool { return len(r.Parallel) == 0 }).means(
		"paths max/mean: bytes of the busiest link over the mean of the links that a switch chooses among, averaged over these sets by their bytes; 1 if all carry the same")
)

// RecoveryFigures are the figures of recovery and of paths, for tables.
var RecoveryFigures = []Figure{RetransmittedKB, TrimmedFrames, TrimmedKB, OutOfOrder, Imbalance}

// kilobytes returns a count of bytes in 1000 bytes, for tables.
func kilobytes(group string, bytes Figure) Figure {
	return number("", group, "KB", func(r *Run) float64 { return bytes.Of(r) / 1e3 }).with(0)
}
