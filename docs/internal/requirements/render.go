package main

import (
	"bytes"
	"fmt"
	"strings"
)

// titles are the titles of the sections of the page.
var titles = map[string]string{
	"CETH":  "ACK that carries congestion information",
	"CBRC":  "credit-based rate control with AIMD",
	"PCN":   "photonic congestion notification",
	"GET":   "pacing of data requests in the NIC",
	"RTTX":  "conversion of ECN into RTT in the switch",
	"MRC":   "selective recovery over several paths",
	"EV":    "entropy of each packet, chosen by the sender",
	"PATH":  "several paths between two hosts",
	"TOOL":  "files and queries for other programs",
	"TRUST": "runs under faults",
	"TRIM":  "packets trimmed instead of dropped",
	"NSCC":  "network signalled congestion control of Ultra Ethernet",
	"COLL":  "collectives' steps, times and explanations",
	"PROG":  "steps of hosts, and flows that wait",
	"IMP":   "traces, captures and files of other simulators",
	"RCCC":  "receiver credit of Ultra Ethernet over several paths",
}

// A tally counts rows by status.
type tally map[status]int

// statusOf returns the row's status. A held row that no test cites is open.
func statusOf(r row, tests []test) status {
	if r.status == held && len(tests) == 0 {
		return open
	}
	return r.status
}

const preface = `# Requirements and their tests

Written by ` + "`go run ./docs/internal/requirements`" + ` from [requirements.csv](requirements.csv) and the
comments of the tests; do not edit.

| status | meaning |
| --- | --- |
| held | the tests cover the whole text |
| partly | the tests cover a part; the note says what is missing |
| measured, does not hold | the note starts with the measured figure; a test checks it |
| open | no test cites the row; a note says what it waits for |
| not behavioural | no test can check the row; the note says why |

The basis of a row: S, the source states it; A, the source is ambiguous, and the row states the interpretation that is implemented; M, the
source omits it, and the row states the choice made here; N, not behavioural. ` + "`uec_and_peers.md`" + `, which some rows name, is a collection of public
facts that is not part of this repository.

`

// render returns the page: totals, then one table per section in the order of rows.
func render(rows []row, cited map[string][]test) []byte {
	var order []string // of the sections
	tables := map[string]*bytes.Buffer{}
	tallies := map[string]tally{"all": {}}
	for _, r := range rows {
		section, tests := r.section(), cited[r.id]
		if tables[section] == nil {
			order = append(order, section)
			tables[section], tallies[section] = newTable(section), tally{}
		}
		tallies[section][statusOf(r, tests)]++
		tallies["all"][statusOf(r, tests)]++
		fmt.Fprintf(tables[section], "| %s | %s | %s (%s) | %s | %s |\n", r.id, cell(r.title), cell(r.source), cell(r.basis), verdict(r, tests), links(tests))
	}
	var b bytes.Buffer
	b.WriteString(preface + "| section | rows |")
	for _, c := range statuses {
		fmt.Fprintf(&b, " %s |", c)
	}
	b.WriteString("\n| --- | --: |" + strings.Repeat(" --: |", len(statuses)) + "\n")
	for _, s := range order {
		tallies[s].line(&b, fmt.Sprintf("[%s](#%s)", s, strings.ToLower(s)))
	}
	tallies["all"].line(&b, "all")
	for _, s := range order {
		b.Write(tables[s].Bytes())
	}
	return b.Bytes()
}

// line writes a row of the table of totals.
func (t tally) line(b *bytes.Buffer, name string) {
	rows, cells := 0, ""
	for _, c := range statuses {
		rows += t[c]
		cells += fmt.Sprintf(" %d |", t[c])
	}
	fmt.Fprintf(b, "| %s | %d |%s\n", name, rows, cells)
}

// newTable returns the head of the table of a section.
func newTable(section string) *bytes.Buffer {
	b := bytes.NewBufferString("\n## " + section + "\n\n")
	if title := titles[section]; title != "" {
		b.WriteString(strings.ToUpper(title[:1]) + title[1:] + ".\n\n")
	}
	b.WriteString("| ID | requirement | source (basis) | status | tests |\n| --- | --- | --- | --- | --- |\n")
	return b
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
