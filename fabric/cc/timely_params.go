package cc

import "github.com/rackfab/rackfab/fabric/unit"

// TIMELYParams holds the settings of TIMELY.
type TIMELYParams struct {
	Preset string // name of the published settings that these were derived from
	// EWMA is a, the weight of a new sample in the gradient, in (0, 1].
	EWMA float64
	// Beta is b, the weight of a decrease, in (0, 1].
	Beta float64
	// MaxCut limits the share that a decrease takes, in (0, 1].
	MaxCut float64
	// TLow and THigh bound the range of RTTs in which the gradient decides.
	TLow, THigh unit.Time
	// MinRTT is the RTT by which the gradient is normalised.
	MinRTT unit.Time
	// Delta is the step of an increase. If DeltaPer is above 0, Delta applies
	// to a link of that rate and scales with the link's rate.
	Delta, DeltaPer unit.Rate
	// HyperAfter is the number of consecutive increases from which on a step is
	// HyperFactor times Delta; 0 means never. Increases below TLow count only
	// under HyperAlways.
	HyperAfter, HyperFactor int
	HyperAlways             bool
	// Segment is the payload whose completion is one sample of the RTT. Under
	// OncePerRTT a sample comes instead from the first ACK of a packet that was
	// sent after the latest sample, and the first sample does not change the
	// rate.
	Segment    unit.Bytes
	OncePerRTT bool
	// Burst sends a segment back to back and paces between segments; otherwise
	// each packet is paced.
	Burst   bool
	MinRate unit.Rate // floor of a decrease, 0 for no floor
}

// TIMELYPresets are the published settings by name, the default first.
//
// authors is the code that TIMELY's authors published, with messages of 64 KB.
// ns3-rdma is the simulation of Zhu, Ghobadi, Misra, Padhye, "ECN or Delay",
// CoNEXT'16 (bobzhuyb/ns3-rdma, branch timely), for links of 10 Gbit/s, with
// segments of 16 KB and no hyper increase. scaled is the HPCC simulator
// (rdma-hw.cc, UpdateRateTimely, and run.py), whose steps scale with the link's
// rate.
//
// rack is authors in its form for paced packets, where T_low is 0 and every ACK
// is a sample, with T_high within the range of RTTs in a rack (RTTX-55). Below
// T_low the rate rises whatever a switch adds to the RTT, and a T_high of 1 ms
// exceeds the delay of every queue that PFC allows.
var TIMELYPresets = []TIMELYParams{
	{
		Preset: "authors", EWMA: 0.02, Beta: 0.8, MaxCut: 0.5,
		TLow: 50 * unit.Microsecond, THigh: 1 * unit.Millisecond, MinRTT: 20 * unit.Microsecond,
		Delta: 10 * unit.MegabitPerSec, HyperAfter: 5, HyperFactor: 5, Segment: 64 * unit.Kilobyte, Burst: true,
		MinRate: 100 * unit.MegabitPerSec,
	},
	{
		Preset: "ns3-rdma", EWMA: 0.875, Beta: 0.8, MaxCut: 0.5,
		TLow: 50 * unit.Microsecond, THigh: 500 * unit.Microsecond, MinRTT: 20 * unit.Microsecond,
		Delta: 10 * unit.MegabitPerSec, Segment: 16 * unit.Kilobyte, Burst: true,
		MinRate: 100 * unit.MegabitPerSec,
	},
	{
		Preset: "scaled", EWMA: 0.875, Beta: 0.8, MaxCut: 1,
		TLow: 50 * unit.Microsecond, THigh: 500 * unit.Microsecond, MinRTT: 20 * unit.Microsecond,
		Delta: 10 * unit.MegabitPerSec, DeltaPer: 10 * unit.GigabitPerSec,
		HyperAfter: 6, HyperFactor: 5, HyperAlways: true, Segment: 1, OncePerRTT: true,
		MinRate: 1 * unit.GigabitPerSec,
	},
	{
		Preset: "rack", EWMA: 0.02, Beta: 0.8, MaxCut: 0.5,
		TLow: 0, THigh: 100 * unit.Microsecond, MinRTT: 20 * unit.Microsecond,
		Delta: 10 * unit.MegabitPerSec, HyperAfter: 5, HyperFactor: 5, Segment: 1,
		MinRate: 100 * unit.MegabitPerSec,
	},
}

// DefaultTIMELYRTTX returns the settings of TIMELY under the scheme
// timely-rttx: the preset rack.
func DefaultTIMELYRTTX() TIMELYParams { return TIMELYPresets[len(TIMELYPresets)-1] }

// DefaultTIMELY returns the settings of the default preset.
func DefaultTIMELY() TIMELYParams { return TIMELYPresets[0] }

// burst returns the payload bytes sent back to back, or 0 if each packet is
// paced.
func (p *TIMELYParams) burst() unit.Bytes {
	if !p.Burst {
		return 0
	}
	return p.Segment
}

// Validate returns all invalid settings as one error, or nil.
func (p TIMELYParams) Validate() error {
	c := checks{scheme: "timely"}
	c.want(0 < p.EWMA && p.EWMA <= 1, "ewma %v, want 0 < ewma <= 1", p.EWMA)
	c.want(0 < p.Beta && p.Beta <= 1, "beta %v, want 0 < beta <= 1", p.Beta)
	c.want(0 < p.MaxCut && p.MaxCut <= 1, "max_cut %v, want 0 < max_cut <= 1", p.MaxCut)
	c.want(0 <= p.TLow && p.TLow <= p.THigh, "t_low %s and t_high %s, want 0 <= t_low <= t_high", p.TLow, p.THigh)
	c.want(p.MinRTT > 0, "min_rtt %s, want more than 0", p.MinRTT)
	c.want(p.Delta >= 0 && p.DeltaPer >= 0 && p.MinRate >= 0, "delta %s, delta_per %s and min_rate %s, want 0 or more", p.Delta, p.DeltaPer, p.MinRate)
	c.want(p.HyperAfter >= 0 && p.HyperFactor >= 0, "hyper_factor %d and hyper_after %d, want 0 or more", p.HyperFactor, p.HyperAfter)
	c.want(p.Segment > 0, "segment %s, want more than 0", p.Segment)
	return c.err()
}
