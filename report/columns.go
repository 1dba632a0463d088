package report

import (
	"slices"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
)

// maxColumns is the largest number of link columns, and of flow columns.
const maxColumns = 4

// figuresOf selects the figures that compare runs of a scenario.
func figuresOf(s *topology.Scenario, runs []*measure.Run) (list []measure.Figure) {
	if len(s.Commands) > 0 {
		list = commandFigures(s)
	} else {
		list = flowFigures(s, runs)
	}
	list = append(list, measure.Drops)
	if slices.ContainsFunc(runs, func(r *measure.Run) bool { return r.Errors != nil }) {
		list = append(list, measure.LinkLost, measure.LinkDamaged)
	}
	return list
}

// flowFigures are the figures of a scenario without commands: the congestion tree and
// the throughput dip; PAUSE on the links that pause the long flows, and on all others;
// the goodput of the long flows during the burst, or over the whole run without a
// burst; and the completion of bursts and of the first workload.
func flowFigures(s *topology.Scenario, runs []*measure.Run) (list []measure.Figure) {
	all := measure.Catalogue(s)
	if !workloadsAlone(s) {
		list = append(list, measure.Tree, measure.PausedOutside, measure.Dip, measure.Recovery)
	}
	frames, _ := pauseFigures(s)
	list = append(list, frames...)
	for _, f := range all.Flows[:min(len(all.Flows), maxColumns)] {
		if runs[0].Burst.Flows > 0 {
			list = append(list, f.BurstGoodput)
		} else {
			list = append(list, f.Goodput)
		}
	}
	if s.HasBursts() {
		list = append(list, measure.BurstCompleted, measure.BurstP50, measure.BurstP99)
	}
	if len(runs[0].Endless) > 0 {
		list = append(list, measure.EndlessGoodputs[:]...)
	}
	for _, w := range all.Workloads[:min(len(all.Workloads), 1)] {
		for _, class := range w.Classes {
			list = append(append(list, class.Completed), class.Slowdown[:]...)
		}
	}
	if slices.ContainsFunc(runs, func(r *measure.Run) bool { return r.Credit != nil }) {
		list = append(list, measure.CreditFigures...)
	}
	return list
}

// commandFigures are the figures of a scenario with commands: the queue at the last hop
// to the initiators, the PAUSE frames that they sent, and all others; the congestion
// tree; the results of each kind of command; and how long requests and responses waited
// for tokens.
func commandFigures(s *topology.Scenario) []measure.Figure {
	all := measure.Catalogue(s)
	list := []measure.Figure{measure.InitiatorQueueKB, measure.InitiatorPAUSE, measure.OtherPAUSE, measure.Tree, measure.PausedOutside}
	for i, c := range all.Commands[:min(len(all.Commands), maxColumns)] {
		if s.Commands[i].OfTarget() {
			continue
		}
		if list = append(list, c.Goodput, c.Completed); len(s.Commands) <= 2 {
			list = append(list, c.P50, c.P99)
		}
	}
	for _, f := range all.Flows[:min(len(all.Flows), maxColumns)] {
		list = append(list, f.Goodput)
	}
	return append(list, measure.StallIn, measure.StallOut, measure.Skips)
}

// pauseFigures returns the PAUSE frames and the paused time on each link of interest,
// and on all others together.
func pauseFigures(s *topology.Scenario) (frames, paused []measure.Figure) {
	links := measure.VictimLinks(s)
	links = links[:min(len(links), maxColumns)]
	for _, link := range links {
		of := measure.PauseFigures(link)
		frames, paused = append(frames, of[0]), append(paused, of[1])
	}
	others := measure.OtherPauses(links)
	return append(frames, others[0]), append(paused, others[1])
}

// workloadsAlone reports whether all flows belong to workloads, so that there are no
// long flows to report on.
func workloadsAlone(s *topology.Scenario) bool {
	return len(s.Workloads) > 0 && !slices.ContainsFunc(s.Flows, func(f topology.Flow) bool { return f.Burst < 0 || s.Bursting(f) })
}
