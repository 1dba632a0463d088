package telemetry_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/services/internal/telemetry"
)

// exported contains the values that a meter exported for one series, by span.
type exported map[telemetry.Series]map[int64]int64

func (w exported) take(t *testing.T, bin unit.Time, b telemetry.Batch) {
	for _, p := range b.Points {
		s := b.Series[p.Series]
		if w[s] == nil {
			w[s] = map[int64]int64{}
		}
		span := int64(p.At / bin)
		if _, twice := w[s][span]; twice || p.From > p.At || int64(p.From/bin) != span && p.From != 0 {
			t.Errorf("%+v: %+v", s, p)
		}
		w[s][span] = p.Value
	}
}

// bins returns a series in the form of a recorder: of deltas, or with hold of gauges.
func (w exported) bins(s telemetry.Series, bins int, hold bool) []int64 {
	list, at := make([]int64, bins), w[s]
	for i := range list {
		if v, ok := at[int64(i)]; ok {
			list[i] = v
		} else if hold && i > 0 {
			list[i] = list[i-1]
		}
	}
	return list
}

// scenario returns a built-in scenario with the given settings.
func scenario(t testing.TB, name string, set ...topology.Setting) *topology.Scenario {
	t.Helper()
	text, ok := scenariofile.Builtin(name)
	if !ok {
		t.Fatalf("no scenario %s", name)
	}
	s, err := scenariofile.ParseWith(name, text, set)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// metered runs a scenario in the lab with a meter at each node.
func metered(t *testing.T, s *topology.Scenario) (*lab.Lab, []exported) {
	t.Helper()
	l, err := lab.New(s)
	if err != nil {
		t.Fatal(err)
	}
	nodes, meters := make([]exported, len(s.Nodes)), make([]*telemetry.Meter, len(s.Nodes))
	for i := range meters {
		nodes[i] = exported{}
		every := fabric.Sampling{Every: s.Bin, End: s.Duration}
		meters[i] = telemetry.NewMeter(s, i, every, func(b telemetry.Batch) { nodes[i].take(t, s.Bin, b) })
	}
	l.Listen = func(node int, notes []fabric.Note) { meters[node].Observe(notes) }
	l.Run(s.Duration)
	for _, m := range meters {
		m.Finish(s.Duration)
	}
	return l, nodes
}

var cases = []struct {
	name string
	set  []topology.Setting
}{
	{"pcn-16to2", []topology.Setting{{Key: "scheme", Value: "pfc"}, {Key: "duration", Value: "7ms"}}},
	{"pcn-16to2", []topology.Setting{{Key: "scheme", Value: "pcn"}, {Key: "duration", Value: "3ms"}, {Key: "bin", Value: "37us"}}},
	{"pcn-16to2", []topology.Setting{{Key: "scheme", Value: "cbrc-aimd"}, {Key: "duration", Value: "3ms"}}},
	{"get-incast", []topology.Setting{{Key: "nic.pacing", Value: "bucket"}}},
}

// The points of a run equal the series of its series.json: queues, pauses, sent and
// delivered bytes, credit and tokens. Their sums agree with the nodes' results.
func TestPointsMatchTheRecordedSeries(t *testing.T) {
	for _, c := range cases {
		s := scenario(t, c.name, c.set...)
		l, nodes := metered(t, s)
		results := l.Results()
		run, err := measure.Merge(s, results)
		if err != nil {
			t.Fatal(err)
		}
		bins := int((s.Duration + s.Bin - 1) / s.Bin)
		compared := 0
		same := func(what string, want, got []int64) {
			t.Helper()
			compared++
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s %s: recorded (-) and exported (+):\n%s", c.name, what, diff)
			}
		}
		ports := s.PortMap()
		for i, r := range results {
			for k, p := range r.Ports {
				at := telemetry.Series{Metric: telemetry.PortPauses, Port: k, Peer: s.Nodes[ports[i][k].Peer].Name}
				what := r.Node + "->" + at.Peer
				if p.XOFF == 0 {
					p.Bins = make([]int64, bins)
				}
				same(what+" pauses", p.Bins, nodes[i].bins(at, bins, false))
				at.Metric = telemetry.PortPaused
				same(what+" paused", []int64{int64(p.Paused)}, []int64{sum(nodes[i].bins(at, bins, false))})
				if p.QueueEnd == nil {
					continue
				}
				at.Metric = telemetry.PortQueue
				same(what+" queue", p.QueueEnd, nodes[i].bins(at, bins, true))
				at.Metric = telemetry.PortQueueMax
				same(what+" queue peak", p.QueuePeak, nodes[i].bins(at, bins, false))
			}
		}
		rack := exported{} // all nodes together, for series of which only one node has points
		for _, n := range nodes {
			for k, v := range n {
				if k.Metric == telemetry.FlowDelivered || k.Metric == telemetry.FlowSent {
					rack[k] = v
				}
			}
		}
		flow := func(m telemetry.MetricID, name string) telemetry.Series {
			return telemetry.Series{Metric: m, Port: -1, Flow: name}
		}
		for _, d := range run.Series.Goodput {
			if len(s.Commands) == 0 {
				same(d.Name+" delivered", d.Bins, rack.bins(flow(telemetry.FlowDelivered, d.Name), bins, false))
			}
		}
		for _, d := range run.Series.Sent {
			same(d.Name+" sent", d.Bins, rack.bins(flow(telemetry.FlowSent, d.Name), bins, false))
		}
		for i, r := range results {
			for _, d := range r.Granted {
				f := s.Flows[d.Flow]
				same("granted to "+d.Name, d.Bins, nodes[i].bins(telemetry.Series{Metric: telemetry.CreditGranted, Port: -1, Peer: s.Nodes[f.From].Name}, bins, false))
			}
			for _, d := range r.Wasted {
				f := s.Flows[d.Flow]
				same("wasted by "+d.Name, d.Bins, nodes[i].bins(telemetry.Series{Metric: telemetry.CreditWasted, Port: -1, Peer: s.Nodes[f.To].Name}, bins, false))
			}
			for _, d := range r.Tokens {
				same("tokens of "+d.Node, d.Bins, nodes[i].bins(telemetry.Series{Metric: telemetry.Tokens, Port: -1, Direction: d.Direction}, bins, true))
			}
			for _, d := range r.Stalls {
				same("stalls of "+d.Node, d.Bins, nodes[i].bins(telemetry.Series{Metric: telemetry.TokensStalled, Port: -1, Direction: d.Direction}, bins, false))
			}
			if sent := r.Counters["tx_bytes_phy"]; sent > 0 {
				at := telemetry.Series{Metric: telemetry.PortSent, Port: 0, Peer: s.Nodes[ports[i][0].Peer].Name}
				same("sent by "+r.Node, []int64{int64(sent)}, []int64{sum(nodes[i].bins(at, bins, false))})
			}
		}
		if compared < 40 {
			t.Errorf("%s: compared only %d series", c.name, compared)
		}
	}
}

