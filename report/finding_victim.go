package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/topology/routes"
	"github.com/rackfab/rackfab/fabric/unit"
)

// victim is the single flow in findings: among the flows whose receiver gets nothing
// of a burst, or else among all, the one that lost the largest share of its goodput in a burst.
type victim struct {
	name    string
	figure  measure.Figure
	pauses  []string // links on which PAUSE blocks it, from its receiver on
	outside []string // the flows among which it was chosen
}

// Shares of the goodput before the burst below which a flow fell, and above which it rose.
const fell, rose = 0.9, 1.1

// victimOf returns the victim over all runs, nil without a burst or without single flows.
func victimOf(s *topology.Scenario, variants []Variant) *victim {
	if len(variants) == 0 || variants[0].Run.Burst.Flows == 0 {
		return nil
	}
	v, least, at := &victim{outside: outsideBursts(s, variants)}, math.Inf(1), -1
	singles := measure.Catalogue(s).Flows
	single := -1
	for i, f := range s.Flows {
		if f.Burst >= 0 {
			continue
		}
		if single++; !slices.Contains(v.outside, f.Name) {
			continue
		}
		for _, one := range variants {
			if share := shareKept(one.Run, f.Name); share < least {
				least, at, v.name, v.figure = share, i, f.Name, singles[single].BurstGoodput
			}
		}
	}
	if at < 0 {
		return nil
	}
	v.pauses = measure.PausesOf(s, routes.New(s, s.PortMap()), s.Flows[at].From, s.Flows[at].To)
	slices.Reverse(v.pauses)
	return v
}

// outsideBursts names the single flows whose receivers get nothing of a burst, or else all, among
// those that run in each run from the beginning of the bursts to their end.
func outsideBursts(s *topology.Scenario, variants []Variant) (names []string) {
	burst := map[int]bool{}
	for _, f := range s.Flows {
		burst[f.To] = burst[f.To] || s.Bursting(f)
	}
	for _, all := range []bool{false, true} {
		for _, f := range s.Flows {
			if f.Burst < 0 && (all || !burst[f.To]) && throughout(variants, f.Name) {
				names = append(names, f.Name)
			}
		}
		if names != nil {
			break
		}
	}
	return names
}

// throughout reports whether a flow is a long flow of all runs that does not end before the bursts.
func throughout(variants []Variant, name string) bool {
	return !slices.ContainsFunc(variants, func(v Variant) bool {
		return !slices.ContainsFunc(v.Run.LongFlows(), func(f measure.Flow) bool { return f.Name == name && f.End >= v.Run.Burst.End })
	})
}

// shareKept returns a flow's goodput in the bursts divided by that before. A flow that did not
// send before has a share above 1, the larger the more it delivered.
func shareKept(r *measure.Run, name string) float64 {
	in := float64(r.Flow(name).BurstGoodput)
	if before := r.BeforeBurst(name); before > 0 {
		return in / float64(before)
	}
	return 1 + in
}

// sumOf adds the bins [first, end), as far as there are any.
func sumOf(bins []int64, first, end int) (sum int64) {
	for _, b := range bins[min(first, len(bins)):min(end, len(bins))] {
		sum += b
	}
	return sum
}

// clause says how the victim's goodput changed, and why.
func (c *victim) clause(v *Variant) string {
	before, share := v.Run.BeforeBurst(c.name), shareKept(v.Run, c.name)
	if v.Repeated != nil || before == 0 {
		return fmt.Sprintf("%s had %s Gbit/s in the burst%s", c.name, v.say(c.figure), c.because(v, ", while "))
	}
	from, to := gigabitsText(before), gigabitsText(v.Run.Flow(c.name).BurstGoodput)
	switch {
	case share < fell:
		return fmt.Sprintf("%s fell from %s to %s Gbit/s in the burst%s", c.name, from, to, c.because(v, ", because "))
	case share > rose:
		return fmt.Sprintf("%s rose from %s to %s Gbit/s in the burst%s", c.name, from, to, c.because(v, ", while "))
	default:
		return fmt.Sprintf("%s kept its goodput in the burst, %s Gbit/s before and %s in it%s", c.name, from, to, c.because(v, ", while "))
	}
}

