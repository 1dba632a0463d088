package main

import (
	"bytes"
	"fmt"
	"strings"
)

// titles names the sections of the page.
var titles = map[string]string{
	"CETH": "ACK that carries congestion information",
	"CBRC": "credit-based rate control with AIMD",
	"PCN":  "photonic congestion notification",
	"GET":  "pacing of data requests in the NIC",
	"RTTX": "conversion of ECN into RTT in the switch",
}

// tally counts rows by what is known of them.
type tally struct{ held, open, other int }

func (t *tally) count(r row, tests []test) {
	switch {
	case len(tests) > 0:
		t.held++
	case r.reason != "":
		t.other++
	default:
		t.open++
	}
}

// render writes the page: totals, then a table per section in the order of rows.
func render(rows []row, cited map[string][]test) []byte {
	var sections []string
	tallies := map[string]*tally{}
	total := &tally{}
	for _, r := range rows {
		s := r.section()
		if tallies[s] == nil {
			sections, tallies[s] = append(sections, s), &tally{}
		}
		tallies[s].count(r, cited[r.id])
		total.count(r, cited[r.id])
	}
	var b bytes.Buffer
	b.WriteString("# Requirements and the tests that hold them\n\n" +
		"Written by `go run ./docs/internal/requirements` from [requirements.csv](requirements.csv) and the\n" +
		"comments of the tests; do not edit. A row is *open* until a test cites it.\n\n" +
		"| section | rows | held by a test | open | not behavioural |\n| --- | --: | --: | --: | --: |\n")
	for _, s := range sections {
		tallies[s].line(&b, fmt.Sprintf("[%s](#%s)", s, strings.ToLower(s)))
	}
	total.line(&b, "all")
	for i, r := range rows {
		if i == 0 || rows[i-1].section() != r.section() {
			heading(&b, r.section())
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.id, cell(r.title), proof(r, cited[r.id]))
	}
	return b.Bytes()
}

func (t *tally) line(b *bytes.Buffer, name string) {
	fmt.Fprintf(b, "| %s | %d | %d | %d | %d |\n", name, t.held+t.open+t.other, t.held, t.open, t.other)
}

func heading(b *bytes.Buffer, section string) {
	fmt.Fprintf(b, "\n## %s\n\n", section)
	if title := titles[section]; title != "" {
		fmt.Fprintf(b, "%s.\n\n", strings.ToUpper(title[:1])+title[1:])
	}
	b.WriteString("| ID | requirement | test |\n| --- | --- | --- |\n")
}

// cell makes text safe inside a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

func proof(r row, tests []test) string {
	switch {
	case len(tests) > 0:
		links := make([]string, len(tests))
		for i, t := range tests {
			name := t.file
			if t.name != "" {
				name += ":" + t.name
			}
			links[i] = fmt.Sprintf("[%s](../%s)", name, t.file)
		}
		return strings.Join(links, "<br>")
	case r.reason != "":
		return "*not behavioural*: " + cell(r.reason)
	}
	return "*open*"
}
