package store

import (
	"fmt"
	"maps"
	"path/filepath"
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

// size returns the number of spans and points to be stored.
func (d *Delivery) size() (spans, points int64) {
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
	r, err := newRun(filepath.Join(s.dir, fmt.Sprintf("%06d.db", s.last)), s.last, info)
	if err == nil {
		s.runs = append(s.runs, r)
	}
	return r, err
}

// write stores the deliveries in one transaction. After an error the file and its state
// in memory are unchanged.
func (r *run) write(now time.Time, all []*Delivery, full bool) error {
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
		return w.finish(now)
	})
	r.measure()
	if err == nil {
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
	counts                                              counts
	names, ids, traces, spans, slow, flow, late, points *bbolt.Bucket
	seriesBucket                                        *bbolt.Bucket
	buffer                                              []byte
	rootless                                            map[uint32]bool // traces that may lack a root span
}

func newWriter(r *run, tx *bbolt.Tx) *writer {
	w := &writer{
		run: r, counts: r.figures(),
		names: tx.Bucket(bucketNames), ids: tx.Bucket(bucketIDs), traces: tx.Bucket(bucketTraces), spans: tx.Bucket(bucketSpans),
		slow: tx.Bucket(bucketSlow), flow: tx.Bucket(bucketFlow), late: tx.Bucket(bucketLate),
		points: tx.Bucket(bucketPoints), seriesBucket: tx.Bucket(bucketSeries), rootless: map[uint32]bool{},
	}
	for _, b := range []*bbolt.Bucket{w.names, w.traces, w.seriesBucket} {
		b.FillPercent = 0.95 // keys are appended in ascending order
	}
	if len(r.recent) > maxRecent {
		clear(r.recent)
	}
	return w
}

func (w *writer) delivery(d *Delivery, full bool) error {
	spans, points := d.size()
	if d.Full = full; full {
		w.count(&w.counts.Spans, 0, 0, d.Rejected.Spans+spans)
		w.count(&w.counts.Points, 0, 0, d.Rejected.Points+points)
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
	w.count(&w.counts.Spans, spans, newSpans, d.Rejected.Spans)
	w.count(&w.counts.Points, points, newPoints, d.Rejected.Points)
	return nil
}

// count adds the numbers of valid, stored and rejected items.
func (w *writer) count(c *Counts, valid, stored, rejected int64) {
	c.Received += valid + rejected
	c.Rejected += rejected
	c.Stored += stored
	c.Held += stored
	c.Duplicates += valid - stored
}

// finish writes the counts with the data, and publishes them once they are committed.
func (w *writer) finish(now time.Time) error {
	w.counts.LastNano = now.UnixNano()
	if w.counts.FirstNano == 0 {
		w.counts.FirstNano = w.counts.LastNano
	}
	w.counts.Closed = false
	tx := w.ids.Tx()
	tx.OnCommit(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.run.counts = w.counts
	})
	return putJSON(tx, keyCounts, w.counts)
}

// name returns the number of a text, and assigns one to a new text. It reports false if
// the text is too long or there are too many names.
func (w *writer) name(t string) (uint32, bool, error) {
	if n, ok := w.run.names.numbers[t]; ok { // only the writer changes it
		return n, true, nil
	}
	if len(t) > maxLength || len(w.run.names.texts) >= maxNames {
		return 0, false, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	n := uint32(len(w.run.names.texts))
	w.run.names.numbers[t] = n
	w.run.names.texts = append(w.run.names.texts, t)
	return n, true, w.names.Put(key32(n), []byte(t))
}

// column is like name, for a text that must have a number. A text beyond the limits is
// cut to maxLength or becomes "".
func (w *writer) column(t string) (uint32, error) {
	if len(t) > maxLength {
		t = t[:maxLength]
	}
	n, _, err := w.name(t)
	return n, err
}

// note adds a name to a sorted list of names.
func note(list []string, name string) []string {
	at, ok := slices.BinarySearch(list, name)
	if ok || name == "" {
		return list
	}
	return slices.Insert(slices.Clone(list), at, name)
}
