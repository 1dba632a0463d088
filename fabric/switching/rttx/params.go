package rttx

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Key selects the fields of the FlowKey.
type Key string

// Forms of the FlowKey, [0025] and [0048]. No form includes the PSN, which changes
// with every packet.
const (
	KeyFiveTuple Key = "five-tuple" // addresses, ports, protocol
	KeyQueuePair Key = "queue-pair" // addresses, UDP ports, QPN: preferred by [0048]
)

// Match is the method of finding the flow of a return packet.
type Match string

// Matches. RoCEv2 uses the same UDP destination port in both directions, and the
// QPN of a return packet is the sender's. The rule of [0051] alone therefore
// matches nothing.
const (
	MatchPairs  Match = "pairs"  // by the queue-pair table of the control plane
	MatchMirror Match = "mirror" // by swapping addresses and ports ([0051])
)

// Judge is the criterion for congestion events.
type Judge string

// Judges. For each of them, a packet is an event if it carries CE or if the marking
// law of the switch would mark it ([0044], [0027]). All but JudgeCE also compare a
// measurement of the switch with a threshold ([0045]). The switch judges a packet on
// arrival.
const (
	JudgeCE        Judge = "ce"
	JudgeQueue     Judge = "queue"     // length of the egress queue on arrival
	JudgeDelay     Judge = "delay"     // expected delay of that queue at line rate
	JudgeOccupancy Judge = "occupancy" // shared buffer in use, including the packet
)

// Way is the method of deriving the increment from a flow's marks.
type Way string

// Ways, [0054] to [0057]. They differ in the law of the level: the first three update
// it with each packet, the fourth at the end of a window.
const (
	WayFixed         Way = "fixed"         // D
	WayGraded        Way = "graded"        // f(level) D
	WayProbabilistic Way = "probabilistic" // max(P_max, f(level)) D
	WayTable         Way = "table"         // T(P_e / P), table 1
)

// Bound selects how P_max bounds the increment of WayProbabilistic.
type Bound string

// Bounds: a floor as in [0056], or a cap as the name of a maximum probability
// suggests.
const (
	BoundMax Bound = "max"
	BoundMin Bound = "min"
)

// Stamp selects the timestamp of a return packet to rewrite.
type Stamp string

// Timestamps, [0067]: T_r is advanced, T_s is set back.
const (
	StampReceived Stamp = "tr" // T_r, preferred by [0068]
	StampSent     Stamp = "ts" // T_s, for a sender that knows only its own clock
)

// Clear selects the ECN field of a packet after its CE has been counted.
type Clear string

// Clears. [0050] says "reset to 0": literally Not-ECT, which later switches do not
// mark.
const (
	ClearNotECT Clear = "not-ect"
	ClearECT0   Clear = "ect0"
)

// Limits of the parameters: each counter of a flow has one byte.
const (
	MaxWindow = 255
	MaxLevels = 255
	// MaxTable is the maximum size of the flow table, in flows.
	MaxTable = 1 << 20
	// TableLevels is N of WayTable: five levels including 0 ([0066]).
	TableLevels = 4
)

// Params are the parameters of a converter.
type Params struct {
	Key     Key
	KeyBits int // width of the FlowKey, 1 to 64
	Match   Match
	Table   int       // capacity of the flow table
	Age     unit.Time // silence after which a flow is taken as not congested

	Judge     Judge
	Queue     unit.Bytes // JudgeQueue: an event at this length and above
	Delay     unit.Time  // JudgeDelay: an event at this delay and above
	Occupancy unit.Bytes // JudgeOccupancy: an event at this occupancy and above

	Window int // forward packets, 1 to MaxWindow
	Way    Way
	Levels int // N, the highest level
	PMax   float64
	Bound  Bound
	D      unit.Time // base increment; 0 is FormulaD

	Stamp Stamp
	Clear Clear
}

// Default returns the published parameters. Age has no default: it depends on the
// rack.
func Default() Params {
	return Params{
		Key: KeyQueuePair, // [0048]
		// The width of the hash units of programmable switches.
		KeyBits: 32,
		Match:   MatchPairs,
		Table:   4096,

		Judge:     JudgeCE,              // [0044]
		Queue:     5 * unit.Kilobyte,    // K_min of DCQCN, SIGCOMM'15
		Delay:     1 * unit.Microsecond, // that queue at 40 Gbit/s
		Occupancy: 100 * unit.Kilobyte,  // that queue at each of 20 ports

		Window: 8,        // [0049]
		Way:    WayTable, // [0060]
		Levels: TableLevels,
		Bound:  BoundMax,             // [0056]
		D:      2 * unit.Microsecond, // [0065]

		Stamp: StampReceived, // [0068]
		Clear: ClearNotECT,   // [0050]
	}
}

// Validate reports all errors of the parameters at once, nil if they are valid.
func (p *Params) Validate() error {
	return errors.Join(
		oneOf("key", p.Key, KeyFiveTuple, KeyQueuePair),
		oneOf("match", p.Match, MatchPairs, MatchMirror),
		oneOf("judge", p.Judge, JudgeCE, JudgeQueue, JudgeDelay, JudgeOccupancy),
		oneOf("way", p.Way, WayFixed, WayGraded, WayProbabilistic, WayTable),
		oneOf("bound", p.Bound, BoundMax, BoundMin),
		oneOf("stamp", p.Stamp, StampReceived, StampSent),
		oneOf("clear", p.Clear, ClearNotECT, ClearECT0),
		want(1 <= p.KeyBits && p.KeyBits <= 64, "key_bits %d, want 1 to 64", p.KeyBits),
		want(1 <= p.Table && p.Table <= MaxTable, "table %d, want 1 to %d flows", p.Table, MaxTable),
		want(p.Age > 0, "age %v, want more than 0", p.Age),
		want(p.Queue >= 0 && p.Delay >= 0 && p.Occupancy >= 0, "queue %v, delay %v and occupancy %v, want 0 or more", p.Queue, p.Delay, p.Occupancy),
		want(1 <= p.Window && p.Window <= MaxWindow, "window %d, want 1 to %d packets", p.Window, MaxWindow),
		want(1 <= p.Levels && p.Levels <= MaxLevels, "levels %d, want 1 to %d", p.Levels, MaxLevels),
		want(p.Way != WayTable || p.Levels == TableLevels, "levels %[2]d with way %[1]s, want %[3]d", p.Way, p.Levels, TableLevels),
		want(0 <= p.PMax && p.PMax <= 1, "P_max %v, want 0 to 1", p.PMax),
		want(0 <= p.D && p.D <= MaxD, "D %v, want at most %v", p.D, MaxD),
		want(p.Match != MatchMirror || p.Key == KeyFiveTuple,
			"match %s with key %s, want key %s: a return packet carries the other end's QPN", p.Match, p.Key, KeyFiveTuple),
	)
}

// want returns an error unless ok.
func want(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}

func oneOf[T ~string](what string, value T, allowed ...T) error {
	return want(slices.Contains(allowed, value), "%s %q, want one of %v", what, value, allowed)
}
