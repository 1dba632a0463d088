package lab_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// twin computes the series of a run from per-frame notes.
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

// close fills the bins of a port before the current one.
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
			if w.depth[at] += int64(n.Bytes()); n.Kind == fabric.Dequeued {
				w.depth[at] -= 2 * int64(n.Bytes())
			}
			w.peak[at][bin] = max(w.peak[at][bin], w.depth[at])
		case fabric.Transmitted:
			if w.sent[n.Flow] == nil {
				w.sent[n.Flow] = w.bins()
			}
			length := int64(n.Bytes()) + w.headers + int64(link.Overhead)
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
func TestSampledSeriesMatchEveryFrame(t *testing.T) {
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
		if scheme.Notification == cc.NotifyLoad {
			w.headers += 16 // the shim and the header of INT, without hops
		}
		if scheme.Recovery == cc.RecoverySelective || scheme.Recovery == cc.RecoverySpraying {
			w.headers, w.first = w.headers+w.first, 0 // a RETH in every packet
		}
		if scheme.Notification.UET() {
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

// bucketTwin is a bucket in bits times picoseconds, from the notes of every request.
type bucketTwin struct {
	rate, depth, level int64
	at                 unit.Time
}

func (b *bucketTwin) pass(now unit.Time) {
	if span := int64(now - b.at); span > b.depth/b.rate {
		b.level = b.depth
	} else {
		b.level = min(b.depth, b.level+span*b.rate)
	}
	b.at = now
}

// GET-61: the stalls in the series add up to the totals of results.json, and to the
// NICs' own counters, which drop what is below a nanosecond. No bin holds more than
// its length for each of requests and responses.
func TestStallSeriesAddUp(t *testing.T) {
	for _, c := range []struct{ scenario, key, value string }{
		{"get-incast", "nic.pacing", "off"},
		{"get-incast", "nic.pacing", "bucket"},
		{"get-incast", "nic.pacing", "outstanding"},
		{"get-mixed", "h0.out_rate", "100Gbps"},
		{"get-mixed", "h0.out_rate", "0"},
	} {
		text, _ := scenariofile.Builtin(c.scenario)
		s, err := scenariofile.ParseWith(c.scenario, text, []topology.Setting{{Key: c.key, Value: c.value}})
		if err != nil {
			t.Fatal(err)
		}
		l, err := lab.New(s)
		if err != nil {
			t.Fatal(err)
		}
		l.Run(s.Duration)
		nodes := l.Results()
		run, err := measure.Merge(s, nodes)
		if err != nil {
			t.Fatal(err)
		}
		sums := map[string]unit.Time{}
		for _, series := range run.Series.Stalls {
			for _, v := range series.Bins {
				sums[series.Node+" "+series.Direction] += unit.Time(v)
				if unit.Time(v) > 2*s.Bin {
					t.Errorf("%s %s: a stall of %v in a bin", c.value, series.Node, unit.Time(v))
				}
			}
		}
		for _, i := range run.Initiators {
			if i.StallIn != sums[i.Name+" in"] || i.StallOut != sums[i.Name+" out"] {
				t.Errorf("%s %s: %+v, series %v", c.scenario, c.value, i, sums)
			}
		}
		for _, n := range nodes {
			in := unit.Time(n.Counters["stall_no_in_crd_req_prio3"]) * unit.Nanosecond
			out := unit.Time(n.Counters["stall_no_out_crd_req_prio3"]+n.Counters["stall_no_out_crd_rsp_prio3"]) * unit.Nanosecond
			if d := sums[n.Node+" in"] - in; d < 0 || d >= unit.Nanosecond {
				t.Errorf("%s %s: %s stalled for IN %v, series %v", c.scenario, c.value, n.Node, in, sums)
			}
			if d := sums[n.Node+" out"] - out; d < 0 || d >= 2*unit.Nanosecond {
				t.Errorf("%s %s: %s stalled for OUT %v, series %v", c.scenario, c.value, n.Node, out, sums)
			}
		}
		if limited := c.value != "off"; (len(sums) > 0) != limited {
			t.Errorf("%s %s: stalls %v", c.scenario, c.value, sums)
		}
	}
}

// GET-8, GET-58: the IN tokens at the end of each bin are those that the requests
// of every frame leave of a bucket that fills at the rate that the host absorbs.
func TestSampledTokensMatchEveryRequest(t *testing.T) {
	s := getIncast(t, pacing("bucket"))
	set := &s.Nodes[0].NIC.Engine
	const scale = 8 * int64(unit.Second)
	b := bucketTwin{rate: int64(set.Absorb), depth: int64(set.Burst) * scale, level: int64(set.Burst) * scale}
	var want []int64
	until := func(now unit.Time) { // closes the bins that end before now
		for end := unit.Time(len(want)+1) * s.Bin; end <= now; end += s.Bin {
			b.pass(end - 1)
			want = append(want, b.level/scale)
		}
	}
	l, err := lab.New(s)
	if err != nil {
		t.Fatal(err)
	}
	l.PerFrame = true
	l.Listen = func(node int, notes []fabric.Note) {
		for _, n := range notes {
			if node == 0 && n.Kind == fabric.Requested {
				until(n.At)
				b.pass(n.At)
				b.level -= int64(n.Bytes()) * scale
			}
		}
	}
	l.Run(s.Duration)
	until(s.Duration)
	run, err := l.Outcome()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]measure.ShaperSeries{{Node: "i0", Direction: "in", Bins: want}}, run.Series.Tokens,
		cmpopts.IgnoreUnexported(measure.ShaperSeries{})); diff != "" {
		t.Errorf("by every request (-) and sampled (+):\n%s", diff)
	}
}
