package store

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"go.etcd.io/bbolt"
)

// CloseRun closes a run that will receive no more data; "" means the latest run. With
// KeepSlowest it deletes the details of all but the slowest traces of each flow. It
// returns the number of deleted spans.
func (s *Store) CloseRun(id string) (int64, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	r, err := s.lookup(id)
	if err != nil {
		return 0, err
	}
	return s.close(r)
}

// CloseIdle closes the runs that have received no data after since. It goes on after an
// error and returns all errors.
func (s *Store) CloseIdle(since time.Time) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.RLock()
	runs := slices.Clone(s.runs)
	s.mu.RUnlock()
	var errs []error
	for _, r := range runs {
		if c := r.counts.Load(); !c.Closed && c.LastNano <= since.UnixNano() {
			_, err := s.close(r)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// close samples a run and returns the freed space to the file system. The caller holds
// writing.
func (s *Store) close(r *run) (int64, error) {
	c := *r.counts.Load()
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
		return putJSON(tx.Bucket(bucketMeta), keyCounts, c)
	})
	if err != nil {
		return 0, fmt.Errorf("close run %s: %w", r.info.Run, err)
	}
	r.counts.Store(&c)
	if c.Spans.SampledOut > before {
		err = s.compact(r)
	}
	return c.Spans.SampledOut - before, err
}

// keepSlowest deletes the details of the faster traces of each flow. At least one trace
// of each flow stays complete.
func keepSlowest(tx *bbolt.Tx, share float64, c *counts) error {
	var flow []byte
	var flows [][]uint32 // numbers of the traces of each flow, the fastest first
	for k := range withPrefix(tx.Bucket(bucketFlow), nil) {
		if !bytes.Equal(flow, k[:4]) {
			flow, flows = bytes.Clone(k[:4]), append(flows, nil)
		}
		_, number := parseIndexKey(k)
		flows[len(flows)-1] = append(flows[len(flows)-1], number)
	}
	for _, numbers := range flows {
		keep := max(1, int(math.Ceil(share*float64(len(numbers)))))
		for _, number := range numbers[:len(numbers)-keep] {
			n, err := dropDetails(tx, number)
			if err != nil {
				return err
			}
			c.Spans.SampledOut += n
			c.Spans.Held -= n
		}
	}
	return nil
}

// dropDetails deletes all spans of a trace but its root, and returns their number.
func dropDetails(tx *bbolt.Tx, number uint32) (int64, error) {
	t, err := readRecord(tx, number)
	if err != nil {
		return 0, err
	}
	var keys [][]byte
	root := spanKey(number, t.root)
	for k := range withPrefix(tx.Bucket(bucketSpans), key32(number)) {
		if !bytes.Equal(k, root) {
			keys = append(keys, bytes.Clone(k))
		}
	}
	if len(keys) == 0 {
		return 0, nil
	}
	for _, k := range keys {
		if err := tx.Bucket(bucketSpans).Delete(k); err != nil {
			return 0, err
		}
	}
	t.dropped = true
	return int64(len(keys)), t.put(tx, number)
}

// compactStep is the number of bytes that compaction moves in one transaction.
const compactStep = 4 << 20

// newSuffix is appended to the name of a file while compaction writes it.
const newSuffix = ".new"

// compact rewrites the run's file without free space and replaces the old file. After an
// error the run continues in the old file.
func (s *Store) compact(r *run) error {
	path := r.path + newSuffix
	again, err := r.copyTo(path)
	if err != nil {
		_ = os.Remove(path) // the first error matters more
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := os.Rename(path, r.path); err != nil {
		return errors.Join(err, again.remove())
	}
	old := r.db
	r.db, r.series, r.recent = again.db, again.series, again.recent
	return old.Close()
}

// copyTo writes the run into another file without free space, and opens that file.
func (r *run) copyTo(path string) (*run, error) {
	fresh, err := bbolt.Open(path, 0o644, &bbolt.Options{Timeout: lockLimit, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(bbolt.Compact(fresh, r.db, compactStep), fresh.Close()); err != nil {
		return nil, err
	}
	return openRun(path, r.number, Options{})
}
