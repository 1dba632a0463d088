package measure

import (
	"math"
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/routes"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Signals measures when the flows of a run meet congestion, and whether two congestion
// signals agree. It needs the notes of every frame (RTTX-59, RTTX-60).
type Signals struct {
	// Since is the instant from which events count. Earlier marks do not belong to the
	// reaction to a burst.
	Since unit.Time
	s     *topology.Scenario
	flows []FlowSignals
	state []signalState
}

// FlowSignals describes the reaction of one flow's sender to congestion. Instants and
// durations are in picoseconds.
type FlowSignals struct {
	Flow    string    `json:"flow"`
	BaseRTT unit.Time `json:"base_rtt_ps"`
	// Event is the first instant from Since on at which a switch marked a packet of the
	// flow, or counted it as one to be marked. It is Never without such a packet.
	Event unit.Time `json:"event_ps"`
	// CNPCuts and RTTCuts count the rate decreases: upon a CNP, and all others.
	CNPCuts int `json:"cnp_cuts"`
	RTTCuts int `json:"rtt_cuts"`
	// Against counts the cuts upon a CNP within a base RTT after another signal raised
	// the rate. Alone counts the other cuts without a CNP within a base RTT. For a
	// sender with both signals the other signal is the RTT.
	Against int `json:"against"`
	Alone   int `json:"alone"`
	// Twice counts the cuts that follow a cut by the other signal within a base RTT:
	// one congestion phase, cut twice.
	Twice int `json:"twice"`
	// Steps are the rate changes, in order.
	Steps []RateStep `json:"-"`
}

// Add adds the cuts and conflicts of another flow to f.
func (f *FlowSignals) Add(other *FlowSignals) {
	f.CNPCuts += other.CNPCuts
	f.RTTCuts += other.RTTCuts
	f.Against += other.Against
	f.Alone += other.Alone
	f.Twice += other.Twice
}

// RateStep is a change of a sender's rate.
type RateStep struct {
	At   unit.Time `json:"at_ps"`
	Rate unit.Rate `json:"rate_bps"`
}

// FirstBelow returns the first instant at which a sender is slower than the other, or
// Never. Both start at the same rate. Steps are in order.
func FirstBelow(steps, other []RateStep) unit.Time {
	var rate, against unit.Rate = math.MaxInt64, math.MaxInt64
	for i, k := 0, 0; i < len(steps) || k < len(other); {
		at := unit.Never
		if i < len(steps) {
			at = steps[i].At
		}
		if k < len(other) {
			at = min(at, other[k].At)
		}
		for ; i < len(steps) && steps[i].At == at; i++ {
			rate = steps[i].Rate
		}
		for ; k < len(other) && other[k].At == at; k++ {
			against = other[k].Rate
		}
		if rate < against {
			return at
		}
	}
	return unit.Never
}

// signalState is the state of a flow until the end of the run.
type signalState struct {
	alone  []unit.Time // cuts by the RTT
	cnps   []unit.Time // received CNPs
	raised unit.Time   // latest increase by the RTT
	latest [2]unit.Time
}

// Signals that cut a rate.
const (
	byRTT = iota
	byCNP
)

// longAgo lies before the start of the run by more than any RTT.
const longAgo = -unit.Never / 2

// SignalKinds are the kinds of notes that Signals needs.
var SignalKinds = []fabric.Kind{fabric.Marked, fabric.EventCounted, fabric.NotificationIn, fabric.RateChanged}

// NewSignals returns a Signals for a run of the scenario.
func NewSignals(s *topology.Scenario) *Signals {
	m := &Signals{s: s, flows: make([]FlowSignals, len(s.Flows)), state: make([]signalState, len(s.Flows))}
	for i, rtt := range routes.BaseRTTs(s) {
		m.flows[i] = FlowSignals{Flow: s.Flows[i].Name, BaseRTT: rtt, Event: unit.Never}
		m.state[i] = signalState{raised: longAgo, latest: [2]unit.Time{longAgo, longAgo}}
	}
	return m
}

// Observe adds the notes of one node, which must be in order. The nodes may come in any
// order.
func (m *Signals) Observe(notes []fabric.Note) {
	for i := range notes {
		n := &notes[i]
		if int(n.Flow) >= len(m.flows) {
			continue
		}
		f, state := &m.flows[n.Flow], &m.state[n.Flow]
		switch n.Kind {
		case fabric.Marked, fabric.EventCounted:
			if n.At >= m.Since {
				f.Event = min(f.Event, n.At)
			}
		case fabric.NotificationIn:
			state.cnps = append(state.cnps, n.At)
		case fabric.RateChanged:
			f.Steps = append(f.Steps, RateStep{n.At, n.Rate()})
			f.moved(state, n.At, n.Rate() < n.OldRate())
		default:
		}
	}
}

// moved records a rate change. A change at the instant of a CNP is due to the CNP.
func (f *FlowSignals) moved(state *signalState, at unit.Time, cut bool) {
	by := byRTT
	if k := len(state.cnps); k > 0 && state.cnps[k-1] == at {
		by = byCNP
	}
	switch {
	case !cut:
		if by == byRTT {
			state.raised = at
		}
		return
	case by == byCNP:
		f.CNPCuts++
		if at-state.raised <= f.BaseRTT {
			f.Against++
		}
	default:
		f.RTTCuts++
		state.alone = append(state.alone, at)
	}
	state.latest[by] = at
	if at-state.latest[1-by] <= f.BaseRTT {
		f.Twice++
		state.latest[1-by] = longAgo // each cut is at most once the second of a phase
	}
}

// Result completes the measurement and returns one entry per flow.
func (m *Signals) Result() []FlowSignals {
	for i := range m.flows {
		f, state := &m.flows[i], &m.state[i]
		for _, at := range state.alone {
			if k, _ := slices.BinarySearch(state.cnps, at-f.BaseRTT); k == len(state.cnps) || state.cnps[k] > at+f.BaseRTT {
				f.Alone++
			}
		}
	}
	return m.flows
}
