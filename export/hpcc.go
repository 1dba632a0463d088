package export

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The text files follow the HPCC simulator
// (github.com/alibaba-edu/High-Precision-Congestion-Control,
// simulation/scratch/third.cc). Nodes are numbered as in the scenario, interfaces from
// 1 on because 0 is the loopback there. Times are whole nanoseconds, rounded down.

// Destination ports by which the simulator's scripts (analysis/fct_analysis.py)
// distinguish normal flows from flows of an incast.
const (
	portNormal = 100
	portIncast = 200
)

// qlenDump is the interval between two blocks of qlen.txt.
const qlenDump = 100 * unit.Millisecond

// sort sorts events by instant, and events of the same instant by node and port, by node and step, or
// by flow.
func (e *Events) sort() {
	slices.SortStableFunc(e.PFC, func(a, b PFC) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Port, b.Port))
	})
	slices.SortStableFunc(e.Steps, func(a, b Step) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Step, b.Step))
	})
	slices.SortStableFunc(e.Flows, func(a, b Completion) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Flow, b.Flow))
	})
}

// address returns the IP address that the simulator assigns to the node with that
// number.
func address(node int) uint32 {
	return 0x0b000001 + uint32(node/256)<<16 + uint32(node%256)<<8
}

func nanoseconds(t unit.Time) int64 { return int64(t / unit.Nanosecond) }

// WriteFCT writes fct.txt: a line per completed flow, with the addresses of source and
// destination (8 hexadecimal digits), their ports, the size in bytes, the start, the
// completion time, and the completion time of the flow alone, in ns.
func (e *Events) WriteFCT(w io.Writer, s *topology.Scenario) error {
	out, alone := bufio.NewWriter(w), measure.NewStandalone(s)
	for _, c := range e.Flows {
		f := s.Flows[c.Flow]
		port := portNormal
		if s.Bursting(f) {
			port = portIncast
		}
		_, _ = fmt.Fprintf(out, "%08x %08x %d %d %d %d %d %d\n", address(f.From), address(f.To), f.Source, port,
			int64(c.Size), nanoseconds(c.Start), nanoseconds(c.At-c.Start), nanoseconds(alone.FCT(f, c.Size))) // reported by Flush
	}
	return out.Flush()
}

// WritePFC writes pfc.txt: a line per PFC frame and class at its ingress port, with the
// time in ns, node, kind of node (0 host, 1 switch), interface, and 1 for PAUSE or 0
// for RESUME.
func (e *Events) WritePFC(w io.Writer, s *topology.Scenario) error {
	out := bufio.NewWriter(w)
	for _, p := range e.PFC {
		kind, pause := 0, 0
		if s.Nodes[p.Node].Kind == topology.Switch {
			kind = 1
		}
		if p.Quanta > 0 {
			pause = 1
		}
		_, _ = fmt.Fprintf(out, "%d %d %d %d %d\n", nanoseconds(p.At), p.Node, kind, p.Port+1, pause) // reported by Flush
	}
	return out.Flush()
}

// WriteQueues writes qlen.txt: blocks of "time: T" in ns and a line per port of a
// switch, with node, interface, and the number of samples so far with a queue of i KB
// (1000 bytes), for i from 0 on. A sample is the queue at the end of a bin of the
// series.
func WriteQueues(w io.Writer, s *topology.Scenario, series *measure.RunSeries) error {
	out := bufio.NewWriter(w)
	ends, byPort := s.PortMap(), map[string][]int64{}
	for _, q := range series.Queues {
		byPort[q.Port] = q.End
	}
	counts, samples := map[string][]int{}, int(s.Duration/series.Bin)
	for i := range samples {
		for port, list := range byPort {
			counts[port] = count(counts[port], list[min(i, len(list)-1)])
		}
		at := unit.Time(i+1) * series.Bin
		if at%qlenDump != 0 && i+1 < samples {
			continue
		}
		_, _ = fmt.Fprintf(out, "time: %d\n", nanoseconds(at)) // reported by Flush
		for n, node := range s.Nodes {
			if node.Kind != topology.Switch {
				continue
			}
			for p, end := range ends[n] {
				line := counts[s.DirectionName(n, end)]
				if line == nil {
					line = []int{i + 1} // a port that never queued a frame
				}
				_, _ = fmt.Fprintf(out, "%d %d", n, p+1)
				for _, c := range line {
					_, _ = fmt.Fprintf(out, " %d", c)
				}
				_, _ = fmt.Fprintln(out)
			}
		}
	}
	return out.Flush()
}

// count counts a sample of a queue in bytes.
func count(counts []int, bytes int64) []int {
	for int64(len(counts)) <= bytes/1000 {
		counts = append(counts, 0)
	}
	counts[bytes/1000]++
	return counts
}
