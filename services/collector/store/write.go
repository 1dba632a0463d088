package store

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.etcd.io/bbolt"
)

// maxRecent is the maximum number of cached trace numbers.
const maxRecent = 1 << 16

// Delivery is the data of one run in one request.
type Delivery struct {
	Run      RunInfo
	Spans    []Span
	Points   []Points
	Rejected struct{ Spans, Points int64 } // invalid items; only counted

	// Full means that nothing was stored, because the run alone fills the store. Write sets
	// it.
	Full bool
}

// Size returns the number of spans and points to be stored.
func (d *Delivery) Size() (spans, points int64) {
	for i := range d.Points {
		points += int64(len(d.Points[i].Times))
	}
	return int64(len(d.Spans)), points
}

// Write stores deliveries, all those of a run in one transaction. If it returns nil,
// everything is on disk. After an error some runs may have been written; it is safe to
// write the same deliveries again.
func (s *Store) Write(now time.Time, all []*Delivery) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	byRun := map[string][]*Delivery{}
	for _, d := range all {
		byRun[d.Run.Run] = append(byRun[d.Run.Run], d)
	}
	for _, id := range slices.Sorted(maps.Keys(byRun)) {
		r, err := s.open(byRun[id][0].Run)
		if err != nil {
			return err
		}
		if err := s.evict(r); err != nil {
			return err
		}
		full := s.options.MaxSize > 0 && s.Size() > s.options.MaxSize
		if err := r.write(now, byRun[id], full); err != nil {
			return fmt.Errorf("store run %s: %w", id, err)
		}
	}
	return nil
}

// open returns the run, and creates it if it is new.
func (s *Store) open(info RunInfo) (*run, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, err := s.find(info.Run); err == nil && info.Run != "" {
		return r, nil
	}
	s.last++ // never reuses an evicted run's number, whose file the next start deletes
	r, err := newRun(s.path(s.last), s.last, info)
	if err == nil {
		s.runs = append(s.runs, r)
	}
	return r, err
}

// write stores the deliveries in one transaction, and then publishes the counts. After
// an error the file and its state in memory are unchanged.
func (r *run) write(now time.Time, all []*Delivery, full bool) error {
	var counted counts
	err := r.db.Update(func(tx *bbolt.Tx) error {
		w := newWriter(r, tx)
		for _, d := range all {
			if err := w.delivery(d, full); err != nil {
				return err
			}
		}
		if err := w.localRoots(); err != nil {
			return err
		}
		w.counts.LastNano = now.UnixNano()
		if w.counts.FirstNano == 0 {
			w.counts.FirstNano = w.counts.LastNano
		}
		w.counts.Closed = false
		counted = w.counts
		return putJSON(w.bucket(bucketMeta), keyCounts, counted)
	})
	if err == nil {
		r.counts.Store(&counted)
		return nil
	}
	if again := r.load(); again != nil {
		return fmt.Errorf("%w; and then: %w", err, again)
	}
	return err
}

// writer stores deliveries in one transaction.
type writer struct {
	*run
	tx       *bbolt.Tx
	counts   counts
	buffer   []byte
	rootless map[uint32]bool // traces that may lack a root span
}

func newWriter(r *run, tx *bbolt.Tx) *writer {
	w := &writer{run: r, tx: tx, counts: *r.counts.Load(), rootless: map[uint32]bool{}}
	for _, b := range [][]byte{bucketNames, bucketTraces, bucketSeries} {
		w.bucket(b).FillPercent = 0.95 // keys are appended in ascending order
	}
	if len(r.recent) > maxRecent {
		clear(r.recent)
	}
	return w
}

func (w *writer) bucket(name []byte) *bbolt.Bucket { return w.tx.Bucket(name) }

func (w *writer) delivery(d *Delivery, full bool) error {
	spans, points := d.Size()
	w.counts.BinPs = cmp.Or(d.Run.Bin, w.counts.BinPs)
	if d.Full = full; full {
		w.counts.Spans.received(0, 0, d.Rejected.Spans+spans)
		w.counts.Points.received(0, 0, d.Rejected.Points+points)
		return nil
	}
	var newSpans, newPoints int64 // the others were stored before
	for i := range d.Spans {
		fresh, err := w.span(&d.Spans[i])
		if err != nil {
			return err
		}
		if fresh {
			newSpans++
		}
	}
	for i := range d.Points {
		fresh, err := w.series(&d.Points[i])
		if err != nil {
			return err
		}
		newPoints += fresh
	}
	w.counts.Spans.received(spans, newSpans, d.Rejected.Spans)
	w.counts.Points.received(points, newPoints, d.Rejected.Points)
	return nil
}
