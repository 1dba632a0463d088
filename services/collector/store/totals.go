package store

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"go.etcd.io/bbolt"
)

// Counts are counts of the spans or the points of a run.
type Counts struct {
	Received   int64 // received in deliveries
	Stored     int64 // new
	Duplicates int64 // already stored
	Rejected   int64 // invalid, or the run alone fills the store
	Held       int64 // on disk now
	SampledOut int64 // deleted when the run closed
	Evicted    int64 // deleted with their run
}

func (c *Counts) add(d Counts) {
	c.Received += d.Received
	c.Stored += d.Stored
	c.Duplicates += d.Duplicates
	c.Rejected += d.Rejected
	c.Held += d.Held
	c.SampledOut += d.SampledOut
	c.Evicted += d.Evicted
}

// received adds the numbers of valid, stored and rejected items of a delivery.
func (c *Counts) received(valid, stored, rejected int64) {
	c.add(Counts{Received: valid + rejected, Stored: stored, Duplicates: valid - stored, Rejected: rejected, Held: stored})
}

// evicted returns the counts of a run after its eviction.
func (c Counts) evicted() Counts {
	c.Evicted, c.Held = c.Evicted+c.Held, 0
	return c
}

// Totals are the counts of all runs since the store was created: received = stored +
// duplicates + rejected, stored = held + evicted + sampled out.
type Totals struct {
	Spans, Points Counts
	Evicted       int64 // runs
}

// Totals returns the counts of all runs, including evicted ones.
func (s *Store) Totals() Totals {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t := s.evicted
	for _, r := range s.runs {
		c := r.counts.Load()
		t.Spans.add(c.Spans)
		t.Points.add(c.Points)
	}
	return t
}

var (
	bucketTotals = []byte("totals")
	keyEvicted   = []byte("gone")    // counts of evicted runs
	keyNumbers   = []byte("numbers") // numbers of evicted runs whose file may still exist
)

// readTotals reads the counts of evicted runs, and returns the numbers of those whose
// file may still exist.
func (s *Store) readTotals() (numbers map[uint64]bool, err error) {
	err = s.totals.View(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucketTotals)
		if b == nil {
			return nil
		}
		if err := getJSON(b, keyNumbers, &numbers); err != nil {
			return err
		}
		return getJSON(b, keyEvicted, &s.evicted)
	})
	return numbers, err
}

// evict deletes the oldest runs, except keep, until the store is within its limits. The
// caller holds writing.
func (s *Store) evict(keep *run) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.runs) > 1 && (len(s.runs) > maxRuns || s.options.MaxSize > 0 && s.size() > s.options.MaxSize) {
		oldest := slices.IndexFunc(s.runs, func(r *run) bool { return r != keep })
		if err := s.remove(oldest); err != nil {
			return err
		}
	}
	return nil
}

// remove evicts the run at index i. One transaction records the eviction and the new
// counts of evicted runs; the next start deletes a file that could not be removed. Until then its number stays
// among those of evicted runs, so that it is not counted as a stored run too.
func (s *Store) remove(i int) error {
	r := s.runs[i]
	c, evicted := r.counts.Load(), s.evicted
	evicted.Spans.add(c.Spans.evicted())
	evicted.Points.add(c.Points.evicted())
	evicted.Evicted++
	err := s.totals.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(bucketTotals)
		if err != nil {
			return err
		}
		if err := putJSON(b, keyEvicted, evicted); err != nil {
			return err
		}
		numbers := map[uint64]bool{}
		if err := getJSON(b, keyNumbers, &numbers); err != nil {
			return err
		}
		maps.DeleteFunc(numbers, func(number uint64, _ bool) bool { return s.removed(number) })
		numbers[r.number] = true
		return putJSON(b, keyNumbers, numbers)
	})
	if err != nil {
		return err
	}
	s.evicted, s.runs = evicted, slices.Delete(slices.Clone(s.runs), i, i+1)
	return r.remove()
}

// removed reports whether the file of a run is gone.
func (s *Store) removed(number uint64) bool {
	_, err := os.Lstat(s.path(number))
	return errors.Is(err, fs.ErrNotExist)
}

// path returns the path of a run's file.
func (s *Store) path(number uint64) string {
	return filepath.Join(s.dir, fmt.Sprintf("%06d.db", number))
}
