package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
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
	collectives := measure.Catalogue(s).Collectives
	for i, c := range collectives[:min(len(collectives), maxColumns)] {
		list = append(list, c.List(&s.Collectives[i])...)
	}
	if len(s.Programs) > 0 || slices.ContainsFunc(s.Flows, func(f topology.Flow) bool { return f.Step }) {
		list = append(list, measure.ProgramTime, measure.ProgramSteps)
	}
	list = append(list, measure.Drops)
	if slices.ContainsFunc(runs, func(r *measure.Run) bool { return r.Deadlocks != nil }) {
		list = append(list, measure.DeadlockedLinks)
	}
	if slices.ContainsFunc(runs, func(r *measure.Run) bool { return r.Errors != nil }) {
		list = append(list, measure.LinkLost, measure.LinkDamaged)
	}
	if slices.ContainsFunc(runs, func(r *measure.Run) bool { return r.Replayed > 0 }) {
		list = append(list, measure.LinkReplayed)
	}
	for _, f := range measure.RecoveryFigures {
		if slices.ContainsFunc(runs, func(r *measure.Run) bool { return f.Of(r) > 0 }) {
			list = append(list, f)
		}
	}
	if slices.ContainsFunc(runs, func(r *measure.Run) bool { return r.Settled != nil }) {
		list = append(list, measure.SettledFigures[:3]...) // the peak is in results.json
	}
	if measure.Failing(s) {
		list = append(list, measure.FailureFigures...)
	}
	return list
}

// flowFigures are the figures of a scenario without commands: the congestion tree and
// the throughput dip; PAUSE on the links that pause the long flows, and on all others;
// the goodput of the long flows during the burst, or over the whole run without a
// burst; and the completion of bursts and of the first workload.
func flowFigures(s *topology.Scenario, runs []*measure.Run) (list []measure.Figure) {
	all := measure.Catalogue(s)
	if len(measure.SendersOutside(s)) > 0 {
		list = append(list, measure.Tree, measure.PausedOutside)
	}
	if slices.ContainsFunc(runs, func(r *measure.Run) bool { return len(r.LongFlows()) > 0 }) {
		list = append(list, measure.Dip, measure.Recovery)
	}
	frames, _ := pauseFigures(s, runs)
	list = append(list, frames...)
	list = append(list, singleFigures(s, all.Flows, runs[0].Burst.Flows > 0)...)
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
	list = append(list, singleFigures(s, all.Flows, false)...)
	return append(list, measure.StallIn, measure.StallOut, measure.Skips)
}

// singleFigures returns the goodput of each single flow, in the burst or over its whole
// time. More than maxColumns flows have their minimum, median and maximum, and are counted
// unless all are endless.
func singleFigures(s *topology.Scenario, flows []measure.FlowFigures, burst bool) (list []measure.Figure) {
	if len(flows) > maxColumns {
		if slices.ContainsFunc(s.Flows, func(f topology.Flow) bool { return f.Burst < 0 && f.Size != topology.Endless }) {
			list = append(list, measure.SinglesCompleted)
		}
		if burst {
			return append(list, measure.SingleBurstGoodputs...)
		}
		return append(list, measure.SingleGoodputs...)
	}
	for _, f := range flows {
		if burst {
			list = append(list, f.BurstGoodput)
		} else {
			list = append(list, f.Goodput)
		}
	}
	return list
}

// notes names the slowest single flows of each variant where these have no column, and
// the number of commands and workloads without one.
func notes(s *topology.Scenario, variants []Variant) (list []string) {
	for _, v := range variants {
		if len(v.Run.Flows) <= maxColumns {
			break
		}
		var slowest []string
		for _, f := range v.Run.Slowest(maxColumns) {
			least := ""
			if f.Unfinished() {
				least = ">"
			}
			slowest = append(slowest, fmt.Sprintf("%s %s%.2f", f.Name, least, float64(f.Goodput)/1e9))
		}
		list = append(list, fmt.Sprintf("%s: the slowest of %d flows are %s Gbit/s; results.json has all", v.Value, len(v.Run.Flows), strings.Join(slowest, ", ")))
	}
	for _, v := range variants {
		for i := range v.Run.Deadlocks {
			list = append(list, fmt.Sprintf("%s: PFC deadlock: %s", v.Value, &v.Run.Deadlocks[i]))
		}
		list = append(list, waiting(v)...)
	}
	if more := len(s.Collectives) - maxColumns; more > 0 {
		list = append(list, "results.json has "+unit.Counted(more, "more collective"))
	}
	if more := len(s.Commands) - maxColumns; more > 0 {
		list = append(list, "results.json has "+unit.Counted(more, "more set")+" of commands")
	}
	if more := len(s.Workloads) - 1; more > 0 && len(s.Commands) == 0 {
		list = append(list, "results.json has "+unit.Counted(more, "more workload"))
	}
	return list
}

// waiting returns a line about the steps that a run ended before, or none.
func waiting(v Variant) []string {
	p := v.Run.Programs
	if p == nil || p.Finished() {
		return nil
	}
	steps := make([]string, 0, len(p.Waiting))
	for _, w := range p.Waiting[:min(len(p.Waiting), maxColumns)] {
		steps = append(steps, fmt.Sprintf("%s %q for %s", w.Host, w.Step, w.For))
	}
	return []string{fmt.Sprintf("%s: %d of %d steps are not done; these wait: %s", v.Value, p.Steps-p.Done, p.Steps, strings.Join(steps, ", "))}
}

// victimLinks returns the links of interest that have columns or lines, at most n: if
// there are more, those with the most PAUSE frames over all runs.
func victimLinks(s *topology.Scenario, runs []*measure.Run, n int) []string {
	links := measure.VictimLinks(s)
	if len(links) <= n {
		return links
	}
	frames := map[string]int64{}
	for _, r := range runs {
		for _, p := range r.Pauses {
			frames[p.Link] += p.XOFF
		}
	}
	slices.SortStableFunc(links, func(a, b string) int { return cmp.Compare(frames[b], frames[a]) })
	return links[:n]
}

// pauseFigures returns the PAUSE frames and the paused time on each link of interest,
// and on all others together.
func pauseFigures(s *topology.Scenario, runs []*measure.Run) (frames, paused []measure.Figure) {
	links := victimLinks(s, runs, maxColumns)
	for _, link := range links {
		of := measure.PauseFigures(link)
		frames, paused = append(frames, of[0]), append(paused, of[1])
	}
	others := measure.OtherPauses(links)
	return append(frames, others[0]), append(paused, others[1])
}

// workloadsAlone reports whether all flows belong to workloads and programs, so that there are no
// long flows to report on.
func workloadsAlone(s *topology.Scenario) bool {
	return len(s.Workloads)+len(s.Steps) > 0 && !slices.ContainsFunc(s.Flows, func(f topology.Flow) bool { return f.Burst < 0 || s.Bursting(f) })
}
