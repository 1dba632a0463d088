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

// Column is what stands at its head: what several columns share, or "", and its
// own name.
type Column struct {
	Group, Name string
	// Text is left-aligned; numbers are right-aligned.
	Text bool
}

// Row is one scheme.
type Row []Cell

// Cell is a value, and what the paper says it is, "" if it says nothing.
type Cell struct {
	Text, Paper, Source string
	// Least and Most are those of several runs, of which Text is the median; "" for one
	// run.
	Least, Most string
}

// mostColumns bounds the columns of links, and those of flows.
const mostColumns = 4

// column is a column of the comparison and how it is filled.
type column struct {
	Column
	key   string // of the paper's value
	value func(*measure.Run) string
}

// TableOf is the table of a run: of its commands, if it has any, else Compare.
func TableOf(s *topology.Scenario, r *measure.Results) Table {
	if len(s.Commands) == 0 {
		return Compare(s, r)
	}
	return Commands(Title(r), "scheme", s, schemes(r))
}

// schemes gives a row per scheme.
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

// VariantsOf is the table of runs under several values of what is varied: of their
// commands, if there are any, else as Compare. No paper speaks of them.
func VariantsOf(title, varied string, s *topology.Scenario, variants []Variant) Table {
	if len(s.Commands) > 0 {
		return Commands(title, varied, s, variants)
	}
	t := fill(title, compared(s, &measure.Results{Runs: runsOf(variants)}), variants, "")
	t.Columns[0].Name = varied
	return t
}

// runsOf gives the runs of variants.
func runsOf(variants []Variant) (runs []*measure.Run) {
	for _, v := range variants {
		runs = append(runs, v.Run)
	}
	return runs
}

// Compare gives one row per scheme: how long the congestion tree lasted, for how much of it
// senders were paused, how long the loss lasted and the recovery took, the PAUSE frames on the links that hold the long flows and on all
// others, what the long flows got during the burst, and how bursts and workloads fared.
func Compare(s *topology.Scenario, r *measure.Results) Table {
	return fill(Title(r), compared(s, r), schemes(r), r.Scenario)
}

// compared are the columns of Compare.
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

// dropColumns count the frames that were dropped and, where links have any, those that
// links lost and damaged.
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

// endlessColumns compare the endless flows of bursts by their goodput, if there are any.
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

// creditColumns tell what became of the credit, if any run was by credit.
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

// pauseColumns count PAUSE frames: on each link that matters, and on all others
// together.
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

// flowColumns give the goodput of the first long flows during the burst, or over
// all of the run if there is no burst.
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

// victimLinks are the links on which a PAUSE holds long flows, as many as have a
// column.
func victimLinks(s *topology.Scenario) []string {
	links := measure.VictimLinks(s)
	return links[:min(len(links), mostColumns)]
}

// pauseOn gives the pauses on a link, none if it had none.
func pauseOn(r *measure.Run, link string) measure.Pause {
	for _, p := range r.Pauses {
		if p.Link == link {
			return p
		}
	}
	return measure.Pause{Link: link}
}

// pauseElsewhere sums the pauses on all links but those.
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

// lossOf is the loss in milliseconds, ">" before it if the run ended before it
// did.
func lossOf(r *measure.Run) string {
	if r.Losing() {
		return ">" + milli(r.Loss)
	}
	return milli(r.Loss)
}

// recoveryOf is the recovery in milliseconds, ">" before it if the run ended
// before it did.
func recoveryOf(r *measure.Run) string {
	if r.Unrecovered() {
		return ">" + milli(r.Recovery)
	}
	return milli(r.Recovery)
}

// completion is a percentile of the burst's completion times, "-" while no flow has
// completed.
func completion(r *measure.Run, percentile unit.Time) string {
	if r.Burst.Completed == 0 {
		return "-"
	}
	return milli(percentile)
}

func milli(t unit.Time) string { return fmt.Sprintf("%.2f", t.Seconds()*1e3) }

func giga(r unit.Rate) string { return fmt.Sprintf("%.2f", float64(r)/1e9) }
