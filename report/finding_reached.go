package report

import (
	"fmt"
	"slices"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
)

// reached returns the variant with those of its repetitions that reached a figure before they ended, nil if none did.
// all counts the repetitions, and late those that did not; a single run is one.
func (v *Variant) reached(f measure.Figure) (done *Variant, late, all int) {
	runs := []*measure.Run{v.Run}
	if v.Repeated != nil {
		runs = v.Repeated.Runs
	}
	left := slices.DeleteFunc(slices.Clone(runs), f.Unreached)
	late, all = len(runs)-len(left), len(runs)
	if late == 0 {
		return v, 0, all
	}
	if len(left) == 0 {
		return nil, late, all
	}
	return &Variant{Value: v.Value, Run: left[0], Repeated: &measure.Repeated{Scheme: v.Repeated.Scheme, Runs: left}}, late, all
}

// once says when a figure was reached, in the words of text, or that it was not when the run ended, in those of
// not. Of variants, it says in how many.
func (v *Variant) once(f measure.Figure, text func(*Variant) string, not string) string {
	switch done, late, all := v.reached(f); {
	case done == nil:
		return not + " when the run ended"
	case late == 0:
		return text(done)
	default:
		return fmt.Sprintf("%s in %d of %d variants, and %s in %d when the run ended", text(done), all-late, all, not, late)
	}
}

func collectiveClause(v *Variant, c *topology.Collective, f measure.CollectiveFigures) string {
	if v.Repeated == nil && f.Slowest.Missing(v.Run) {
		return fmt.Sprintf("%s did not end: none of its steps is done", c.Name)
	}
	slowest := ""
	text := v.once(f.Time, func(done *Variant) string {
		slowest = fmt.Sprintf("; rank %s was the slowest", done.say(f.Slowest))
		if c.BusShare() == 0 {
			return fmt.Sprintf("took %s ms", done.say(f.Time))
		}
		return fmt.Sprintf("took %s ms, at a bus bandwidth of %s Gbit/s", done.say(f.Time), done.say(f.BusBW))
	}, "was not done")
	return c.Name + " " + text + slowest
}

func programsClause(v *Variant) string {
	steps := v.say(measure.ProgramSteps) + " steps of the programs "
	if done, _, _ := v.reached(measure.ProgramTime); done == nil {
		return steps + "were done when the run ended"
	}
	return steps + v.once(measure.ProgramTime, func(done *Variant) string {
		return fmt.Sprintf("are done, the last one at %s ms", done.say(measure.ProgramTime))
	}, "were not all done")
}

// failureClause returns how the goodput of the rack changed after a link failed, "" if none did.
func failureClause(v *Variant) string {
	switch f := v.Run.Failure; {
	case f == nil:
		return ""
	case f.Recovery == 0 && v.Repeated == nil:
		return fmt.Sprintf("the rack's goodput stayed within 5 %% of %s Gbit/s after a link failed", v.say(measure.FailureBefore))
	}
	return fmt.Sprintf("the rack's goodput fell from %s to %s Gbit/s after a link failed, and ", v.say(measure.FailureBefore), v.say(measure.FailureLeast)) +
		v.once(measure.FailureRecovery, func(done *Variant) string {
			return fmt.Sprintf("recovered after %s ms", done.say(measure.FailureRecovery))
		}, "had not recovered")
}
