package store

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"go.etcd.io/bbolt"
	"google.golang.org/protobuf/proto"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// Buckets of a run's file. Numbers in keys are big-endian, so that keys sort by number.
var (
	bucketMeta   = []byte("meta")   // "info", "counts" -> JSON
	bucketNames  = []byte("names")  // number -> text
	bucketIDs    = []byte("ids")    // trace id -> trace number
	bucketTraces = []byte("traces") // trace number -> id and root
	bucketSpans  = []byte("spans")  // trace number, span id -> span
	bucketSlow   = []byte("slow")   // duration, trace number
	bucketFlow   = []byte("flow")   // flow's name, duration, trace number
	bucketLate   = []byte("late")   // start, trace number
	bucketSeries = []byte("series") // series number -> series
	bucketPoints = []byte("points") // series number, first instant -> points
)

var buckets = [][]byte{
	bucketMeta, bucketNames, bucketIDs, bucketTraces, bucketSpans, bucketSlow, bucketFlow, bucketLate, bucketSeries, bucketPoints,
}

// Keys in bucketMeta.
var keyInfo, keyCounts = []byte("info"), []byte("counts")

// File sizes in bytes.
const (
	growBy  = 1 << 20 // increment of a file
	mapSize = 1 << 30 // address space mapped at once, so that a writer need not wait for readers to remap it
)

// RunInfo describes a run.
type RunInfo struct {
	Run      string // its ID
	Scenario string
	Scheme   string
	Seed     int64
	Epoch    int64  // wall-clock time of instant 0, in ns since 1970
	Sampled  string // which messages have traces, in words
}

// counts are the figures of a run that change with every batch.
type counts struct {
	Spans, Points         Counts
	Traces                int64 // with a root
	FirstNano, LastNano   int64 // wall clock of the first and the latest data
	StartPs, EndPs        int64
	Closed                bool
	Nodes, Flows          []string
	NextTrace, NextSeries uint32
}

// run is a run's file and its state in memory.
type run struct {
	path   string
	number uint64
	db     *bbolt.DB
	info   RunInfo
	bytes  atomic.Int64 // size of the file after the latest change

	mu     sync.RWMutex
	counts counts
	names  names

	// Used by the writer only.
	series map[string]*tail
	recent map[[16]byte]uint32 // numbers of recently received traces
}

// openRun opens a run's file.
func openRun(path string, number uint64, readOnly bool) (*run, error) {
	db, err := bbolt.Open(path, 0o644, &bbolt.Options{
		ReadOnly: readOnly, Timeout: lockLimit, InitialMmapSize: mapSize, FreelistType: bbolt.FreelistMapType, NoFreelistSync: true,
	})
	if err != nil {
		return nil, err
	}
	db.AllocSize = growBy
	r := &run{path: path, number: number, db: db}
	if err := r.load(); err != nil {
		_ = db.Close() // the first error matters more
		return nil, err
	}
	r.measure()
	return r, nil
}

// newRun creates a run's file.
func newRun(path string, number uint64, info RunInfo) (*run, error) {
	r, err := openRun(path, number, false)
	if err != nil {
		return nil, err
	}
	r.info = info
	err = r.db.Update(func(tx *bbolt.Tx) error {
		for _, b := range buckets {
			if _, err := tx.CreateBucketIfNotExists(b); err != nil {
				return err
			}
		}
		return putJSON(tx, keyInfo, info)
	})
	if err != nil {
		_ = r.db.Close()      // the first error matters more
		_ = os.Remove(r.path) // it is empty
		return nil, err
	}
	r.measure()
	return r, nil
}

// load reads the state kept in memory. A file that was created but never written has no
// buckets.
func (r *run) load() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts, r.series, r.recent = counts{}, map[string]*tail{}, map[[16]byte]uint32{}
	r.names = newNames()
	return r.db.View(func(tx *bbolt.Tx) error {
		if tx.Bucket(bucketMeta) == nil {
			return nil
		}
		if err := getJSON(tx, keyInfo, &r.info); err != nil {
			return err
		}
		if err := getJSON(tx, keyCounts, &r.counts); err != nil {
			return err
		}
		if err := tx.Bucket(bucketNames).ForEach(r.names.load); err != nil {
			return err
		}
		return tx.Bucket(bucketSeries).ForEach(func(k, v []byte) error {
			s := &rackfabv1.Series{}
			if err := proto.Unmarshal(v, s); err != nil {
				return fmt.Errorf("series: %w", err)
			}
			r.series[identity(s)] = loadTail(tx, number32(k))
			return nil
		})
	})
}

// measure records the size of the file. It must be called after every change.
func (r *run) measure() {
	if i, err := os.Stat(r.path); err == nil {
		r.bytes.Store(i.Size())
	}
}

func (r *run) figures() counts {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.counts
}

// remove closes and deletes the file.
func (r *run) remove() error {
	if err := r.db.Close(); err != nil {
		return err
	}
	return os.Remove(r.path)
}

func putJSON(tx *bbolt.Tx, key []byte, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return tx.Bucket(bucketMeta).Put(key, text)
}

// getJSON reads the value of a key into v. It leaves v unchanged if the key is missing.
func getJSON(tx *bbolt.Tx, key []byte, v any) error {
	text := tx.Bucket(bucketMeta).Get(key)
	if text == nil {
		return nil
	}
	return json.Unmarshal(text, v)
}
