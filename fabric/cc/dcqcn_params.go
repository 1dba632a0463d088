package cc

import (
	"errors"
	"fmt"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Tie says which of two clocks that are due at one instant goes first.
type Tie string

// Orders of ConnectX's cut clock and timer.
const (
	TieCut     Tie = "cut"     // the cut clock, so that a cut puts the timer off
	TieEarlier Tie = "earlier" // the clock that was set earlier, as events do in ns-3: the longer one
)

// DCQCNParams holds the settings of DCQCN's two end points. Its congestion point
// is RED in the switches.
type DCQCNParams struct {
	// Preset names the published settings that these were made from.
	Preset string
	// G is the weight of news in alpha, in (0, 1].
	G float64
	// Alpha is where alpha begins, in [0, 1].
	Alpha float64
	// AlphaTimer is K: alpha decays after so long without a CNP. Under a CutPeriod
	// it is the period of the alpha clock.
	AlphaTimer unit.Time
	// CutPeriod is 0 for the paper's reaction point, which cuts at every CNP; above
	// 0 the flow has ConnectX's, whose cut clock has that period.
	CutPeriod unit.Time
	// ClampTarget makes every cut of ConnectX take the rate as the target; else
	// only the first cut after an increase does. The paper's always does.
	ClampTarget bool
	// Tie says which goes first when ConnectX's cut clock and timer are due at one
	// instant.
	Tie Tie
	// Timer and ByteCounter are the cycles of the increase; ByteCounter 0 is none.
	// ConnectX has none.
	Timer       unit.Time
	ByteCounter unit.Bytes
	Threshold   int // F, the stage that ends fast recovery
	// AI and HAI are the steps of additive and hyper increase. If StepsPer is above 0,
	// they are for a link of that rate and grow with the link.
	AI, HAI, StepsPer unit.Rate
	MinRate           unit.Rate // floor of a cut, 0 is none
	// CNPInterval is the least time between CNPs for one flow, CNPGap between any
	// two of a port; 0 is no limit.
	CNPInterval, CNPGap unit.Time
	// CNPClocked lets the interval run on from the flow's first packet, and a CNP
	// wait for its end; else a mark after an interval without one is answered at
	// once.
	CNPClocked bool
}

// DCQCNPresets are the published settings by name, the default first.
//
// paper is that of SIGCOMM'15, which the comparisons in later papers mean when they
// say DCQCN. connectx is what the firmware of ConnectX NICs comes with (an mlxconfig
// dump, and NVIDIA's "DCQCN CC Parameters"); its increase is 5 and 50 Mbit/s
// whatever the link. ns3-rdma is the authors' simulator (bobzhuyb/ns3-rdma): its
// sample mix/config.txt, and what that leaves out by the class's own defaults. The
// simulations of PCN are built on it. dcqcn_paper is what the HPCC simulator takes for
// the paper's DCQCN (run.py --cc dcqcn_paper): the reaction point of rdma-hw.cc, whose
// cuts are as far apart as the paper's CNPs, and a CNP in each ACK of a marked packet.
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

// steps gives the steps of additive and hyper increase on a link of rate line, in
// bits per second.
func (p *DCQCNParams) steps(line unit.Rate) (ai, hai float64) {
	if p.StepsPer == 0 {
		return float64(p.AI), float64(p.HAI)
	}
	grown := float64(line) / float64(p.StepsPer)
	return float64(float64(p.AI) * grown), float64(float64(p.HAI) * grown)
}

// DefaultDCQCN gives the paper's settings.
func DefaultDCQCN() DCQCNParams { return DCQCNPresets[0] }

// Validate names everything that DCQCN cannot work with, nil if there is nothing.
func (p DCQCNParams) Validate() error {
	var errs []error
	want := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("dcqcn: "+format, args...))
		}
	}
	want(0 < p.G && p.G <= 1, "g %v, want 0 < g <= 1", p.G)
	want(0 <= p.Alpha && p.Alpha <= 1, "alpha %v, want 0 to 1", p.Alpha)
	want(p.AlphaTimer > 0 && p.Timer > 0, "timers %s and %s, want more than 0", p.AlphaTimer, p.Timer)
	want(p.CutPeriod >= 0 && p.CNPInterval >= 0 && p.CNPGap >= 0, "a period is below 0")
	want(p.Tie == TieCut || p.Tie == TieEarlier, "tie %q, want %s or %s", p.Tie, TieCut, TieEarlier)
	want(p.ByteCounter >= 0, "byte counter %s is below 0", p.ByteCounter)
	want(p.Threshold > 0, "threshold %d, want at least 1", p.Threshold)
	want(p.AI >= 0 && p.HAI >= 0 && p.StepsPer >= 0 && p.MinRate >= 0, "a rate is below 0")
	return errors.Join(errs...)
}
