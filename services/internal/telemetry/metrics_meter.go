package telemetry

import (
	"math"
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Point is the value of a series in one span of fabric time.
type Point struct {
	From, At unit.Time // the span's first and last picosecond
	Value    int64
	Series   int32 // index into the series of its Batch
}

// Series is a metric of one port, flow, pair of hosts or bucket of a node. What does
// not apply is "", and the port -1.
type Series struct {
	Metric                        MetricID
	Port                          int
	Peer, Flow, Direction, Reason string
}

// Batch is what a Meter hands out. It may be kept and read from any goroutine.
type Batch struct {
	Points []Point
	Series []Series // those of the node so far
}

// BatchSize is how many points a Meter keeps before it hands them out.
const BatchSize = 512

// retold is in how many spans one is in which a Level that was set is told though it
// stands as it did.
const retold = 20

// untold is told of a series of which nothing was.
const untold = math.MinInt64

// Meter listens to the notes of one node and makes points of them, for spans of
// equal length counted from the start of the run. Points are handed out and
// forgotten: its memory does not grow with the run, but with the flows and bursts
// that the scenario has.
//
// What it makes of equal notes is equal, however they are cut into calls.
type Meter struct {
	scenario *topology.Scenario
	streams  []topology.Stream
	node     int
	ends     []topology.End // behind the node's ports
	sampling fabric.Sampling
	hand     func(Batch)

	open    unit.Time // start of the span that is not closed
	list    []Series
	values  []int64 // by series, of the open span
	told    []int64 // by series: the value of its last point, if it is a Level
	fresh   []bool  // by series, whether the open span has a value
	touched []int32 // the fresh ones, as they came
	points  []Point

	index map[Series]int32
	flows []int32 // by flow: 1 + its series of FlowDelivered, 0 if it was not looked up
	ports []portMeter
	rates map[fabric.FlowID]unit.Rate // what flows that go on are allowed
	sums  map[int32]int64             // the same, by series of FlowRate
}

// portMeter is what is known of one port.
type portMeter struct {
	series [PortMarks + 1]int32 // by metric, -1 for none yet
	held   int                  // classes
	since  unit.Time            // that time has not been told
}

// NewMeter makes the meter of the scenario's node with that index. hand gets what it
// makes, from within the calls.
func NewMeter(s *topology.Scenario, node int, sampling fabric.Sampling, hand func(Batch)) *Meter {
	m := &Meter{
		node: node, ends: s.PortMap()[node], sampling: sampling, hand: hand,
		index: map[Series]int32{}, rates: map[fabric.FlowID]unit.Rate{}, sums: map[int32]int64{},
	}
	m.ports = make([]portMeter, len(m.ends))
	for i := range m.ports {
		for k := range m.ports[i].series {
			m.ports[i].series[k] = -1
		}
	}
	m.Extend(s)
	return m
}

// Extend takes over a scenario that has more changes; at once if it is the same.
func (m *Meter) Extend(s *topology.Scenario) {
	if m.scenario == s {
		return
	}
	m.scenario, m.streams = s, s.Streams()
}

// Observe takes notes in the order in which they happened.
func (m *Meter) Observe(notes []fabric.Note) {
	for i := range notes {
		n := &notes[i]
		if n.At >= m.open+m.sampling.Every {
			m.close(n.At)
		}
		m.observe(n)
	}
}

// Reach says that every event before t has been handled: spans that end by then are
// closed.
func (m *Meter) Reach(t unit.Time) { m.close(t) }

// Flush hands out the points of all closed spans.
func (m *Meter) Flush() {
	if len(m.points) == 0 {
		return
	}
	m.hand(Batch{Points: slices.Clone(m.points), Series: slices.Clip(m.list)})
	m.points = m.points[:0]
}

// Finish closes the span that is open at t, the end of the run, and hands out
// everything.
func (m *Meter) Finish(t unit.Time) {
	m.close(t)
	if t > m.open {
		m.span(t)
		m.open = t
	}
	m.Flush()
}

// close closes the spans that end at or before t.
func (m *Meter) close(t unit.Time) {
	for end := m.open + m.sampling.Every; end <= t; end = m.open + m.sampling.Every {
		m.span(end)
		m.open = end
		if m.idle() {
			m.open = t - t%m.sampling.Every
		}
	}
}

// idle tells whether spans without a note have no points.
func (m *Meter) idle() bool {
	for i := range m.ports {
		if m.ports[i].held > 0 {
			return false
		}
	}
	return true
}

// span makes the points of the open span, which ends before end.
func (m *Meter) span(end unit.Time) {
	for i := range m.ports {
		if p := &m.ports[i]; p.held > 0 {
			m.paused(fabric.Port(i), end)
		}
	}
	for _, i := range m.touched {
		m.fresh[i] = false
		if m.same(i) {
			continue
		}
		m.points = append(m.points, Point{From: m.open, At: end - 1, Value: m.values[i], Series: i})
	}
	if m.touched = m.touched[:0]; len(m.points) >= BatchSize {
		m.Flush()
	}
}

// same tells whether the value of a series in the open span is what having no point
// means. If it is not, it is what is told last from now on. In every twentieth span a
// Level is told even so: what a lost request leaves untold is soon put right.
func (m *Meter) same(i int32) bool {
	if Metrics[m.list[i].Metric].Kind != Level {
		return m.values[i] == 0
	}
	was := m.told[i]
	m.told[i] = m.values[i]
	return was == m.values[i] && int64(m.open/m.sampling.Every)%retold != 0
}

// add counts into a delta.
func (m *Meter) add(i int32, value int64) {
	if !m.fresh[i] {
		m.touch(i)
		m.values[i] = 0
	}
	m.values[i] += value
}

// set sets a gauge.
func (m *Meter) set(i int32, value int64) {
	if !m.fresh[i] {
		m.touch(i)
	}
	m.values[i] = value
}

func (m *Meter) touch(i int32) {
	m.fresh[i] = true
	m.touched = append(m.touched, i)
}

// series gives the index of a series, which begins now if it is new.
func (m *Meter) series(s Series) int32 {
	i, ok := m.index[s]
	if !ok {
		i = int32(len(m.list))
		m.index[s] = i
		m.list, m.values, m.fresh, m.told = append(m.list, s), append(m.values, 0), append(m.fresh, false), append(m.told, untold)
	}
	return i
}

// port gives the index of a series of a port.
func (m *Meter) port(metric MetricID, at fabric.Port) int32 {
	i := &m.ports[at].series[metric]
	if *i < 0 {
		*i = m.series(Series{Metric: metric, Port: int(at), Peer: m.peer(at)})
	}
	return *i
}

func (m *Meter) peer(at fabric.Port) string { return m.scenario.Nodes[m.ends[at].Peer].Name }