func sum(list []int64) (total int64) {
	for _, v := range list {
		total += v
	}
	return total
}

// A flow's rate is its initial rate, or else its line rate, from the start on, then the
// rate of its reaction point, and 0 after its end. The rate of a burst is the sum over
// its flows.
func TestRates(t *testing.T) {
	s := scenario(t, "pcn-16to2", topology.Setting{Key: "duration", Value: "7ms"}, topology.Setting{Key: "scheme", Value: "pfc"})
	_, nodes := metered(t, s)
	bins := int(s.Duration / s.Bin)
	node := slices.IndexFunc(s.Nodes, func(n topology.Node) bool { return n.Name == "h0" })
	f0 := nodes[node].bins(telemetry.Series{Metric: telemetry.FlowRate, Port: -1, Flow: "F0"}, bins, true)
	if f0[0] != 20e9 || f0[bins-1] != 20e9 {
		t.Errorf("F0 under PFC: %v", f0)
	}
	node = slices.IndexFunc(s.Nodes, func(n topology.Node) bool { return n.Name == "h2" })
	burst := nodes[node].bins(telemetry.Series{Metric: telemetry.FlowRate, Port: -1, Flow: s.Bursts[0].Name}, bins, true)
	at := int(s.Bursts[0].At / s.Bin)
	if at > 0 && burst[at-1] != 0 || burst[at] != 16*40e9 || burst[bins-1] != 0 {
		t.Errorf("16 flows of the burst from %d on: %v", at, burst)
	}
}

// The points do not depend on how notes are divided among calls.
func TestDivisionIntoCallsDoesNotMatter(t *testing.T) {
	s := scenario(t, "pcn-16to2", topology.Setting{Key: "duration", Value: "2ms"}, topology.Setting{Key: "scheme", Value: "dcqcn"})
	l, err := lab.New(s)
	if err != nil {
		t.Fatal(err)
	}
	node := len(s.Nodes) - 1
	var all []fabric.Note
	l.Listen = func(at int, notes []fabric.Note) {
		if at == node {
			all = append(all, notes...)
		}
	}
	l.Run(s.Duration)
	points := func(cut int, reach bool) (list []string) {
		m := telemetry.NewMeter(s, node, fabric.Sampling{Every: s.Bin, End: s.Duration}, func(b telemetry.Batch) {
			for _, p := range b.Points {
				list = append(list, fmt.Sprint(b.Series[p.Series], p.From, p.At, p.Value))
			}
		})
		for part := range slices.Chunk(all, cut) {
			m.Observe(part)
			if reach {
				m.Reach(part[len(part)-1].At)
				m.Flush()
			}
		}
		m.Finish(s.Duration)
		return list
	}
	want := points(len(all), false)
	if len(want) < 1000 {
		t.Fatalf("%d points", len(want))
	}
	for _, cut := range []int{1, 7, 1000} {
		if diff := cmp.Diff(want, points(cut, cut == 7)); diff != "" {
			t.Errorf("in parts of %d:\n%s", cut, diff)
		}
	}
}

// An unchanged level is exported in every twentieth span only, a peak in each span; a
// change is exported at once.
func TestLevelIsExportedWhenItChanges(t *testing.T) {
	s := scenario(t, "pcn-16to2")
	var levels, peaks []int64 // spans that have a point
	m := telemetry.NewMeter(s, len(s.Nodes)-1, fabric.Sampling{Every: s.Bin, End: s.Duration}, func(b telemetry.Batch) {
		for _, p := range b.Points {
			switch b.Series[p.Series].Metric {
			case telemetry.PortQueue:
				levels = append(levels, int64(p.At/s.Bin))
			case telemetry.PortQueueMax:
				peaks = append(peaks, int64(p.At/s.Bin))
			default:
			}
		}
	})
	for span := range int64(50) {
		level := unit.Bytes(1000)
		if span == 33 {
			level = 2000
		}
		m.Observe([]fabric.Note{{Event: fabric.NewQueueSampled(3000, level), At: s.Bin*unit.Time(span+1) - 1}})
	}
	m.Finish(50 * s.Bin)
	if want := []int64{0, 20, 33, 34, 40}; !slices.Equal(levels, want) || len(peaks) != 50 {
		t.Errorf("levels in spans %v, want %v; %d peaks, want 50", levels, want, len(peaks))
	}
}
