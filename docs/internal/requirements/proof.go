package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// hasFigure reports whether text contains number, not as part of another number.
func hasFigure(text, number string) bool {
	return regexp.MustCompile(`(?:^|[^0-9.])` + regexp.QuoteMeta(number) + `(?:[^0-9.]|\.[^0-9]|\.?$)`).MatchString(text)
}

// prove checks the status of each row against the tests that cite it. A row that is
// held partly needs a test. A row that does not hold needs a test whose source contains
// the figure. A row that is open or not behavioural must have no test.
func prove(rows []row, cited map[string][]test) error {
	var faults []error
	fault := func(r row, text string) {
		faults = append(faults, fmt.Errorf("%s: %s (%s): %s", rowsFile, r.id, r.status, text))
	}
	for _, r := range rows {
		tests := cited[r.id]
		switch {
		case r.status == partly && len(tests) == 0:
			fault(r, "no test cites it")
		case r.status == refuted && !measured(tests, figure(r.note)):
			fault(r, "no test that cites it has the figure "+figure(r.note))
		case (r.status == open || r.status == notBehavioural) && len(tests) > 0:
			fault(r, tests[0].String()+" cites it: give it another status")
		}
	}
	return errors.Join(faults...)
}

func measured(tests []test, number string) bool {
	return slices.ContainsFunc(tests, func(t test) bool { return hasFigure(t.source, number) })
}
