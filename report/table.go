package report

import (
	"fmt"
	"slices"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Table compares the schemes of one folder.
type Table struct {
	Title   string
	Columns []Column
	Rows    []Row
}

// Column is a column's heading: the group heading shared with other columns, or "", and
// its own name.
type Column struct {
	Group, Name string
	// Text is left-aligned; numbers are right-aligned.
	Text bool
}

// Row is the row of one scheme.
type Row []Cell

// Cell is a value with the paper's value and its source, "" if the paper reports none.
type Cell struct {
	Text, Paper, Source string
	// Least and Most are the extremes of several runs, of which Text is the median; ""
	// for a single run.
	Least, Most string
}

// mostColumns is the largest number of link columns, and of flow columns.
const mostColumns = 4

// column is a column of the comparison with the function that fills it.
type column struct {
	Column
	key   string // key of the paper's value
	value func(*measure.Run) string
}

// TableOf returns the table of a run: Commands for a scenario with commands, otherwise
// Compare.
func TableOf(s *topology.Scenario, r *measure.Results) Table {
	if len(s.Commands) == 0 {
		return Compare(s, r)
	}
	return Commands(Title(r), "scheme", s, schemes(r))
}

// schemes returns a row per scheme.
func schemes(r *measure.Results) []Variant {
	rows := make([]Variant, len(r.Runs))
	for i, run := range r.Runs {
		rows[i] = Variant{Value: run.Scheme, Run: run}
		if r.Repeats != nil {
			rows[i].Repeated = &r.Repeats.Schemes[i]
		}
	}
	return rows
}

// VariantsOf returns the table of runs with several values of the varied setting, with
// the columns of Commands for a scenario with commands, otherwise of Compare. It has no
// values of the paper.
func VariantsOf(title, varied string, s *topology.Scenario, variants []Variant) Table {
	if len(s.Commands) > 0 {
		return Commands(title, varied, s, variants)
	}
	t := fill(title, compared(s, &measure.Results{Runs: runsOf(variants)}), variants, "")
	t.Columns[0].Name = varied
	return t
}

// runsOf returns the runs of variants.
func runsOf(variants []Variant) (runs []*measure.Run) {
	for _, v := range variants {
		runs = append(runs, v.Run)
	}
	return runs
}

// Compare returns one row per scheme: the duration of the congestion tree and the part
// of it in which senders were paused; the throughput dip and the recovery; the PAUSE
// frames on the links that pause the long flows, and on all others; the goodput of the
// long flows during the burst; and the completion of bursts and workloads.
func Compare(s *topology.Scenario, r *measure.Results) Table {
	return fill(Title(r), compared(s, r), schemes(r), r.Scenario)
}

// compared returns the columns of Compare.
func compared(s *topology.Scenario, r *measure.Results) []column {
	columns := []column{
		{Column{"", "scheme", true}, "", func(r *measure.Run) string { return r.Scheme }},
	}
	if !workloadsAlone(s) {
		columns = append(
			columns,
			column{Column{"ms", "tree", false}, "tree", func(r *measure.Run) string { return milli(r.Tree) }},
			column{Column{"ms", "paused", false}, "", func(r *measure.Run) string { return milli(r.PausedOutside) }},
			column{Column{"ms", "loss", false}, "", lossOf},
			column{Column{"ms", "recov.", false}, "recovery", recoveryOf},
		)
	}
	columns = append(columns, pauseColumns(s)...)
	columns = append(columns, flowColumns(r.Runs[0])...)
	if s.HasBursts() {
		columns = append(
			columns,
			column{Column{"burst", "done", false}, "", func(r *measure.Run) string { return fmt.Sprintf("%d/%d", r.Burst.Completed, r.Burst.Flows) }},
			column{Column{"burst", "p50 ms", false}, "", func(r *measure.Run) string { return completion(r, r.Burst.P50) }},
			column{Column{"burst", "p99 ms", false}, "", func(r *measure.Run) string { return completion(r, r.Burst.P99) }},
		)
	}
	columns = append(columns, endlessColumns(r)...)
	columns = append(columns, workloadColumns(r)...)
	columns = append(columns, creditColumns(r)...)
	columns = append(columns, dropColumns(r.Runs)...)
	return append(columns, column{Column{"", "digest", true}, "", func(r *measure.Run) string { return r.Digest }})
}

// dropColumns count the dropped frames and, if there are any, the frames lost and
// damaged by links.
func dropColumns(runs []*measure.Run) []column {
	columns := []column{{Column{"", "drops", false}, "", func(r *measure.Run) string { return fmt.Sprint(r.Drops) }}}
	if slices.ContainsFunc(runs, func(r *measure.Run) bool { return r.Errors != nil }) {
		columns = append(
			columns,
			column{Column{"on links", "lost", false}, "", func(r *measure.Run) string { return fmt.Sprint(r.LinkLost) }},
			column{Column{"on links", "damaged", false}, "", func(r *measure.Run) string { return fmt.Sprint(r.LinkDamaged) }},
		)
	}
	return columns
}

// endlessColumns compare the goodput of the endless flows of bursts, if there are any.
func endlessColumns(r *measure.Results) (columns []column) {
	if len(r.Runs[0].Endless) == 0 {
		return nil
	}
	for _, q := range []struct {
		name     string
		perMille int
	}{{"min", 0}, {"p50", 500}, {"max", 1000}} {
		columns = append(columns, column{Column{"endless: Gbit/s", q.name, false}, "", func(r *measure.Run) string {
			return giga(r.EndlessGoodput(q.perMille))
		}})
	}
	return columns
}

// creditColumns show the use of credit, if any run granted credit.
func creditColumns(r *measure.Results) []column {
	if !slices.ContainsFunc(r.Runs, func(r *measure.Run) bool { return r.Credit != nil }) {
		return nil
	}
	megabytes := func(of func(*measure.Credit) unit.Bytes) func(*measure.Run) string {
		return func(r *measure.Run) string {
			if r.Credit == nil {
				return "-"
			}
			return fmt.Sprintf("%.1f", float64(of(r.Credit))/1e6)
		}
	}
	return []column{
		{Column{"credit MB", "granted", false}, "", megabytes(func(c *measure.Credit) unit.Bytes { return c.Granted })},
		{Column{"credit MB", "wasted", false}, "", megabytes(func(c *measure.Credit) unit.Bytes { return c.Wasted })},
		{Column{"credit MB", "lost", false}, "", megabytes(func(c *measure.Credit) unit.Bytes { return c.Lost })},
	}
}

// pauseColumns count PAUSE frames on each link of interest, and on all others together.
func pauseColumns(s *topology.Scenario) (columns []column) {
	const group = "PAUSE frames"
	links := victimLinks(s)
	for _, link := range links {
		columns = append(columns, column{Column{group, link, false}, "pause " + link, func(r *measure.Run) string {
			return fmt.Sprint(pauseOn(r, link).XOFF)
		}})
	}
	rest := "others"
	if len(links) == 0 {
		rest = allLinks
	}
	return append(columns, column{Column{group, rest, false}, "", func(r *measure.Run) string {
		return fmt.Sprint(pauseElsewhere(r, links).XOFF)
	}})
}

// flowColumns show the goodput of the first long flows during the burst, or over the
// whole run without a burst.
func flowColumns(run *measure.Run) (columns []column) {
	group := "Gbit/s in burst"
	if run.Burst.Flows == 0 {
		group = "Gbit/s"
	}
	for i, f := range run.Flows[:min(len(run.Flows), mostColumns)] {
		columns = append(columns, column{Column{group, f.Name, false}, "burst " + f.Name, func(r *measure.Run) string {
			if r.Burst.Flows == 0 {
				return giga(r.Flows[i].Goodput)
			}
			return giga(r.Flows[i].BurstGoodput)
		}})
	}
	return columns
}

// victimLinks returns the links on which a PAUSE blocks long flows, at most
// mostColumns.
func victimLinks(s *topology.Scenario) []string {
	links := measure.VictimLinks(s)
	return links[:min(len(links), mostColumns)]
}

// pauseOn returns the pauses on a link, or the zero value if it had none.
func pauseOn(r *measure.Run, link string) measure.Pause {
	for _, p := range r.Pauses {
		if p.Link == link {
			return p
		}
	}
	return measure.Pause{Link: link}
}

// pauseElsewhere sums the pauses on all other links.
func pauseElsewhere(r *measure.Run, links []string) (sum measure.Pause) {
	for _, p := range r.Pauses {
		sum.XOFF += p.XOFF
		sum.Paused += p.Paused
	}
	for _, link := range links {
		p := pauseOn(r, link)
		sum.XOFF -= p.XOFF
		sum.Paused -= p.Paused
	}
	return sum
}

// lossOf returns the throughput dip in milliseconds, with a leading ">" if the run
// ended first.
func lossOf(r *measure.Run) string {
	if r.Losing() {
		return ">" + milli(r.Loss)
	}
	return milli(r.Loss)
}

// recoveryOf returns the recovery in milliseconds, with a leading ">" if the run ended
// first.
func recoveryOf(r *measure.Run) string {
	if r.Unrecovered() {
		return ">" + milli(r.Recovery)
	}
	return milli(r.Recovery)
}

// completion returns a percentile of the burst's completion times, or "-" if no flow
// has completed.
func completion(r *measure.Run, percentile unit.Time) string {
	if r.Burst.Completed == 0 {
		return "-"
	}
	return milli(percentile)
}

func milli(t unit.Time) string { return fmt.Sprintf("%.2f", t.Seconds()*1e3) }

func giga(r unit.Rate) string { return fmt.Sprintf("%.2f", float64(r)/1e9) }
