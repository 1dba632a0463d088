package measure

import (
	"slices"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Figures of every run.
var (
	Tree = span("tree_ms", "ms", "tree", func(r *Run) unit.Time { return r.Tree }).means(
		"the span from the first to the last instant at which PAUSE blocks a sender outside the bursts and workloads: " +
			"the congestion tree reaches senders that did not cause it. It counts from the burst until its flows have completed and the long flows have recovered")
	PausedOutside = span("paused_outside_ms", "ms", "paused", func(r *Run) unit.Time { return r.PausedOutside }).means(
		"the part of the tree in which PAUSE blocks at least one of these senders")
	Dip = span("loss_ms", "ms", "dip", func(r *Run) unit.Time { return r.Loss }).until((*Run).Losing).without((*Run).nothingToLose).means(
		"the throughput dip: the time from the burst to the end of the last bin in which the long flows together reach less than 95 % of " +
			"the payload rate of their bottleneck, or of their goodput before the burst if that was less already")
	Recovery = span("recovery_ms", "ms", "recovery", func(r *Run) unit.Time { return r.Recovery }).until((*Run).Unrecovered).without((*Run).nothingToLose).means(
		"the time from the burst until the long flows again average 95 % over 1 ms. Unlike the dip it excludes a scheme's own later oscillation")
	Drops           = count("drops", "", "drops", func(r *Run) int64 { return r.Drops }).means("frames dropped by switches and NICs, and frames lost with a link that was cut")
	LinkLost        = count("link_lost", "link errors", "lost", func(r *Run) int64 { return r.LinkLost })
	LinkReplayed    = count("link_replayed", "link errors", "replayed", func(r *Run) int64 { return r.Replayed }).means("frames that ports transmitted again on links with retry")
	LinkDamaged     = count("link_damaged", "link errors", "damaged", func(r *Run) int64 { return r.LinkDamaged })
	Retransmits     = count("retransmits", "", "retransmitted", func(r *Run) int64 { return r.Retransmits })
	DeadlockedLinks = count("deadlocked_links", "PFC deadlock", "links", func(r *Run) int64 {
		n := 0
		for i := range r.Deadlocks {
			n += len(r.Deadlocks[i].Links)
		}
		return int64(n)
	}).means("directions of links that are paused in a cycle at the end of the run: no frame passes them again")
	FrameHops = count("frame_hops", "", "frame-hops", func(r *Run) int64 { return r.FrameHops }).means("frames, counted at each node at which they arrive")
)

// Cost has the figures of the emulation itself. They depend on the machine, so that only
// reports show them.
var Cost = []Figure{
	number("", "", "wall s", func(r *Run) float64 { return r.Wall }),
	number("", "", "CPU s", func(r *Run) float64 { return r.CPU }),
	FrameHops,
	number("", "", "million frame-hops/s", func(r *Run) float64 { return float64(r.FrameHops) / max(r.Wall, 1e-9) / 1e6 }),
	count("", "", "envelopes", func(r *Run) int64 { return r.Envelopes }),
	Retransmits,
	count("", "", "malformed", func(r *Run) int64 { return r.Malformed }),
}

// CreditFigures has the credit that receivers grant, for tables.
var CreditFigures = []Figure{
	credit("granted", func(c *Credit) unit.Bytes { return c.Granted }),
	credit("wasted", func(c *Credit) unit.Bytes { return c.Wasted }),
	credit("lost", func(c *Credit) unit.Bytes { return c.Lost }),
}

func credit(title string, of func(*Credit) unit.Bytes) Figure {
	return number("", "credit MB", title, func(r *Run) float64 {
		if r.Credit == nil {
			return 0
		}
		return float64(of(r.Credit)) / 1e6
	}).with(1).without(func(r *Run) bool { return r.Credit == nil })
}

// Figures of the flows of bursts.
var (
	BurstFlows     = count("burst.flows", "burst", "flows", func(r *Run) int64 { return int64(r.Burst.Flows) })
	BurstCompleted = count("burst.completed", "burst", "done", func(r *Run) int64 { return int64(r.Burst.Completed) }).
			of(func(r *Run) int { return r.Burst.Flows })
	BurstP50 = burstFCT("p50", func(r *Run) unit.Time { return r.Burst.P50 })
	BurstP99 = burstFCT("p99", func(r *Run) unit.Time { return r.Burst.P99 })
)

// burstFCT returns a percentile of the completion times of the burst's flows. It is a
// lower bound if it lacks flows.
func burstFCT(percentile string, of func(*Run) unit.Time) Figure {
	return span("burst.fct_"+percentile+"_ms", "burst", percentile+" ms", of).
		until(func(r *Run) bool { return r.Burst.Completed < r.Burst.Flows }).
		without(func(r *Run) bool { return r.Burst.Completed == 0 }).
		means("nearest-rank percentile of the completion times of the burst's flows, from the request to the last ACK")
}

// EndlessGoodputs are the minimum, median and maximum goodput of the endless flows of
// bursts.
var EndlessGoodputs = [...]Figure{endlessGoodput("min", 0), endlessGoodput("p50", 500), endlessGoodput("max", 1000)}

func endlessGoodput(title string, perMille int) Figure {
	return rateFigure("endless.goodput_"+title+"_gbps", "endless: Gbit/s", title, func(r *Run) unit.Rate { return r.EndlessGoodput(perMille) })
}

// Figures of the NICs that post commands, and of the last hop to them.
var (
	InitiatorQueue = count("initiators.queue_bytes", "", "", func(r *Run) (most int64) {
		for _, i := range r.Initiators {
			most = max(most, int64(i.Queue))
		}
		return most
	})
	InitiatorQueueKB = number("", "last hop", "queue KB", func(r *Run) float64 { return InitiatorQueue.Of(r) / 1e3 }).with(1)
	InitiatorPAUSE   = initiatorSum("pause_frames", "last hop", "PAUSE", func(i *Initiator) int64 { return i.PAUSE })
	OtherPAUSE       = count("", "", "other PAUSE", func(r *Run) int64 { return int64(OtherPauses(nil)[0].Of(r) - InitiatorPAUSE.Of(r)) })
	StallIn          = stall("stall_in_ms", "IN", func(i *Initiator) unit.Time { return i.StallIn })
	StallOut         = stall("stall_out_ms", "OUT", func(i *Initiator) unit.Time { return i.StallOut })
	Skips            = initiatorSum("skips", "", "skips", func(i *Initiator) int64 { return i.Skips })
)

func initiatorSum(name, group, title string, of func(*Initiator) int64) Figure {
	return count("initiators."+name, group, title, func(r *Run) (sum int64) {
		for i := range r.Initiators {
			sum += of(&r.Initiators[i])
		}
		return sum
	})
}

func stall(name, title string, of func(*Initiator) unit.Time) Figure {
	return number("initiators."+name, "stall ms", title, func(r *Run) (sum float64) {
		for i := range r.Initiators {
			sum += milliseconds(of(&r.Initiators[i]))
		}
		return sum
	})
}

// Named holds the figures of the flows, workloads, commands and collectives of a scenario.
type Named struct {
	Flows       []FlowFigures // single flows
	Workloads   []WorkloadFigures
	Commands    []CommandFigures
	Collectives []CollectiveFigures
}

// FlowFigures are the figures of a single flow.
type FlowFigures struct{ Goodput, BurstGoodput Figure }

// WorkloadFigures are the figures of a workload.
type WorkloadFigures struct {
	Flows, Completed, FCTMean, SlowdownMean Figure
	Classes                                 []ClassFigures // by SizeClasses
}

// ClassFigures are the figures of the flows of one size class.
type ClassFigures struct {
	Completed Figure
	Slowdown  [3]Figure // 50th, 95th and 99th percentile
}

// CommandFigures are the figures of one entry of the scenario's commands.
type CommandFigures struct{ Goodput, Completed, P50, P99 Figure }

// Catalogue returns the figures of what the scenario names.
func Catalogue(s *topology.Scenario) (all Named) {
	for _, f := range s.Flows {
		if f.Burst < 0 {
			all.Flows = append(all.Flows, flowFigures(len(all.Flows), f.Name))
		}
	}
	for i, w := range s.Workloads {
		all.Workloads = append(all.Workloads, workloadFigures(i, w.Name))
	}
	for i, c := range s.Commands {
		all.Commands = append(all.Commands, commandFigures(i, c.Name))
	}
	for i := range s.Collectives {
		all.Collectives = append(all.Collectives, collectiveFigures(i, &s.Collectives[i]))
	}
	return all
}

// flowFigures returns the figures of single flow i.
func flowFigures(i int, name string) FlowFigures {
	goodput := func(key, group string, of func(*Flow) unit.Rate) Figure {
		return rateFigure(name+key, group, name, func(r *Run) unit.Rate { return of(r.single(i, name)) }).means("goodput: payload delivered in order (by schemes that spray, in any order); in the burst: from its start until its last flow has completed")
	}
	return FlowFigures{
		goodput(".goodput_gbps", "Gbit/s", func(f *Flow) unit.Rate { return f.Goodput }).until(func(r *Run) bool { return r.single(i, name).Unfinished() }),
		goodput(".burst_goodput_gbps", "Gbit/s in burst", func(f *Flow) unit.Rate { return f.BurstGoodput }),
	}
}

func workloadFigures(i int, name string) WorkloadFigures {
	nothingDone := func(r *Run) bool { return r.Workloads[i].All.Completed == 0 }
	w := WorkloadFigures{
		Flows:        count(name+".flows", "", "", func(r *Run) int64 { return int64(r.Workloads[i].All.Flows) }),
		Completed:    count(name+".completed", "", "", func(r *Run) int64 { return int64(r.Workloads[i].All.Completed) }).of(func(r *Run) int { return r.Workloads[i].All.Flows }),
		FCTMean:      span(name+".fct_mean_ms", "", "", func(r *Run) unit.Time { return r.Workloads[i].All.Mean }).without(nothingDone),
		SlowdownMean: number(name+".slowdown_mean", "", "", func(r *Run) float64 { return r.Workloads[i].All.SlowdownMean }).without(nothingDone),
	}
	for _, class := range SizeClasses {
		of := func(r *Run) *SizeClass { return class.Of(&r.Workloads[i]) }
		group := class.Name + " flows: slowdown"
		slowdown := func(percentile string, value func(*SizeClass) float64) Figure {
			return number(name+"."+class.Name+".slowdown_"+percentile, group, percentile, func(r *Run) float64 { return value(of(r)) }).without(func(r *Run) bool { return of(r).Completed == 0 }).
				ofDone(func(r *Run) int { return of(r).Completed }, func(r *Run) int { return of(r).Flows }).means(
				"slowdown: the completion time of a workload's flow divided by that of the flow alone in an empty network, of the flows that are done; short flows have up to 100 KB")
		}
		w.Classes = append(w.Classes, ClassFigures{
			Completed: count("", group, "done", func(r *Run) int64 { return int64(of(r).Completed) }).of(func(r *Run) int { return of(r).Flows }),
			Slowdown: [3]Figure{
				slowdown("p50", func(c *SizeClass) float64 { return c.SlowdownP50 }),
				slowdown("p95", func(c *SizeClass) float64 { return c.SlowdownP95 }),
				slowdown("p99", func(c *SizeClass) float64 { return c.SlowdownP99 }),
			},
		})
	}
	return w
}

func commandFigures(i int, name string) CommandFigures {
	took := func(percentile string, of func(*Commands) unit.Time) Figure {
		return span(name+"."+percentile+"_ms", name, percentile+" ms", func(r *Run) unit.Time { return of(&r.Commands[i]) }).with(3).
			without(func(r *Run) bool { return r.Commands[i].Completed == 0 }).
			ofDone(func(r *Run) int { return r.Commands[i].Completed }, func(r *Run) int { return r.Commands[i].Commands })
	}
	return CommandFigures{
		Goodput: rateFigure(name+".goodput_gbps", name, "Gbit/s", func(r *Run) unit.Rate { return r.Commands[i].Goodput }),
		Completed: count(name+".completed", name, "done", func(r *Run) int64 { return int64(r.Commands[i].Completed) }).
			of(func(r *Run) int { return r.Commands[i].Commands }),
		P50: took("p50", func(c *Commands) unit.Time { return c.P50 }),
		P99: took("p99", func(c *Commands) unit.Time { return c.P99 }),
	}
}

// PauseFigures returns the PAUSE frames and the paused time on a link "x->y".
func PauseFigures(link string) []Figure {
	return pauseFigures(link+".", link, func(r *Run) Pause { return r.PausesOn(link) })
}

// OtherPauses returns the PAUSE frames and the paused time on all links but these.
func OtherPauses(links []string) []Figure {
	title := "others"
	if len(links) == 0 {
		title = AllLinks
	}
	list := pauseFigures("", title, func(r *Run) Pause { return r.pauses(func(l string) bool { return !slices.Contains(links, l) }) })
	list[1].Title = "others, summed"
	return list
}

// AllLinks names the sum over the links of a rack.
const AllLinks = "all links"

// PauseGroup is the heading of the columns of PAUSE frames.
const PauseGroup = "PAUSE frames"

func pauseFigures(prefix, title string, of func(*Run) Pause) []Figure {
	return []Figure{
		count(prefix+"pause_frames", PauseGroup, title, func(r *Run) int64 { return of(r).XOFF }).means(
			"XOFF frames, refreshes included; x->y is sent by x and pauses y"),
		span(prefix+"paused_ms", "", title, func(r *Run) unit.Time { return of(r).Paused }),
	}
}

// PausesOn returns the pauses on a link "x->y", the zero Pause if there were none.
func (r *Run) PausesOn(link string) Pause {
	return r.pauses(func(l string) bool { return l == link })
}

// pauses sums the pauses on some links.
func (r *Run) pauses(on func(link string) bool) (sum Pause) {
	for _, p := range r.Pauses {
		if on(p.Link) {
			sum.XOFF += p.XOFF
			sum.Paused += p.Paused
		}
	}
	return sum
}

// PausedLinks lists the links "x->y" on which at least one run had a PAUSE, in order of
// first occurrence.
func PausedLinks(runs []*Run) (links []string) {
	for _, r := range runs {
		for _, p := range r.Pauses {
			if !slices.Contains(links, p.Link) {
				links = append(links, p.Link)
			}
		}
	}
	return links
}

// Losing reports whether the run ended during the throughput dip, so that Loss covers
// only its observed part.
func (r *Run) Losing() bool { return r.Loss > 0 && r.Burst.Start+r.Loss > r.FabricTime-r.Bin }

// Unrecovered reports whether the run ended before the recovery was certain.
func (r *Run) Unrecovered() bool { return r.open(r.Burst.Start, r.Recovery) }
