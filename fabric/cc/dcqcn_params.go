package cc

import "github.com/rackfab/rackfab/fabric/unit"

// Tie selects which of two clocks runs first if both are due at the same
// instant.
type Tie string

// Orders of ConnectX's cut clock and timer.
const (
	TieCut     Tie = "cut"     // the cut clock first, so that a cut postpones the timer
	TieEarlier Tie = "earlier" // the clock that was set earlier, as ns-3 orders events: the one with the longer period
)

// DCQCNParams holds the settings of DCQCN's reaction and notification points.
// Its congestion point is RED in the switches.
type DCQCNParams struct {
	// Preset is the name of the published settings that these were derived
	// from.
	Preset string
	// G is the weight of a new observation in alpha, in (0, 1].
	G float64
	// Alpha is the initial alpha, in [0, 1].
	Alpha float64
	// AlphaTimer is K: alpha decays after this time without a CNP. With a
	// CutPeriod above 0 it is the period of the alpha clock.
	AlphaTimer unit.Time
	// CutPeriod selects the reaction point. 0 is the paper's, which cuts at
	// every CNP. Above 0 it is ConnectX's, and CutPeriod is the period of its
	// cut clock.
	CutPeriod unit.Time
	// ClampTarget makes every cut of ConnectX set the target to the rate;
	// otherwise only the first cut after an increase does. The paper's cuts
	// always do.
	ClampTarget bool
	// Tie selects which runs first if ConnectX's cut clock and timer are due at
	// the same instant.
	Tie Tie
	// Timer and ByteCounter are the cycles of the increase; a ByteCounter of 0
	// disables it. ConnectX has no byte counter.
	Timer       unit.Time
	ByteCounter unit.Bytes
	Threshold   int // F, the stage that ends fast recovery
	// AI and HAI are the steps of additive and hyper increase. If StepsPer is
	// above 0, they apply to a link of that rate and scale with the link's
	// rate.
	AI, HAI, StepsPer unit.Rate
	MinRate           unit.Rate // floor of a cut, 0 for no floor
	// CNPInterval is the minimum time between CNPs of one flow, CNPGap between
	// any two CNPs of a port; 0 means no limit.
	CNPInterval, CNPGap unit.Time
	// CNPClocked makes the interval run continuously from the flow's first
	// packet on, and delays a CNP to its end. Otherwise a mark after an
	// interval without marks triggers a CNP at once.
	CNPClocked bool
}

// DCQCNPresets are the published settings by name, the default first.
//
// paper is that of SIGCOMM'15, which later papers mean when they compare with
// DCQCN. connectx is the firmware default of ConnectX NICs (an mlxconfig dump,
// and NVIDIA's "DCQCN CC Parameters"); its increase is 5 and 50 Mbit/s whatever
// the link. ns3-rdma is the authors' simulator (bobzhuyb/ns3-rdma): its sample
// mix/config.txt, completed by the defaults of its class. The simulations of
// PCN are built on it. dcqcn_paper is the HPCC simulator's version of the
// paper's DCQCN (run.py --cc dcqcn_paper). It uses the reaction point of
// rdma-hw.cc with cuts as far apart as the paper's CNPs, and a CNP in each ACK
// of a marked packet.
var DCQCNPresets = []DCQCNParams{
	{
		Preset: "paper", Tie: TieCut, G: 1.0 / 256, Alpha: 1,
		AlphaTimer: 55 * unit.Microsecond, Timer: 55 * unit.Microsecond, ByteCounter: 10 * unit.Megabyte,
		Threshold: 5, AI: 40 * unit.MegabitPerSec, HAI: 200 * unit.MegabitPerSec,
		MinRate: 100 * unit.MegabitPerSec, CNPInterval: 50 * unit.Microsecond,
	},
	{
		Preset: "connectx", Tie: TieCut, G: 5.0 / 1024, Alpha: 1023.0 / 1024,
		AlphaTimer: 1 * unit.Microsecond, CutPeriod: 4 * unit.Microsecond, Timer: 300 * unit.Microsecond,
		Threshold: 1, AI: 5 * unit.MegabitPerSec, HAI: 50 * unit.MegabitPerSec,
		MinRate: 1 * unit.MegabitPerSec, CNPInterval: 4 * unit.Microsecond,
	},
	{
		Preset: "ns3-rdma", Tie: TieCut, G: 1.0 / 256, Alpha: 0.5,
		AlphaTimer: 55 * unit.Microsecond, Timer: 60 * unit.Microsecond, ByteCounter: 300 * unit.Megabyte,
		Threshold: 5, AI: 40 * unit.MegabitPerSec, HAI: 200 * unit.MegabitPerSec,
		MinRate: 100 * unit.MegabitPerSec, CNPInterval: 50 * unit.Microsecond, CNPClocked: true,
	},
	{
		Preset: "dcqcn_paper", Tie: TieEarlier, G: 1.0 / 256, Alpha: 1,
		AlphaTimer: 50 * unit.Microsecond, CutPeriod: 50 * unit.Microsecond, Timer: 55 * unit.Microsecond,
		Threshold: 1, AI: 5 * unit.MegabitPerSec, HAI: 50 * unit.MegabitPerSec, StepsPer: 25 * unit.GigabitPerSec,
		MinRate: 1 * unit.GigabitPerSec,
	},
}

// steps returns the steps of additive and hyper increase on a link of rate
// line, in bits per second.
func (p *DCQCNParams) steps(line unit.Rate) (ai, hai float64) {
	if p.StepsPer == 0 {
		return float64(p.AI), float64(p.HAI)
	}
	grown := float64(line) / float64(p.StepsPer)
	return float64(float64(p.AI) * grown), float64(float64(p.HAI) * grown)
}

// DefaultDCQCN returns the paper's settings.
func DefaultDCQCN() DCQCNParams { return DCQCNPresets[0] }

// Validate returns all invalid settings as one error, or nil.
func (p DCQCNParams) Validate() error {
	c := checks{scheme: "dcqcn"}
	c.want(0 < p.G && p.G <= 1, "g %v, want 0 < g <= 1", p.G)
	c.want(0 <= p.Alpha && p.Alpha <= 1, "alpha %v, want 0 to 1", p.Alpha)
	c.want(p.AlphaTimer > 0 && p.Timer > 0, "alpha_timer %s and timer %s, want more than 0", p.AlphaTimer, p.Timer)
	c.want(p.CutPeriod >= 0 && p.CNPInterval >= 0 && p.CNPGap >= 0, "cut_period %s, cnp_interval %s and cnp_gap %s, want 0 or more", p.CutPeriod, p.CNPInterval, p.CNPGap)
	c.want(p.Tie == TieCut || p.Tie == TieEarlier, "tie %q, want %s or %s", p.Tie, TieCut, TieEarlier)
	c.want(p.ByteCounter >= 0, "byte_counter %s, want 0 or more", p.ByteCounter)
	c.want(p.Threshold > 0, "threshold %d, want at least 1", p.Threshold)
	c.want(p.AI >= 0 && p.HAI >= 0 && p.StepsPer >= 0 && p.MinRate >= 0, "ai_rate %s, hai_rate %s, steps_per %s and min_rate %s, want 0 or more", p.AI, p.HAI, p.StepsPer, p.MinRate)
	return c.err()
}
