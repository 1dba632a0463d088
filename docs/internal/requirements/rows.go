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
	title string
	// reason says why no test can hold the row, "" if one can.
	reason string
}

// section is the part of the ID before the number.
func (r row) section() string {
	s, _, _ := strings.Cut(r.id, "-")
	return s
}

var header = []string{"id", "behavioural", "requirement", "reason"}

// readRows reads the requirements. A row that is not behavioural must give its
// reason, and one that is must not.
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
		r := row{rec[0], rec[2], rec[3]}
		if fault := faultOf(r, rec[1]); fault != "" {
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

func faultOf(r row, behavioural string) string {
	switch {
	case idPattern.FindString(r.id) != r.id || r.id == "":
		return fmt.Sprintf("%q is no ID, want letters, a dash and a number", r.id)
	case r.title == "":
		return r.id + " has no text"
	case behavioural == "yes" && r.reason != "":
		return r.id + " is behavioural, so it needs no reason"
	case behavioural == "no" && r.reason == "":
		return r.id + " is not behavioural: say why"
	case behavioural != "yes" && behavioural != "no":
		return fmt.Sprintf("%s: behavioural is %q, want yes or no", r.id, behavioural)
	}
	return ""
}
