package telemetry

import (
	"cmp"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// observe adds one note to the open span.
func (m *Meter) observe(n *fabric.Note) {
	switch n.Kind {
	case fabric.Delivered:
		m.add(m.delivers(n), int64(n.Bytes()))
	case fabric.QueueSampled:
		m.set(m.port(PortQueueMax, n.Port), int64(n.Peak()))
		m.set(m.port(PortQueue, n.Port), int64(n.Queue()))
	case fabric.PortSampled:
		m.add(m.port(PortSent, n.Port), int64(n.Bytes()))
		if n.Marks() > 0 {
			m.add(m.port(PortMarks, n.Port), int64(n.Marks()))
		}
	case fabric.PauseSent:
		m.add(m.port(PortPauses, n.Port), 1)
	case fabric.Paused, fabric.Resumed:
		if m.ports[n.Port].clock.Observe(n) {
			m.paused(n.Port, n.At)
		}
	case fabric.Trimmed:
		m.add(m.port(PortTrims, n.Port), 1)
	case fabric.Replayed:
		m.add(m.port(PortReplayed, n.Port), n.Packets())
	case fabric.Dropped, fabric.Erred:
		reason := n.Reason().String()
		m.add(m.series(Series{Metric: PortDrops, Port: int(n.Port), Peer: m.peer(n.Port), Reason: reason}), 1)
	case fabric.SentSampled:
		if n.Flow < topology.FirstConnection {
			m.add(m.flow(FlowSent, n.Flow), int64(n.Bytes()))
		}
	case fabric.FlowStarted, fabric.RateChanged, fabric.Completed, fabric.FlowStopped:
		m.rate(n)
	case fabric.CreditSampled:
		m.add(m.credit(CreditGranted, n.Flow), int64(n.Bytes()))
	case fabric.CreditWasted:
		m.add(m.credit(CreditWasted, n.Flow), int64(n.Bytes()))
	case fabric.TokensSampled:
		m.tokens(n)
	case fabric.StallSampled:
		m.add(m.series(Series{Metric: TokensStalled, Port: -1, Direction: n.Direction().String()}), int64(n.Duration()))
	default:
	}
}

// paused counts how long a port has been paused until now.
func (m *Meter) paused(at fabric.Port, now unit.Time) {
	p := &m.ports[at]
	if total := p.clock.Total(now); total > p.counted {
		m.add(m.port(PortPaused, at), int64(total-p.counted))
		p.counted = total
	}
}

// flow returns the index of a series of a flow. A flow of a burst counts in the series
// of its burst.
func (m *Meter) flow(metric MetricID, flow fabric.FlowID) int32 {
	return m.series(Series{Metric: metric, Port: -1, Flow: m.scenario.Series(int(flow))})
}

// delivers returns the index of the series in which a Delivered note counts. Data moved
// by a command counts under the command's name.
func (m *Meter) delivers(n *fabric.Note) int32 {
	if n.Flow < topology.FirstConnection {
		at := int(n.Flow)
		if listed := len(m.scenario.Flows); at >= listed {
			at = listed + m.scenario.BurstOf(at)
		}
		if missing := at + 1 - len(m.flows); missing > 0 {
			m.flows = append(m.flows, make([]int32, missing)...)
		}
		if m.flows[at] == 0 {
			m.flows[at] = m.flow(FlowDelivered, n.Flow) + 1
		}
		return m.flows[at] - 1
	}
	command := topology.CommandOf(m.streams, uint32(n.Trace))
	return m.series(Series{Metric: FlowDelivered, Port: -1, Flow: m.scenario.Commands[command].Name})
}

// rate tracks the CC rate limit of a flow, which is 0 before its start and after its
// end.
func (m *Meter) rate(n *fabric.Note) {
	was, active := m.rates[n.Flow]
	if n.Flow >= topology.FirstConnection || !active && n.Kind != fabric.FlowStarted {
		return
	}
	var is unit.Rate
	switch n.Kind {
	case fabric.FlowStarted:
		is = cmp.Or(m.scenario.Flow(int(n.Flow)).Initial, m.scenario.Links[m.ends[0].Link].Rate)
		m.rates[n.Flow] = is
	case fabric.RateChanged:
		is = n.Rate()
		m.rates[n.Flow] = is
	default:
		delete(m.rates, n.Flow)
	}
	i := m.flow(FlowRate, n.Flow)
	m.sums[i] += int64(is - was)
	m.set(i, m.sums[i])
}

// credit returns the index of a series of the pair of hosts of a flow.
func (m *Meter) credit(metric MetricID, flow fabric.FlowID) int32 {
	f := m.scenario.Flow(int(flow))
	peer := f.From
	if peer == m.node {
		peer = f.To
	}
	return m.series(Series{Metric: metric, Port: -1, Peer: m.scenario.Nodes[peer].Name})
}

// tokens records the level of a head bucket of the NIC. The bucket starts full.
func (m *Meter) tokens(n *fabric.Note) {
	s := Series{Metric: Tokens, Port: -1, Direction: n.Direction().String()}
	_, known := m.index[s]
	i := m.series(s)
	if !known && n.At >= m.sampling.Every {
		set := &m.scenario.Nodes[m.node].NIC.Engine
		depth := set.OutBurst
		if n.Direction() == fabric.DirectionIn {
			depth = set.Burst
		}
		m.points = append(m.points, Point{At: m.sampling.Every - 1, Value: int64(depth), Series: i})
	}
	m.set(i, int64(n.Bytes()))
}
