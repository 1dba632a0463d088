package cc

import "github.com/rackfab/rackfab/fabric/unit"

// QCNParams holds the settings of QCN's reaction point, IEEE 802.1Qau (now
// 802.1Q clauses 30 to 33). Its congestion point is in the switches.
type QCNParams struct {
	Preset string // name of the published settings that these were derived from
	// GD times the quantised feedback, 1 to 63, is the share of the rate that
	// is cut.
	GD float64
	// MaxCut bounds that share, in (0, 1).
	MaxCut float64
	// Timer and ByteCounter are the cycles of the increase. They are half as
	// long after fast recovery.
	Timer       unit.Time
	ByteCounter unit.Bytes
	Threshold   int // first cycle after fast recovery
	AI, HAI     unit.Rate
	MinRate     unit.Rate // floor of a cut, 0 for no floor
}

// QCNPresets are the published settings by name, the default first.
//
// 802.1Qau holds the defaults of the standard's managed objects
// (IEEE8021-CN-MIB, ieee8021CnRpgTable). ns3-rdma holds those of the class in
// bobzhuyb/ns3-rdma that DCQCN took over from QCN, on which the simulations of
// PCN are built: its timer is ten times as fast.
var QCNPresets = []QCNParams{
	{
		Preset:      "802.1Qau",
		GD:          1.0 / 128,               // rpgGd 7: 2^-7
		MaxCut:      0.5,                     // rpgMinDecFac
		Timer:       15 * unit.Millisecond,   // rpgTimeReset
		ByteCounter: 150 * unit.Kilobyte,     // rpgByteReset
		Threshold:   5,                       // rpgThreshold
		AI:          5 * unit.MegabitPerSec,  // rpgAiRate
		HAI:         50 * unit.MegabitPerSec, // rpgHaiRate
		MinRate:     5 * unit.MegabitPerSec,  // rpgMinRate
	},
	{
		Preset: "ns3-rdma", GD: 1.0 / 128, MaxCut: 0.5,
		Timer: 1500 * unit.Microsecond, ByteCounter: 150 * unit.Kilobyte, Threshold: 5,
		AI: 5 * unit.MegabitPerSec, HAI: 50 * unit.MegabitPerSec, MinRate: 100 * unit.MegabitPerSec,
	},
}

// DefaultQCN returns the standard's settings.
func DefaultQCN() QCNParams { return QCNPresets[0] }

// Validate returns all invalid settings as one error, or nil.
func (p QCNParams) Validate() error {
	c := checks{scheme: "qcn"}
	c.want(0 < p.GD && p.GD <= 1, "gd %v, want 0 < gd <= 1", p.GD)
	c.want(0 < p.MaxCut && p.MaxCut < 1, "max_cut %v, want more than 0 and less than 1", p.MaxCut)
	c.want(p.Timer > 0, "timer %s, want more than 0", p.Timer)
	c.want(p.ByteCounter >= 0, "byte_counter %s, want 0 or more", p.ByteCounter)
	c.want(p.Threshold > 0, "threshold %d, want at least 1", p.Threshold)
	c.want(p.AI >= 0 && p.HAI >= 0 && p.MinRate >= 0, "ai_rate %s, hai_rate %s and min_rate %s, want 0 or more", p.AI, p.HAI, p.MinRate)
	return c.err()
}

// QCN is the reaction point of one flow (IEEE 802.1Qau clause 32). A congestion
// notification message (CNM) carries the quantised feedback Fb:
//
//	target := rate, unless no cycle has ended since the latest CNM
//	rate := rate·(1 - Gd·Fb), cut by no more than MaxCut
//
// The rate increases again as described at increase. The counters do not run
// until the flow's first CNM.
type QCN struct {
	increase
	gd, maxCut float64
}

// NewQCN returns the reaction point of a flow on a link of rate line that
// begins at initial, in (0, line]. p must be valid.
func NewQCN(p QCNParams, line, initial unit.Rate) *QCN {
	return &QCN{
		increase: newIncrease(stages{
			bytes: p.ByteCounter, timer: p.Timer, threshold: p.Threshold,
			ai: float64(p.AI), hai: float64(p.HAI), halve: true, shrink: true,
		}, newPace(line, initial, p.MinRate)),
		gd: p.GD, maxCut: p.MaxCut,
	}
}

// Handle reacts to CNMs and counts the bytes sent.
func (c *QCN) Handle(now unit.Time, s Signal) {
	switch s.Kind {
	case CNM:
		c.cut(now, s.Feedback)
	case Sent:
		c.sent(s.Bytes)
	default:
	}
}

// cut applies feedback from 1 to 63 and ignores 0.
func (c *QCN) cut(now unit.Time, feedback uint8) {
	if feedback == 0 {
		return
	}
	if c.due == unit.Never || c.byteStage > 0 || c.timeStage > 0 {
		c.target = c.rate
	}
	share := min(float64(c.gd*float64(feedback)), c.maxCut)
	c.lower(c.rate * (1 - share))
	c.restart(now)
}
