package lab_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/node"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// counted is the traffic that a port sent and marked in one bin.
type counted struct{ sent, marked int64 }

// The traffic that ports send in each bin equals the sum over their frames as they leave, which
// includes the telemetry that the switch adds. The marks equal the sum over per-frame notes. The
// traffic sent by a NIC adds up to its own counter.
func TestSampledPortSeriesMatchEveryFrame(t *testing.T) {
	for _, scheme := range cc.Schemes {
		s := paper(t, scheme.Name)
		s.Bin, s.Duration = 37*unit.Microsecond, 1*unit.Millisecond
		l, err := lab.New(s)
		if err != nil {
			t.Fatal(err)
		}
		every, sampled := map[place][]counted{}, map[place][]counted{}
		sum := make([]uint64, len(s.Nodes))
		at := func(series map[place][]counted, p place, now unit.Time) *counted {
			if series[p] == nil {
				series[p] = make([]counted, (s.Duration+s.Bin-1)/s.Bin)
			}
			return &series[p][now/s.Bin]
		}
		for i := range s.Nodes {
			if s.Nodes[i].Kind != topology.Switch {
				continue
			}
			l.Look(i, &node.Tap{Frame: func(now unit.Time, port fabric.Port, way node.Way, f *frame.Frame) {
				if way == node.Out && f.Class() != frame.ClassPFC {
					at(every, place{i, port}, now).sent += int64(f.Len())
				}
			}})
		}
		l.PerFrame = true
		l.Listen = func(index int, notes []fabric.Note) {
			host := s.Nodes[index].Host >= 0
			for i := range notes {
				switch n := &notes[i]; {
				case n.Kind == fabric.Marked:
					at(every, place{index, n.Port}, n.At).marked++
				case n.Kind == fabric.PortSampled && host:
					sum[index] += uint64(n.Bytes())
				case n.Kind == fabric.PortSampled:
					c := at(sampled, place{index, n.Port}, n.At)
					c.sent, c.marked = c.sent+int64(n.Bytes()), c.marked+int64(n.Marks())
				}
			}
		}
		l.Run(s.Duration)
		if diff := cmp.Diff(every, sampled, cmp.AllowUnexported(place{}, counted{})); diff != "" || len(sampled) == 0 {
			t.Errorf("%s: ports by every frame (-) and sampled (+):\n%s", scheme.Name, diff)
		}
		for i, r := range l.Results() {
			if sum[i] != r.Counters["tx_bytes_phy"] {
				t.Errorf("%s: %s sent %d bytes, sampled %d", scheme.Name, r.Node, r.Counters["tx_bytes_phy"], sum[i])
			}
		}
	}
}
