package measure

import (
	"cmp"
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Reaction follows one flow through an episode of congestion, packet by packet: the
// first packet that was marked, and the packets at which the sender slows down, reaches
// its lowest rate and has recovered. It needs the notes of every frame.
type Reaction struct {
	flow  fabric.FlowID
	rate  unit.Rate // initial rate of the flow
	notes []fabric.Note
}

// ReactionPacket is one data packet. Instants are in picoseconds.
type ReactionPacket struct {
	// Number counts from the first marked packet, which is 1. Earlier packets have 0
	// and less.
	Number   int       `json:"number"`
	PSN      uint32    `json:"psn"`
	Sent     unit.Time `json:"sent_ps"`     // start of transmission
	Received unit.Time `json:"received_ps"` // arrival at the receiver; Never if it did not arrive
	Rate     unit.Rate `json:"rate_bps"`    // of the sender at Sent
	Marked   bool      `json:"marked"`
}

// ReactionResult describes the episode. A packet number of 0 means that the run has no
// such packet.
type ReactionResult struct {
	Packets []ReactionPacket `json:"packets"`
	Rates   []RateStep       `json:"rates"` // of the sender, including its initial rate
	// SlowDown is the first packet sent below the rate before the episode.
	SlowDown int `json:"slow_down"`
	// Lowest is the first packet at the lowest rate of the episode, LowestRate.
	Lowest     int       `json:"lowest"`
	LowestRate unit.Rate `json:"lowest_rate_bps"`
	// Clear is the first unmarked packet after the last marked one.
	Clear int `json:"clear"`
	// Recovered is the first packet after Lowest at or above RecoveredShare times the earlier
	// rate.
	Recovered int `json:"recovered"`
	// Notice is the time from the arrival of packet 1 at the receiver until the sender
	// learns of the congestion. End is the time from the arrival of packet Clear until
	// the sender learns that it may speed up. Both are Never if the sender does not
	// learn it.
	Notice unit.Time `json:"notice_ps"`
	End    unit.Time `json:"end_ps"`
	// Cuts counts the rate decreases in the episode.
	Cuts int `json:"cuts"`
}

// RecoveredShare is the share of the rate before the episode from which on a sender counts as
// recovered.
const RecoveredShare = 0.95

// ReactionKinds are the kinds of notes that Reaction needs.
var ReactionKinds = []fabric.Kind{
	fabric.Transmitted, fabric.Marked, fabric.Received, fabric.RateChanged, fabric.NotificationIn, fabric.IndicationIn,
}

// NewReaction returns a Reaction for the flow with that index.
func NewReaction(s *topology.Scenario, flow int) *Reaction {
	return &Reaction{flow: fabric.FlowID(flow), rate: initialRate(s, s.Flows[flow])}
}

// Observe adds the notes of one node, which must be in order. The nodes may come in any
// order.
func (r *Reaction) Observe(notes []fabric.Note) {
	for i := range notes {
		if notes[i].Flow == r.flow {
			r.notes = append(r.notes, notes[i])
		}
	}
}

// Result completes the measurement and returns the episode.
func (r *Reaction) Result() ReactionResult {
	slices.SortStableFunc(r.notes, func(a, b fabric.Note) int { return cmp.Compare(a.At, b.At) })
	e := episode{before: r.rate, rate: r.rate, at: map[uint32]int{}}
	e.Rates = []RateStep{{0, r.rate}}
	e.Notice, e.End = unit.Never, unit.Never
	for i := range r.notes {
		e.note(&r.notes[i])
	}
	e.number()
	e.close(r.notes)
	return e.ReactionResult
}

// episode builds a ReactionResult from notes in time order.
type episode struct {
	ReactionResult
	before, rate unit.Rate
	at           map[uint32]int // index of the packet with a PSN
}

func (e *episode) note(n *fabric.Note) {
	switch n.Kind {
	case fabric.RateChanged:
		e.rate = n.Rate()
		e.Rates = append(e.Rates, RateStep{n.At, e.rate})
	case fabric.Transmitted:
		e.at[n.PSN()] = len(e.Packets)
		e.Packets = append(e.Packets, ReactionPacket{PSN: n.PSN(), Sent: n.At, Received: unit.Never, Rate: e.rate})
	case fabric.Marked:
		e.packet(int64(n.PSN())).Marked = true
	case fabric.Received:
		e.packet(int64(n.PSN())).Received = n.At
	default:
	}
}

// packet returns the latest packet with the PSN, or an unused packet if there is none.
func (e *episode) packet(psn int64) *ReactionPacket {
	if i, ok := e.at[uint32(psn)]; ok {
		return &e.Packets[i]
	}
	return new(ReactionPacket)
}

// number numbers the packets from the first marked one. Without one all numbers stay 0.
func (e *episode) number() {
	first := slices.IndexFunc(e.Packets, func(p ReactionPacket) bool { return p.Marked })
	for i := range e.Packets {
		if first >= 0 {
			e.Packets[i].Number = i - first + 1
		}
	}
}

// close finds the packets and spans of the episode.
func (e *episode) close(notes []fabric.Note) {
	lowest := e.before
	for _, p := range e.Packets {
		if p.Number < 1 {
			e.before, lowest = p.Rate, p.Rate
			continue
		}
		switch {
		case p.Rate < lowest:
			lowest, e.Lowest, e.LowestRate, e.Recovered = p.Rate, p.Number, p.Rate, 0
			if e.SlowDown == 0 {
				e.SlowDown = p.Number
			}
		case e.Lowest > 0 && e.Recovered == 0 && float64(p.Rate) >= RecoveredShare*float64(e.before):
			e.Recovered = p.Number
		}
		if p.Marked {
			e.Clear = p.Number + 1
		}
	}
	if e.Clear > 0 && e.Clear > e.Packets[len(e.Packets)-1].Number {
		e.Clear = 0
	}
	e.spans(notes)
}

// spans measures the delay of the congestion signals, and counts the cuts.
func (e *episode) spans(notes []fabric.Note) {
	begun, over := e.arrival(1), e.arrival(e.Clear)
	for _, n := range notes {
		congested := (n.Kind == fabric.NotificationIn || n.Kind == fabric.IndicationIn) && n.Congested()
		clear := n.Kind == fabric.IndicationIn && !n.Congested() || n.Kind == fabric.RateChanged && n.Rate() > n.OldRate()
		switch {
		case congested && n.At >= begun && e.Notice == unit.Never:
			e.Notice = n.At - begun
		case clear && n.At >= over && e.End == unit.Never:
			e.End = n.At - over
		case n.Kind == fabric.RateChanged && n.Rate() < n.OldRate() && n.At >= begun:
			e.Cuts++
		}
	}
}

// arrival returns the arrival time of the packet with that number, or Never.
func (e *episode) arrival(number int) unit.Time {
	for _, p := range e.Packets {
		if p.Number == number && number > 0 {
			return p.Received
		}
	}
	return unit.Never
}

// initialRate returns the rate at which a flow starts: its own, or that of its sender's
// link.
func initialRate(s *topology.Scenario, f topology.Flow) unit.Rate {
	if f.Initial != 0 {
		return f.Initial
	}
	i := slices.IndexFunc(s.Links, func(l topology.Link) bool { return l.A == f.From || l.B == f.From })
	return s.Links[i].Rate
}
