package store

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// fileName matches the name of a run's file: its number, and a suffix if the file is not
// in use.
var fileName = regexp.MustCompile(`^([0-9]+)\.db(.*)$`)

// load reads the totals and opens the runs.
func (s *Store) load() error {
	evicted, err := s.readTotals()
	if err != nil {
		return err
	}
	for number := range evicted {
		s.last = max(s.last, number)
	}
	files, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		m := fileName.FindStringSubmatch(f.Name())
		if m == nil {
			continue
		}
		number, err := strconv.ParseUint(m[1], 10, 64)
		if err != nil {
			continue
		}
		s.last = max(s.last, number)
		path := filepath.Join(s.dir, f.Name())
		switch suffix := m[2]; {
		case suffix == "" && !evicted[number]:
			if err := s.addFile(path, number); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		case suffix == "" || suffix == newSuffix:
			s.removeLeftover(path)
		case strings.HasPrefix(suffix, asideSuffix):
			s.damaged++
		}
	}
	slices.SortFunc(s.runs, func(a, b *run) int { return cmp.Compare(a.number, b.number) })
	return nil
}

// addFile opens the run in a file, or leaves it out if it is damaged.
func (s *Store) addFile(path string, number uint64) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() == 0 { // the process ended while it made the file
		s.removeLeftover(path)
		return nil
	}
	d, err := inspect(path)
	if err != nil {
		return err
	}
	if d != nil {
		return s.exclude(d)
	}
	r, err := openRun(path, number, s.options)
	if err != nil {
		return err
	}
	if r.info.Run == "" { // the process ended while it made the file
		defer s.removeLeftover(path)
		return r.db.Close()
	}
	s.runs = append(s.runs, r)
	return nil
}

// removeLeftover removes a file, unless the store is read-only.
func (s *Store) removeLeftover(path string) {
	if !s.options.ReadOnly {
		_ = os.Remove(path) // the next start tries again
	}
}
