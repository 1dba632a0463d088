// Package store keeps on disk what the nodes of racks tell: the spans of their
// messages and the points of their time series, and answers questions about them.
// Each run has a file of its own (bbolt), so that the oldest run leaves by the
// removal of a file. What Write has answered is on disk, and survives the end of
// the process however it ends. It knows no network; what comes in is checked and
// put into its types by package collector.
//
// A folder holds
//
//	totals.db           what left with runs that are gone; its lock is the folder's
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
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// maxRuns is how many runs are held at most; each is an open file.
const maxRuns = 500

// Foreign is the run of data that names none, or whose times are not its run's: of
// clients that are no nodes, on wall time. It is the latest run if there is no other.
const Foreign = "default"

// lockLimit is how long Open waits for a folder that another process has open.
const lockLimit = time.Second

// ErrNotFound says that a run or a trace is not held.
var ErrNotFound = errors.New("not held")

// ErrFull says that the run alone fills the store.
var ErrFull = errors.New("the run alone fills the store")

// Options bound a store.
type Options struct {
	MaxSize     int64   // bytes of all files; 0 is no bound
	KeepSlowest float64 // share of the traces of a flow whose details are kept when a run closes, 0 to 1; 0 or 1 keeps all
	ReadOnly    bool    // for questions alone
}

// Store is a folder of runs. Write, CloseRun and CloseIdle may be called from
// several goroutines; so may all questions at the same time.
type Store struct {
	dir     string
	options Options
	totals  *bbolt.DB

	writing sync.Mutex // held by whoever changes files

	mu   sync.RWMutex // of runs; held for reading while a file is read
	runs []*run       // by number: the oldest first
	last uint64       // the largest number that a run has had, as far as files and totals tell
	gone Totals       // what left with runs that are gone

	found   []Damage // when the store was opened
	damaged int      // runs in the folder, those that were set aside earlier too
}

// Open opens the folder, and makes it unless it is to be read only. A run that is
// damaged is left out, and set aside unless the folder is to be read only (Damaged). A
// folder that another process has open is an error.
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
		return nil, fmt.Errorf("open store: %s is open in another process: ask the collector that runs on it", dir)
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("open store: no collector has written to %s", dir)
	case err != nil:
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	s := &Store{dir: dir, options: o, totals: totals}
	if err := s.load(); err != nil {
		_ = s.Close() // the first error tells more
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

// Size gives the bytes of all files.
func (s *Store) Size() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.size()
}

func (s *Store) size() (n int64) {
	for _, r := range s.runs {
		n += r.bytes.Load()
	}
	return n
}

// latest gives the runs, the latest first, and Foreign at the end. The lock is held.
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

// find gives the run of that id; "" is the latest. The lock is held.
func (s *Store) find(id string) (*run, error) {
	if id == "" {
		if len(s.runs) == 0 {
			return nil, fmt.Errorf("no run is held: %w", ErrNotFound)
		}
		return s.latest()[0], nil
	}
	for _, r := range s.runs {
		if r.info.Run == id {
			return r, nil
		}
	}
	return nil, fmt.Errorf("run %q: %w; held are %s", id, ErrNotFound, s.some())
}

// some names the latest runs, for a message.
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
