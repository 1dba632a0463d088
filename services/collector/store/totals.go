package store

import (
	"encoding/json"

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

// Totals are the counts of all runs since the store was created: received = stored +
// duplicates + rejected, stored = held + evicted + sampled out.
type Totals struct {
	Spans, Points Counts
	Evicted       int64 // runs
}

var (
	bucketTotals = []byte("totals")
	keyGone      = []byte("gone")    // counts of evicted runs
	keyNumbers   = []byte("numbers") // numbers of evicted runs whose file may still exist
)

// readTotals returns the counts of evicted runs, and the numbers of those whose file may
// still exist.
func readTotals(db *bbolt.DB) (gone Totals, numbers map[uint64]bool, err error) {
	err = db.View(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucketTotals)
		if b == nil {
			return nil
		}
		if text := b.Get(keyNumbers); text != nil {
			if err := json.Unmarshal(text, &numbers); err != nil {
				return err
			}
		}
		if text := b.Get(keyGone); text != nil {
			return json.Unmarshal(text, &gone)
		}
		return nil
	})
	return gone, numbers, err
}

// writeTotals records in one transaction that a run is evicted and the new counts of
// evicted runs.
func writeTotals(db *bbolt.DB, gone Totals, number uint64) error {
	counts, err := json.Marshal(gone)
	if err != nil {
		return err
	}
	numbers, err := json.Marshal(map[uint64]bool{number: true})
	if err != nil {
		return err
	}
	return db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(bucketTotals)
		if err != nil {
			return err
		}
		if err := b.Put(keyGone, counts); err != nil {
			return err
		}
		return b.Put(keyNumbers, numbers)
	})
}

// Totals returns the counts of all runs, including evicted ones.
func (s *Store) Totals() Totals {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t := s.gone
	for _, r := range s.runs {
		c := r.figures()
		t.Spans.add(c.Spans)
		t.Points.add(c.Points)
	}
	return t
}

// evict deletes the oldest runs, except keep, until the store is within its limits. The
// caller holds writing.
func (s *Store) evict(keep *run) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.runs) > 1 && (len(s.runs) > maxRuns || s.options.MaxSize > 0 && s.size() > s.options.MaxSize) {
		oldest := s.runs[0]
		if oldest == keep {
			oldest = s.runs[1]
		}
		c := oldest.figures()
		gone := s.gone
		gone.Spans.add(left(c.Spans))
		gone.Points.add(left(c.Points))
		gone.Evicted++
		if err := writeTotals(s.totals, gone, oldest.number); err != nil {
			return err
		}
		s.gone = gone
		s.forget(oldest)
		if err := oldest.remove(); err != nil {
			return err
		}
	}
	return nil
}

// left returns the counts of a run after its eviction.
func left(c Counts) Counts {
	c.Evicted += c.Held
	c.Held = 0
	return c
}

func (s *Store) forget(gone *run) {
	for i, r := range s.runs {
		if r == gone {
			s.runs = append(s.runs[:i:i], s.runs[i+1:]...)
			return
		}
	}
}