// because returns what held the victim back: PAUSE on its path, and a lower CC rate limit.
func (c *victim) because(v *Variant, word string) string {
	var causes []string
	for _, link := range c.pauses {
		if text := pausedText(v, link); text != "" && len(causes) < maxClauses {
			causes = append(causes, text)
		}
	}
	if limit, before := limitIn(v.Run, c.name), v.Run.BeforeBurst(c.name); limit > 0 && float64(limit) < fell*float64(before) && v.Repeated == nil {
		causes = append(causes, fmt.Sprintf("%s limited it to %s Gbit/s on average", v.Run.Scheme, gigabitsText(limit)))
	}
	switch {
	case causes != nil:
		return word + enumerated(causes)
	case word == ", because ":
		return ", although nothing paused its path"
	default:
		return ", and nothing paused its path"
	}
}

// pausedText returns how x paused y on the link "x->y", "" if it did not in the burst.
func pausedText(v *Variant, link string) string {
	x, y, _ := strings.Cut(link, "->")
	if v.Repeated != nil {
		frames := measure.PauseFigures(link)[0]
		if _, _, most := frames.TextSpread(v.Repeated.Runs); most == "0" {
			return ""
		}
		return fmt.Sprintf("%s sent %s %s PAUSE frames", x, y, v.say(frames))
	}
	all := v.Run.PausesOn(link)
	frames := all.XOFF
	if v.Run.Series != nil {
		frames = burstFrames(v.Run, link)
	}
	switch frames {
	case 0:
		return ""
	case all.XOFF:
		return fmt.Sprintf("%s paused %s for %.2f ms (%s)", x, y, milliseconds(all.Paused), unit.Counted(frames, "PAUSE frame"))
	default:
		return fmt.Sprintf("%s sent %s %s", x, y, unit.Counted(frames, "PAUSE frame"))
	}
}

// burstFrames returns the PAUSE frames on a link in the bins of the bursts.
func burstFrames(r *measure.Run, link string) int64 {
	for _, p := range r.Series.Pauses {
		if p.Link == link {
			return sumOf(p.Bins, int(r.Burst.Start/r.Series.Bin), int((r.Burst.End+r.Series.Bin-1)/r.Series.Bin))
		}
	}
	return 0
}

// limitIn returns the mean CC rate limit of a flow over the bins of the bursts, 0 without one.
func limitIn(r *measure.Run, name string) unit.Rate {
	if r.Series == nil {
		return 0
	}
	for _, s := range r.Series.Rates {
		first, end := min(int(r.Burst.Start/r.Series.Bin), len(s.Bins)), min(int(r.Burst.End/r.Series.Bin), len(s.Bins))
		if s.Name != name || first >= end {
			continue
		}
		sum := 0.0
		for _, rate := range s.Bins[first:end] {
			sum += float64(rate)
		}
		return unit.Rate(sum / float64(end-first))
	}
	return 0
}

// othersClause counts the flows outside the bursts that fell, if there are several.
func othersClause(c *victim, v *Variant) string {
	if len(c.outside) < 2 || v.Repeated != nil {
		return ""
	}
	count := 0
	for _, name := range c.outside {
		if shareKept(v.Run, name) < fell {
			count++
		}
	}
	return fmt.Sprintf("%d of %d such flows lost more than 10 %%", count, len(c.outside))
}

// recoveryClause returns when the long flows had recovered together, "" if they lost nothing.
func recoveryClause(v *Variant) string {
	if !v.any(measure.Recovery) {
		return ""
	}
	not := "had not recovered"
	if v.Repeated == nil && !v.Run.Losing() {
		not = "had been back for less than 1 ms"
	}
	return "the long flows " + v.once(measure.Recovery, func(done *Variant) string {
		return fmt.Sprintf("recovered %s ms after the burst began", done.say(measure.Recovery))
	}, not)
}

// gigabitsText formats a rate in Gbit/s with three significant digits.
func gigabitsText(r unit.Rate) string {
	g := float64(r) / 1e9
	switch {
	case g >= 99.95:
		return fmt.Sprintf("%.0f", g)
	case g >= 9.995:
		return fmt.Sprintf("%.1f", g)
	default:
		return fmt.Sprintf("%.2f", g)
	}
}

// enumerated returns "a, b and c".
func enumerated(list []string) string {
	last := len(list) - 1
	if last < 1 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:last], ", ") + " and " + list[last]
}
