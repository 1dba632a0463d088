package store

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"go.etcd.io/bbolt"
)

// CloseRun says that no more comes of a run, "" the latest: with KeepSlowest the
// details of all but the slowest traces of each flow leave. It gives how many spans
// left.
func (s *Store) CloseRun(id string) (int64, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.RLock()
	r, err := s.find(id)
	s.mu.RUnlock()
	if err != nil {
		return 0, err
	}
	return s.close(r)
}

// CloseIdle closes the runs of which nothing has come since then. One that cannot be
// closed does not keep the others.
func (s *Store) CloseIdle(since time.Time) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.RLock()
	runs := append([]*run(nil), s.runs...)
	s.mu.RUnlock()
	var errs []error
	for _, r := range runs {
		if c := r.figures(); !c.Closed && c.LastNano <= since.UnixNano() {
			_, err := s.close(r)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// close samples a run and gives the room back to the disk. Whoever calls it holds
// writing.
func (s *Store) close(r *run) (int64, error) {
	c := r.figures()
	if c.Closed {
		return 0, nil
	}
	before := c.Spans.SampledOut
	err := r.db.Update(func(tx *bbolt.Tx) error {
		if keep := s.options.KeepSlowest; keep > 0 && keep < 1 {
			if err := keepSlowest(tx, keep, &c); err != nil {
				return err
			}
		}
		c.Closed = true
		return putJSON(tx, keyCounts, c)
	})
	if err != nil {
		return 0, fmt.Errorf("close run %s: %w", r.info.Run, err)
	}
	r.mu.Lock()
	r.counts = c
	r.mu.Unlock()
	r.measure()
	if c.Spans.SampledOut > before {
		err = s.compact(r)
	}
	return c.Spans.SampledOut - before, err
}

// keepSlowest takes away the details of the faster traces, flow by flow; of each
// flow at least one trace stays whole.
func keepSlowest(tx *bbolt.Tx, share float64, c *counts) error {
	var flow []byte
	var numbers []uint32 // of the flow's traces, the fastest first
	drop := func() error {
		keep := max(1, int(math.Ceil(share*float64(len(numbers)))))
		for i := range max(0, len(numbers)-keep) {
			n, err := dropDetails(tx, numbers[i])
			if err != nil {
				return err
			}
			c.Spans.SampledOut += n
			c.Spans.Held -= n
		}
		numbers = numbers[:0]
		return nil
	}
	err := tx.Bucket(bucketFlow).ForEach(func(k, _ []byte) error {
		if !bytes.Equal(flow, k[:4]) {
			if err := drop(); err != nil {
				return err
			}
			flow = bytes.Clone(k[:4])
		}
		_, number := ordered(k)
		numbers = append(numbers, number)
		return nil
	})
	if err != nil {
		return err
	}
	return drop()
}

// dropDetails takes away all spans of a trace but its root, and gives how many.
func dropDetails(tx *bbolt.Tx, number uint32) (int64, error) {
	records := tx.Bucket(bucketTraces)
	t, err := parseRecord(records.Get(key32(number)))
	if err != nil {
		return 0, err
	}
	var keys [][]byte
	root := spanKey(number, t.root)
	err = eachSpan(tx, number, func(k, _ []byte) error {
		if !bytes.Equal(k, root) {
			keys = append(keys, bytes.Clone(k))
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	for _, k := range keys {
		if err := tx.Bucket(bucketSpans).Delete(k); err != nil {
			return 0, err
		}
	}
	if len(keys) == 0 {
		return 0, nil
	}
	t.dropped = true
	return int64(len(keys)), records.Put(key32(number), t.appendTo(nil))
}

// compactStep is how many bytes compaction moves in one transaction.
const compactStep = 4 << 20

// freshSuffix is what a file that is being written anew has behind its name.
const freshSuffix = ".new"

// compact writes the run's file anew, without room between, and puts it in the
// place of the old one. After an error the run goes on in the old one.
func (s *Store) compact(r *run) error {
	path := r.path + freshSuffix
	again, err := r.copyTo(path)
	if err != nil {
		_ = os.Remove(path) // the first error tells more
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := os.Rename(path, r.path); err != nil {
		return errors.Join(err, again.remove())
	}
	old := r.db
	r.db, r.series, r.recent = again.db, again.series, again.recent
	r.measure()
	return old.Close()
}

// copyTo writes the run into another file, without room between, and opens that.
func (r *run) copyTo(path string) (*run, error) {
	fresh, err := bbolt.Open(path, 0o644, &bbolt.Options{Timeout: lockLimit, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(bbolt.Compact(fresh, r.db, compactStep), fresh.Close()); err != nil {
		return nil, err
	}
	return openRun(path, r.number, false)
}
