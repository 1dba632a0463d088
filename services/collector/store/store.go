// Package store keeps the telemetry of racks on disk, the spans of their messages and
// the points of their time series, and answers queries about it. Each run has its own
// file (bbolt), so that evicting the oldest run means deleting a file. Data is on disk
// once Write has returned, and survives a crash of the process. The package knows no
// network; package collector validates received data and converts it to the store's
// types.
//
// A folder contains
//
//	totals.db           counts of evicted runs; its lock is the folder's lock
//	000017.db           the seventeenth run
//	000016.db.damaged   a run that could not be read, set aside
package store

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// maxRuns is the maximum number of stored runs; each is an open file.
const maxRuns = 500

// Foreign is the run of data that names no run or whose times lie outside its run: of
// clients that are not nodes, in wall-clock time. It counts as the latest run only if
// there is no other.
const Foreign = "default"

// ErrNotFound means that a run or a trace is not stored.
var ErrNotFound = errors.New("not stored")

// ErrFull means that a run alone exceeds the size limit of the store.
var ErrFull = errors.New("the run alone fills the store")

// Options configure a store.
type Options struct {
	MaxSize     int64   // maximum size of all files in bytes; 0 means unlimited
	KeepSlowest float64 // fraction of the traces of a flow whose details are kept when a run closes, 0 to 1; 0 or 1 keeps all
	ReadOnly    bool    // allow queries only
}

// Store is a folder of runs. Write, CloseRun and CloseIdle may be called from several
// goroutines, and so may all queries at the same time.
type Store struct {
	dir     string
	options Options
	totals  *bbolt.DB

	writing sync.Mutex // held while files change

	mu      sync.RWMutex // guards runs; held for reading while a file is read
	runs    []*run       // by number, the oldest first
	last    uint64       // largest run number found in files and totals
	evicted Totals       // counts of evicted runs

	found   []Damage // found when the store was opened
	damaged int      // damaged runs in the folder, including those set aside earlier
}

// Open opens the folder, and creates it unless ReadOnly is set. It leaves out damaged
// runs, and sets them aside unless ReadOnly is set (see Damaged). It returns an error if
// another process has the folder open.
func Open(dir string, o Options) (*Store, error) {
	if !o.ReadOnly {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("open store: %w", err)
		}
	}
	path := filepath.Join(dir, "totals.db")
	totals, err := bbolt.Open(path, 0o644, &bbolt.Options{ReadOnly: o.ReadOnly, Timeout: lockLimit})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("open store: %s is open in another process: query the collector that uses it", dir)
	case errors.Is(err, os.ErrNotExist):
		if _, err := os.Stat(dir); err != nil {
			return nil, fmt.Errorf("open store: %w", err)
		}
		return nil, fmt.Errorf("open store: no collector has written to %s", dir)
	case err != nil:
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	s := &Store{dir: dir, options: o, totals: totals}
	if err := s.load(); err != nil {
		_ = s.Close() // the first error matters more
		return nil, fmt.Errorf("open store %s: %w", dir, err)
	}
	return s, nil
}

// Close closes the files.
func (s *Store) Close() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, r := range s.runs {
		errs = append(errs, r.db.Close())
	}
	s.runs = nil
	return errors.Join(append(errs, s.totals.Close())...)
}

// view runs do in a read transaction of the run with the given ID, or of the latest run
// if the ID is empty.
func (s *Store) view(id string, do func(r *run, tx *bbolt.Tx) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r, err := s.find(id)
	if err != nil {
		return err
	}
	return r.db.View(func(tx *bbolt.Tx) error { return do(r, tx) })
}

// Size returns the size of all files in bytes.
func (s *Store) Size() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.size()
}

func (s *Store) size() (n int64) {
	for _, r := range s.runs {
		if i, err := os.Stat(r.path); err == nil {
			n += i.Size()
		}
	}
	return n
}

// latest returns the runs, the latest first and Foreign last. The caller holds mu.
func (s *Store) latest() []*run {
	runs := slices.Clone(s.runs)
	slices.Reverse(runs)
	for i, r := range runs {
		if r.info.Run == Foreign {
			return append(slices.Delete(runs, i, i+1), r)
		}
	}
	return runs
}

// lookup returns the run with the given ID; "" means the latest run.
func (s *Store) lookup(id string) (*run, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.find(id)
}

// find returns the run with the given ID; "" means the latest run. The caller holds mu.
func (s *Store) find(id string) (*run, error) {
	if id == "" {
		if len(s.runs) == 0 {
			return nil, fmt.Errorf("latest run: %w: the store is empty", ErrNotFound)
		}
		return s.latest()[0], nil
	}
	for _, r := range s.runs {
		if r.info.Run == id {
			return r, nil
		}
	}
	return nil, fmt.Errorf("run %q: %w; stored runs: %s", id, ErrNotFound, s.some())
}

// some lists the latest runs for an error message.
func (s *Store) some() string {
	const most = 5
	var names []string
	for _, r := range s.latest() {
		if len(names) == most {
			names = append(names, "...")
			break
		}
		names = append(names, r.info.Run)
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}
