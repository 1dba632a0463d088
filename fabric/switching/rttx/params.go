package rttx

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Key says which fields make the FlowKey.
type Key string

// Forms of the FlowKey, [0025] and [0048]. The PSN, which changes with every
// packet, is in none.
const (
	KeyFiveTuple Key = "five-tuple" // addresses, ports, protocol
	KeyQueuePair Key = "queue-pair" // addresses, UDP ports, QPN: preferred by [0048]
)

// Match says how a return packet finds the flow that it belongs to.
type Match string

// Matches. RoCEv2 has the same UDP destination port in both directions, and the
// QPN of a return packet is the sender's, so that the rule of [0051] alone
// matches nothing.
const (
	MatchPairs  Match = "pairs"  // by the queue-pair table of the control plane
	MatchMirror Match = "mirror" // by swapping addresses and ports ([0051])
)

// Judge says what is a congestion event.
type Judge string

// Judges. A packet that carries CE, or that the switch's own marking law would
// mark, is an event for each ([0044], [0027]); all but JudgeCE also hold a figure
// of the switch against a threshold ([0045]). All is judged when the packet comes in.
const (
	JudgeCE        Judge = "ce"
	JudgeQueue     Judge = "queue"     // length of the egress queue that it finds
	JudgeDelay     Judge = "delay"     // how long it has to wait for that queue at line rate
	JudgeOccupancy Judge = "occupancy" // shared buffer in use, its own place included
)

// Way says how the increment follows from a flow's marks.
type Way string

// Ways, [0054] to [0057]. They have laws of the level of their own: the first
// three step it with each packet, the fourth sets it at the end of a window.
const (
	WayFixed         Way = "fixed"         // D
	WayGraded        Way = "graded"        // f(level) D
	WayProbabilistic Way = "probabilistic" // max(P_max, f(level)) D
	WayTable         Way = "table"         // T(P_e / P), table 1
)

// Bound says how P_max bounds the increment of WayProbabilistic.
type Bound string

// Bounds: a floor as [0056] writes it, or the cap that a maximum probability
// would be.
const (
	BoundMax Bound = "max"
	BoundMin Bound = "min"
)

// Stamp says which timestamp of a return packet is rewritten.
type Stamp string

// Timestamps, [0067]: one is put forward, the other back.
const (
	StampReceived Stamp = "tr" // T_r, preferred by [0068]
	StampSent     Stamp = "ts" // T_s, for a sender that knows its own clock alone
)

// Clear says what becomes of CE when it has been counted.
type Clear string

// Clears. The field is "reset to 0" by [0050]: literally Not-ECT, which later
// switches do not mark.
const (
	ClearNotECT Clear = "not-ect"
	ClearECT0   Clear = "ect0"
)

// Limits of the parameters: the counters of a flow have a byte each.
const (
	MaxWindow = 255
	MaxLevels = 255
	// MaxTable bounds the flow table, in flows.
	MaxTable = 1 << 20
	// TableLevels is N of WayTable: five levels, 0 among them ([0066]).
	TableLevels = 4
)

// Params are the settings of a converter.
type Params struct {
	Key     Key
	KeyBits int // width of the FlowKey, 1 to 64
	Match   Match
	Table   int       // flows that the table holds
	Age     unit.Time // silence after which a flow counts as not congested

	Judge     Judge
	Queue     unit.Bytes // JudgeQueue: an event from here on
	Delay     unit.Time  // JudgeDelay: the same
	Occupancy unit.Bytes // JudgeOccupancy: the same

	Window int // forward packets, 1 to MaxWindow
	Way    Way
	Levels int // N, the highest level
	PMax   float64
	Bound  Bound
	D      unit.Time // base increment; 0 is FormulaD

	Stamp Stamp
	Clear Clear
}

// Default gives the published settings. Age has none: it follows from the rack.
func Default() Params {
	return Params{
		Key: KeyQueuePair, // [0048]
		// As wide as the hash units of programmable switches are.
		KeyBits: 32,
		Match:   MatchPairs,
		Table:   4096,

		Judge:     JudgeCE,              // [0044]
		Queue:     5 * unit.Kilobyte,    // K_min of DCQCN, SIGCOMM'15
		Delay:     1 * unit.Microsecond, // the same queue at 40 Gbit/s
		Occupancy: 100 * unit.Kilobyte,  // the same queue at each of 20 ports

		Window: 8,        // [0049]
		Way:    WayTable, // [0060]
		Levels: TableLevels,
		Bound:  BoundMax,             // [0056]
		D:      2 * unit.Microsecond, // [0065]

		Stamp: StampReceived, // [0068]
		Clear: ClearNotECT,   // [0050]
	}
}

// Validate names everything that a converter cannot work with, nil if there is
// nothing.
func (p *Params) Validate() error {
	return errors.Join(
		oneOf("key", p.Key, KeyFiveTuple, KeyQueuePair),
		oneOf("match", p.Match, MatchPairs, MatchMirror),
		oneOf("judge", p.Judge, JudgeCE, JudgeQueue, JudgeDelay, JudgeOccupancy),
		oneOf("way", p.Way, WayFixed, WayGraded, WayProbabilistic, WayTable),
		oneOf("bound", p.Bound, BoundMax, BoundMin),
		oneOf("stamp", p.Stamp, StampReceived, StampSent),
		oneOf("clear", p.Clear, ClearNotECT, ClearECT0),
		want(1 <= p.KeyBits && p.KeyBits <= 64, "key of %d bits, want 1 to 64", p.KeyBits),
		want(1 <= p.Table && p.Table <= MaxTable, "table of %d flows, want 1 to %d", p.Table, MaxTable),
		want(p.Age > 0, "age %v, want more than 0", p.Age),
		want(p.Queue >= 0 && p.Delay >= 0 && p.Occupancy >= 0, "a threshold is below 0"),
		want(1 <= p.Window && p.Window <= MaxWindow, "window of %d packets, want 1 to %d", p.Window, MaxWindow),
		want(1 <= p.Levels && p.Levels <= MaxLevels, "%d levels, want 1 to %d", p.Levels, MaxLevels),
		want(p.Way != WayTable || p.Levels == TableLevels, "way %s with %d levels, want %d", p.Way, p.Levels, TableLevels),
		want(0 <= p.PMax && p.PMax <= 1, "P_max %v, want 0 to 1", p.PMax),
		want(0 <= p.D && p.D <= MaxD, "D %v, want at most %v", p.D, MaxD),
		want(p.Match != MatchMirror || p.Key == KeyFiveTuple,
			"match %s with key %s, want key %s: a return packet has the QPN of the other end", p.Match, p.Key, KeyFiveTuple),
	)
}

// want gives an error unless ok.
func want(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}

func oneOf[T ~string](what string, value T, allowed ...T) error {
	return want(slices.Contains(allowed, value), "%s %q, want one of %v", what, value, allowed)
}
