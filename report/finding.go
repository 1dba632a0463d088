package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Findings returns one sentence per run, "pfc: F0 fell from 18.8 to 3.03 Gbit/s in the burst,
// because …": how the goodput of the flow that lost the most in a burst changed, and why.
// Without such a flow, the sentence has the main figures of what the scenario has instead. Over
// several variants, figures are medians with their range in brackets.
func Findings(s *topology.Scenario, variants []Variant) []string {
	v := victimOf(s, variants)
	list := make([]string, len(variants))
	for i := range variants {
		parts := clauses(s, v, &variants[i])
		list[i] = variants[i].Value + ": " + strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "; ") + "."
	}
	return list
}

// clauses returns the parts of the sentence of a run. Some are "".
func clauses(s *topology.Scenario, victim *victim, v *Variant) (parts []string) {
	all := measure.Catalogue(s)
	if victim != nil {
		parts = append(parts, victim.clause(v), othersClause(victim, v), recoveryClause(v))
	} else if v.Run.Burst.Flows > 0 {
		parts = append(parts, fmt.Sprintf("%s flows of the burst are done%s", v.say(measure.BurstCompleted), mostWithin(v, measure.BurstP99)))
	}
	for i, c := range all.Collectives[:min(len(all.Collectives), maxClauses)] {
		parts = append(parts, collectiveClause(v, &s.Collectives[i], c))
	}
	for i, c := range all.Commands[:min(len(all.Commands), maxClauses)] {
		if name := s.Commands[i].Name; !s.Commands[i].OfTarget() {
			parts = append(parts, fmt.Sprintf("%s completed %s commands%s, at %s Gbit/s", name, v.say(c.Completed), mostWithin(v, c.P99), v.say(c.Goodput)))
		}
	}
	for i, w := range all.Workloads[:min(len(all.Workloads), maxClauses)] {
		parts = append(parts, workloadClause(v, s.Workloads[i].Name, w))
	}
	if v.Run.Programs != nil && len(s.Collectives) == 0 {
		parts = append(parts, programsClause(v))
	}
	if victim == nil {
		parts = append(parts, singlesClause(s, v, all.Flows))
	}
	return append(parts, failureClause(v), lossClause(v, victim != nil), deadlockClause(v))
}

// deadlockClause says how many links a PFC deadlock keeps paused, "" without a deadlock.
func deadlockClause(v *Variant) string {
	if !v.any(measure.DeadlockedLinks) {
		return ""
	}
	return "a PFC deadlock keeps " + v.counted(measure.DeadlockedLinks, "link") + " paused in a cycle"
}

// mostWithin says in which time 99 % of what is done were done, and nothing of a run in which nothing is done.
func mostWithin(v *Variant, p99 measure.Figure) string {
	if p99.Missing(v.Run) {
		return ""
	}
	p99.Beyond = nil // a bound for all, but exact for those that are done
	return fmt.Sprintf(", 99 %% of those within %s ms", v.say(p99))
}

// maxClauses is the largest number of collectives, commands or workloads in a sentence.
const maxClauses = 2

// say formats a figure: of the run, or its median and range over the variants.
func (v *Variant) say(f measure.Figure) string {
	if v.Repeated == nil {
		return f.Text(v.Run)
	}
	least, median, most := f.TextSpread(v.Repeated.Runs)
	if least == most {
		return median
	}
	return fmt.Sprintf("%s (%s to %s)", median, least, most)
}

// workloadClause returns how much longer the flows of a workload took than alone. A class without
// a completed flow has no figure.
func workloadClause(v *Variant, name string, f measure.WorkloadFigures) string {
	text := fmt.Sprintf("%s flows of %s are done", v.say(f.Completed), name)
	for k, class := range measure.SizeClasses {
		if p99 := f.Classes[k].Slowdown[2]; !p99.Missing(v.Run) {
			which := class.Name + " ones"
			if v.some(p99.Partial) {
				which += " that are done"
			}
			text += fmt.Sprintf(", 99 %% of the %s within %s times the time alone", which, v.say(p99))
		}
	}
	return text
}

// singlesClause returns the goodputs of the single flows of a scenario without a burst.
func singlesClause(s *topology.Scenario, v *Variant, flows []measure.FlowFigures) string {
	switch {
	case len(flows) == 0:
		return ""
	case len(flows) > maxColumns:
		g := measure.SingleGoodputs
		return fmt.Sprintf("%d flows have a goodput of %s to %s Gbit/s, the median is %s", len(flows), v.say(g[0]), v.say(g[2]), v.say(g[1]))
	}
	var parts []string
	for i, name := range (&Folder{Scenario: s}).longFlows() {
		parts = append(parts, name+" "+v.say(flows[i].Goodput))
	}
	return "goodput of " + strings.Join(parts, ", ") + " Gbit/s"
}

// lossClause returns the number of PAUSE frames of all links, of drops, and of the frames that links lost or damaged, if
// any. Beside a victim, whose sentence has the PAUSE frames that matter, it returns the others alone, if any.
func lossClause(v *Variant, victim bool) string {
	var parts []string
	switch {
	case !victim:
		parts = []string{v.counted(measure.OtherPauses(nil)[0], "PAUSE frame"), v.counted(measure.Drops, "drop")}
	case v.any(measure.Drops):
		parts = []string{v.say(measure.Drops) + " frames were dropped"}
	}
	if v.any(measure.LinkLost) {
		parts = append(parts, v.counted(measure.LinkLost, "frame")+" lost on links")
	}
	if v.any(measure.LinkDamaged) {
		parts = append(parts, v.counted(measure.LinkDamaged, "frame")+" damaged on links")
	}
	return strings.Join(parts, ", ")
}

// any reports whether a figure is positive, over variants in at least one.
func (v *Variant) any(f measure.Figure) bool {
	return v.some(func(r *measure.Run) bool { return f.Of(r) > 0 })
}

// counted formats a count with its noun.
func (v *Variant) counted(f measure.Figure, noun string) string {
	if v.Repeated == nil {
		return unit.Counted(int64(f.Of(v.Run)), noun)
	}
	return fmt.Sprintf("%s %ss", v.say(f), noun)
}
