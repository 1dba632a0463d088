package main

import (
	"bytes"
	"fmt"
	"strings"
)

// titles are the titles of the sections of the page.
var titles = map[string]string{
	"CETH": "ACK that carries congestion information",
	"CBRC": "credit-based rate control with AIMD",
	"PCN":  "photonic congestion notification",
	"GET":  "pacing of data requests in the NIC",
	"RTTX": "conversion of ECN into RTT in the switch",
}

// columns are the statuses, in the order of the table of totals.
var columns = []status{held, partly, refuted, open, notBehavioural}

// A tally counts rows by status.
type tally map[status]int

// statusOf returns the row's status. A held row that no test cites is open.
func statusOf(r row, tests []test) status {
	if r.status == held && len(tests) == 0 {
		return open
	}
	return r.status
}

const preface = `# Requirements and the tests that hold them

Written by ` + "`go run ./docs/internal/requirements`" + ` from [requirements.csv](requirements.csv) and the
comments of the tests; do not edit.

| status | meaning |
| --- | --- |
| held | the tests hold the whole text |
| partly | the tests hold a part; the note says what is missing |
| measured, does not hold | the note starts with the figure that was measured; a test holds it |
| open | no test cites the row; a note says what it waits for |
| not behavioural | no test can hold the row; the note says why |

The basis of a row: S, the source states it; A, the source is ambiguous, and the row gives the reading that is built; M, the
source lacks it, and the row gives the filling; N, not behavioural. ` + "`uec_and_peers.md`" + `, which some rows name, is a collection of public
facts that is not part of this repository.

`

// render returns the page: totals, then one table per section in the order of rows.
func render(rows []row, cited map[string][]test) []byte {
	var sections []string
	tallies := map[string]tally{}
	total := tally{}
	for _, r := range rows {
		s := r.section()
		if tallies[s] == nil {
			sections, tallies[s] = append(sections, s), tally{}
		}
		status := statusOf(r, cited[r.id])
		tallies[s][status]++
		total[status]++
	}
	var b bytes.Buffer
	b.WriteString(preface + "| section | rows |")
	for _, c := range columns {
		fmt.Fprintf(&b, " %s |", c)
	}
	b.WriteString("\n| --- | --: |" + strings.Repeat(" --: |", len(columns)) + "\n")
	for _, s := range sections {
		tallies[s].line(&b, fmt.Sprintf("[%s](#%s)", s, strings.ToLower(s)))
	}
	total.line(&b, "all")
	for i, r := range rows {
		if i == 0 || rows[i-1].section() != r.section() {
			heading(&b, r.section())
		}
		fmt.Fprintf(&b, "| %s | %s | %s (%s) | %s | %s |\n", r.id, cell(r.title), cell(r.source), cell(r.basis),
			verdict(r, cited[r.id]), links(cited[r.id]))
	}
	return b.Bytes()
}

func (t tally) line(b *bytes.Buffer, name string) {
	rows := 0
	for _, c := range columns {
		rows += t[c]
	}
	fmt.Fprintf(b, "| %s | %d |", name, rows)
	for _, c := range columns {
		fmt.Fprintf(b, " %d |", t[c])
	}
	b.WriteByte('\n')
}

func heading(b *bytes.Buffer, section string) {
	fmt.Fprintf(b, "\n## %s\n\n", section)
	if title := titles[section]; title != "" {
		fmt.Fprintf(b, "%s.\n\n", strings.ToUpper(title[:1])+title[1:])
	}
	b.WriteString("| ID | requirement | source (basis) | status | tests |\n| --- | --- | --- | --- | --- |\n")
}

// cell escapes text for a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// verdict returns the row's status with its note.
func verdict(r row, tests []test) string {
	s := statusOf(r, tests)
	if r.note == "" {
		return string(s)
	}
	return fmt.Sprintf("**%s**: %s", s, cell(r.note))
}

func links(tests []test) string {
	links := make([]string, len(tests))
	for i, t := range tests {
		links[i] = fmt.Sprintf("[%s](../%s)", t, t.file)
	}
	return strings.Join(links, "<br>")
}
