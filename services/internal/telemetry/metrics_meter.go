package telemetry

import (
	"math"
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Point is the value of a series in one sampling span of fabric time.
type Point struct {
	From, At unit.Time // the span's first and last picosecond
	Value    int64
	Series   int32 // index into the series of its Batch
}

// Series is a metric of one port, flow, pair of hosts or token bucket of a node. Fields
// that do not apply are "", and the port -1.
type Series struct {
	Metric                        MetricID
	Port                          int
	Peer, Flow, Direction, Reason string
}

// Batch is a set of points from a Meter. It is not modified later and may be read from
// any goroutine.
type Batch struct {
	Points []Point
	Series []Series // all series of the node so far
}

// BatchSize is the number of points that a Meter collects before it hands them out.
const BatchSize = 512

// refreshEvery is the number of spans after which a Level that was set is exported even
// if it has not changed.
const refreshEvery = 20

// neverExported is the exported value of a series without a point so far.
const neverExported = math.MinInt64

// Meter converts the notes of one node to points, for spans of equal length counted from
// the start of the run. It keeps no point after handing it out: its memory grows with the
// flows and bursts of the scenario, not with the length of the run (see topology.MostSeries).
//
// Equal notes produce equal points, however they are divided among calls.
type Meter struct {
	scenario *topology.Scenario
	streams  []topology.Stream
	node     int
	ends     []topology.End // the peers of the node's ports
	sampling fabric.Sampling
	hand     func(Batch)

	open    unit.Time // start of the open span
	list    []Series
	values  []value // by series
	touched []int32 // the series with a value in the open span, in order of their first value
	points  []Point

	index map[Series]int32
	// flows has 1 + the series of FlowDelivered, 0 if not looked up yet, by flow, then by burst for those
	// that the scenario does not list.
	flows []int32
	ports []portMeter
	rates map[fabric.FlowID]unit.Rate // CC rate limits of the active flows
	sums  map[int32]int64             // sums of rates, by series of FlowRate
}

// value is the value of a series.
type value struct {
	now      int64
	exported int64 // value of its last point, for a Level
	set      bool  // has a value in the open span
}

// portMeter is the state of one port.
type portMeter struct {
	series  [PortTrims + 1]int32 // by metric; -1 for none yet
	clock   fabric.PauseClock
	counted unit.Time // part of the paused time that has been added to PortPaused
}

// NewMeter returns a meter of the scenario's node with index node. The meter calls hand
// with its batches, from within its methods.
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

// Extend replaces the scenario by one with more changes. It does nothing if the scenario
// is the same.
func (m *Meter) Extend(s *topology.Scenario) {
	if m.scenario == s {
		return
	}
	m.scenario, m.streams = s, s.Streams()
}

// Observe processes notes, in the order in which they happened.
func (m *Meter) Observe(notes []fabric.Note) {
	for i := range notes {
		n := &notes[i]
		if n.At >= m.open+m.sampling.Every {
			m.Reach(n.At)
		}
		m.observe(n)
	}
}

// Reach closes the spans that end by t. All notes before t must have been observed.
func (m *Meter) Reach(t unit.Time) {
	for end := m.open + m.sampling.Every; end <= t; end = m.open + m.sampling.Every {
		m.span(end)
		m.open = end
		if !slices.ContainsFunc(m.ports, func(p portMeter) bool { return p.clock.Running() }) {
			m.open = t - t%m.sampling.Every // spans without notes and pauses have no points
		}
	}
}

// Flush hands out the points of all closed spans.
func (m *Meter) Flush() {
	if len(m.points) == 0 {
		return
	}
	m.hand(Batch{Points: slices.Clone(m.points), Series: slices.Clip(m.list)})
	m.points = m.points[:0]
}

// Finish closes the open span at t, the end of the run, and hands out all points.
func (m *Meter) Finish(t unit.Time) {
	m.Reach(t)
	if t > m.open {
		m.span(t)
		m.open = t
	}
	m.Flush()
}

// span produces the points of the open span, which ends before end.
func (m *Meter) span(end unit.Time) {
	for i := range m.ports {
		m.paused(fabric.Port(i), end)
	}
	for _, i := range m.touched {
		m.values[i].set = false
		if !m.redundant(i) {
			m.points = append(m.points, Point{From: m.open, At: end - 1, Value: m.values[i].now, Series: i})
		}
	}
	if m.touched = m.touched[:0]; len(m.points) >= BatchSize {
		m.Flush()
	}
}

// redundant reports whether omitting the point of a series in the open span is
// equivalent. It records the value of a Level as the last one exported. In every twentieth
// span it reports false for a Level, so that the loss of a request is soon repaired.
func (m *Meter) redundant(i int32) bool {
	v := &m.values[i]
	if Metrics[m.list[i].Metric].Kind != Level {
		return v.now == 0
	}
	unchanged := v.exported == v.now
	v.exported = v.now
	return unchanged && int64(m.open/m.sampling.Every)%refreshEvery != 0
}

// add adds to the delta of a series in the open span.
func (m *Meter) add(i int32, value int64) {
	if !m.values[i].set {
		m.set(i, 0)
	}
	m.values[i].now += value
}

// set sets the gauge of a series in the open span.
func (m *Meter) set(i int32, value int64) {
	v := &m.values[i]
	if v.now = value; !v.set {
		v.set = true
		m.touched = append(m.touched, i)
	}
}

// series returns the index of a series, and creates it if it is new.
func (m *Meter) series(s Series) int32 {
	i, ok := m.index[s]
	if !ok {
		i = int32(len(m.list))
		m.index[s] = i
		m.list, m.values = append(m.list, s), append(m.values, value{exported: neverExported})
	}
	return i
}

// port returns the index of a series of a port.
func (m *Meter) port(metric MetricID, at fabric.Port) int32 {
	i := &m.ports[at].series[metric]
	if *i < 0 {
		*i = m.series(Series{Metric: metric, Port: int(at), Peer: m.peer(at)})
	}
	return *i
}

func (m *Meter) peer(at fabric.Port) string { return m.scenario.PeerName(m.ends[at]) }
