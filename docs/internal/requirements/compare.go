package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// compare reports every row of the module at root whose text, source or basis differs
// from the tables in the Markdown page.
func compare(root, page string) error {
	rows, err := readRows(filepath.Join(root, rowsFile))
	if err != nil {
		return err
	}
	src, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	want := tableRows(string(src))
	var faults []error
	for _, r := range rows {
		w, ok := want[r.id]
		delete(want, r.id)
		switch have := [3]string{r.title, r.source, r.basis}; {
		case !ok:
			faults = append(faults, fmt.Errorf("%s: not in %s", r.id, page))
		case have != w:
			faults = append(faults, fmt.Errorf("%s: %s has %q, %s has %q", r.id, rowsFile, have, page, w))
		}
	}
	for id := range want {
		faults = append(faults, fmt.Errorf("%s: not in %s", id, rowsFile))
	}
	return errors.Join(faults...)
}

// tableRows returns requirement, source and basis of each table row that starts with an
// ID.
func tableRows(page string) map[string][3]string {
	rows := map[string][3]string{}
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 4 {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if id := cells[0]; id != "" && idPattern.FindString(id) == id {
			rows[id] = [3]string(cells[1:])
		}
	}
	return rows
}
