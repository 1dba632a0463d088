package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

const rowsFile = "docs/requirements.csv"

// idPattern matches an ID. The second group is the end of a range such as "PCN-21..24".
var idPattern = regexp.MustCompile(`\b[A-Z]{2,}-([0-9]+)(?:\.\.([0-9]+))?\b`)

// A row is one requirement.
type row struct {
	id    string // "PCN-21"
	title string // the whole text
	// source is the place in the source document, such as "§5.1" or "[0047]".
	source string
	// basis is the basis of the text: S, A or M (see render).
	basis  string
	status status
	// note says what is missing, or gives the figure or the reason. It is "" if the row
	// is held.
	note string
}

// A status says how much of a row holds.
type status string

const (
	// held means that the citing tests cover the whole text. While no test cites the
	// row, it is open.
	held status = "held"
	// partly means that the citing tests cover a part. The note says what is missing.
	partly status = "partly"
	// refuted means that a measurement contradicts the row. The note starts with the
	// measured figure, and a citing test checks it.
	refuted status = "measured, does not hold"
	// open means that no test cites the row. The note, if any, says what the row waits
	// for.
	open status = "open"
	// notBehavioural means that no test can check the row. The note says why.
	notBehavioural status = "not behavioural"
)

// statuses lists them in the order of the table of totals.
var statuses = []status{held, partly, refuted, open, notBehavioural}

// section returns the part of the ID before the number.
func (r row) section() string {
	s, _, _ := strings.Cut(r.id, "-")
	return s
}

var header = []string{"id", "requirement", "source", "basis", "status", "note"}

// readRows reads the requirements and reports every malformed row.
func readRows(file string) ([]row, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(records) == 0 || !slices.Equal(records[0], header) {
		return nil, fmt.Errorf("%s: the first line must be %s", file, strings.Join(header, ","))
	}
	var rows []row
	var faults []error
	seen := map[string]bool{}
	for i, rec := range records[1:] {
		r := row{rec[0], rec[1], rec[2], rec[3], status(rec[4]), rec[5]}
		if fault := faultOf(r); fault != "" {
			faults = append(faults, fmt.Errorf("%s: record %d: %s", file, i+2, fault))
		}
		if seen[r.id] {
			faults = append(faults, fmt.Errorf("%s: record %d: duplicate ID %s", file, i+2, r.id))
		}
		seen[r.id] = true
		rows = append(rows, r)
	}
	return rows, errors.Join(faults...)
}

func faultOf(r row) string {
	switch {
	case idPattern.FindString(r.id) != r.id || r.id == "":
		return fmt.Sprintf("invalid ID %q: must be letters, a dash and a number", r.id)
	case r.title == "" || r.source == "" || r.basis == "":
		return r.id + " needs a text, a source and a basis"
	case !slices.Contains(statuses, r.status):
		return fmt.Sprintf("%s: invalid status %q: must be one of %q", r.id, r.status, statuses)
	case r.status == held && r.note != "":
		return r.id + " is held: remove the note"
	case r.status == partly && r.note == "":
		return r.id + " is held partly: the note must say what is missing"
	case r.status == refuted && figure(r.note) == "":
		return r.id + " does not hold: the note must start with the measured figure"
	case r.status == notBehavioural && r.note == "":
		return r.id + " is not behavioural: the note must say why"
	}
	return ""
}

// figurePattern matches a number that is not part of a name, such as the 0 of F0.
var figurePattern = regexp.MustCompile(`(?:^|[^A-Za-z0-9.])([0-9]+(?:\.[0-9]+)?)`)

// figure returns the first number in text, or "" if there is none.
func figure(text string) string {
	if m := figurePattern.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}
