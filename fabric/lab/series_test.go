package lab_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// twin makes the series of a run from the notes of every frame.
type twin struct {
	s       *topology.Scenario
	sent    map[fabric.FlowID][]int64
	message map[fabric.FlowID]uint64 // the one that the flow is sending
	headers int64                    // of a WRITE packet
	first   int64                    // more on the first frame of a message: RETH
	depth   map[place]int64
	peak    map[place][]int64
	end     map[place][]int64
	upTo    map[place]int // the first bin whose end is still open
}

// place is a port of a node.
type place struct {
	node int
	port fabric.Port
}

func (w *twin) bins() []int64 { return make([]int64, (w.s.Duration+w.s.Bin-1)/w.s.Bin) }

// close fills the bins of a port before the one that holds now.
func (w *twin) close(at place, bin int) {
	if w.peak[at] == nil {
		w.peak[at], w.end[at] = w.bins(), w.bins()
	}
	for ; w.upTo[at] < bin; w.upTo[at]++ {
		w.end[at][w.upTo[at]] = w.depth[at]
		w.peak[at][w.upTo[at]+1] = w.depth[at]
	}
}

func (w *twin) listen(node int, notes []fabric.Note) {
	link := w.s.Links[w.s.PortMap()[node][0].Link]
	for _, n := range notes {
		at, bin := place{node, n.Port}, int(n.At/w.s.Bin)
		switch n.Kind {
		case fabric.Enqueued, fabric.Dequeued:
			w.close(at, bin)
			if w.depth[at] += n.A; n.Kind == fabric.Dequeued {
				w.depth[at] -= 2 * n.A
			}
			w.peak[at][bin] = max(w.peak[at][bin], w.depth[at])
		case fabric.Transmitted:
			if w.sent[n.Flow] == nil {
				w.sent[n.Flow] = w.bins()
			}
			length := n.A + w.headers + int64(link.Overhead)
			if n.Trace != w.message[n.Flow] {
				w.message[n.Flow] = n.Trace
				length += w.first
			}
			w.sent[n.Flow][bin] += length
		default:
		}
	}
}

// PCN-8: the queues and the actual rates of the flows that are recorded at the
// end of each bin are those that the notes of every frame tell. The bins do not
// divide the run, so that the last one is cut short.
func TestSampledSeriesAreThoseOfEveryFrame(t *testing.T) {
	for _, scheme := range cc.Schemes {
		s := paper(t, scheme.Name)
		s.Bin, s.Duration = 37*unit.Microsecond, 1*unit.Millisecond
		l, err := lab.New(s)
		if err != nil {
			t.Fatal(err)
		}
		w := &twin{
			s: s, headers: 62, first: 16, sent: map[fabric.FlowID][]int64{}, message: map[fabric.FlowID]uint64{},
			depth: map[place]int64{}, peak: map[place][]int64{}, end: map[place][]int64{}, upTo: map[place]int{},
		}
		if scheme.Timestamps {
			w.headers += 8
		}
		if scheme.Notification == cc.NotifyCredit {
			w.headers, w.first = 106, 0 // UET: 14, 20, 8, 60, 4
		}
		l.Listen, l.PerFrame = w.listen, true
		l.Run(s.Duration)
		run, err := measure.Merge(s, l.Results())
		if err != nil {
			t.Fatal(err)
		}
		w.compare(t, run)
	}
}

func (w *twin) compare(t *testing.T, run *measure.Run) {
	t.Helper()
	want := map[string]measure.QueueSeries{}
	for at := range w.peak {
		last := len(w.peak[at]) - 1
		w.close(at, last)
		w.end[at][last] = w.depth[at]
		name := w.s.Nodes[at.node].Name + "->" + w.s.Nodes[w.s.PortMap()[at.node][at.port].Peer].Name
		want[name] = measure.QueueSeries{Port: name, Peak: w.peak[at], End: w.end[at]}
	}
	got := map[string]measure.QueueSeries{}
	for _, q := range run.Series.Queues {
		got[q.Port] = q
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: queues of every frame (-) and sampled (+):\n%s", run.Scheme, diff)
	}
	for _, f := range run.Series.Sent {
		if diff := cmp.Diff(w.sent[fabric.FlowID(f.Flow)], f.Bins); diff != "" {
			t.Errorf("%s: %s sends (-), is sampled (+):\n%s", run.Scheme, f.Name, diff)
		}
	}
	if len(run.Series.Sent) != 2 {
		t.Errorf("%s: %d flows sampled, want F0 and F1", run.Scheme, len(run.Series.Sent))
	}
}
