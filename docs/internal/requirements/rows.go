package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// A row is one requirement.
type row struct {
	id    string // "PCN-21"
	title string // the whole text
	// source is the place in the source document, "§5.1" or "[0047]".
	source string
	// basis says what the text rests on: S, A or M (see render).
	basis  string
	status status
	// note says what is missing, gives the figure, or the reason; "" if the row
	// is held.
	note string
}

// A status says how much of a row holds.
type status string

const (
	// held is a row whose citing tests hold the whole text. While no test cites
	// it, it is open.
	held status = "held"
	// partly is a row whose citing tests hold a part; the note says what is missing.
	partly status = "partly"
	// refuted is a row that was measured and does not hold; the note starts with
	// the figure, which a citing test holds.
	refuted status = "measured, does not hold"
	// open is a row that no test cites; the note, if any, says what it waits for.
	open status = "open"
	// notBehavioural is a row that no test can hold; the note says why.
	notBehavioural status = "not behavioural"
)

var statuses = []status{held, partly, refuted, open, notBehavioural}

// section is the part of the ID before the number.
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
			faults = append(faults, fmt.Errorf("%s: record %d: %s stands twice", file, i+2, r.id))
		}
		seen[r.id] = true
		rows = append(rows, r)
	}
	return rows, errors.Join(faults...)
}

func faultOf(r row) string {
	switch {
	case idPattern.FindString(r.id) != r.id || r.id == "":
		return fmt.Sprintf("%q is no ID, want letters, a dash and a number", r.id)
	case r.title == "" || r.source == "" || r.basis == "":
		return r.id + " needs a text, a source and a basis"
	case !slices.Contains(statuses, r.status):
		return fmt.Sprintf("%s: status is %q, want one of %q", r.id, r.status, statuses)
	case r.status == held && r.note != "":
		return r.id + " is held, so it needs no note"
	case r.status == partly && r.note == "":
		return r.id + " is held partly: say what is missing"
	case r.status == refuted && figure(r.note) == "":
		return r.id + " does not hold: start the note with the figure that was measured"
	case r.status == notBehavioural && r.note == "":
		return r.id + " is not behavioural: say why"
	}
	return ""
}
