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

// Buckets of a run's file. Numbers in keys are big-endian, so that they sort.
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

// Sizes of a file, in bytes.
const (
	growBy  = 1 << 20 // what a file grows by
	mapSize = 1 << 30 // address space taken at once, so that a writer need not wait for readers to grow it
)

// RunInfo says what a run is.
type RunInfo struct {
	Run      string // its id
	Scenario string
	Scheme   string
	Seed     int64
	Epoch    int64  // ns since 1970 at which instant 0 is put
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

// run is a run's file and what is kept of it in memory.
type run struct {
	path   string
	number uint64
	db     *bbolt.DB
	info   RunInfo
	bytes  atomic.Int64 // of the file, as measured after the latest change

	mu     sync.RWMutex
	counts counts
	names  names

	// What only the writer knows.
	series map[string]*tail
	recent map[[16]byte]uint32 // numbers of traces that came lately
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
		_ = db.Close() // the first error tells more
		return nil, err
	}
	r.measure()
	return r, nil
}

// newRun makes a run's file.
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
		_ = r.db.Close()      // the first error tells more
		_ = os.Remove(r.path) // it holds nothing
		return nil, err
	}
	r.measure()
	return r, nil
}

// load reads into memory what is kept there. A file that was made, but never
// written to, has no buckets.
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

// measure takes down how large the file is. Whoever has changed it calls it.
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

// remove closes the file and takes it away.
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

// getJSON reads the value of a key into v; a key that is not there leaves v.
func getJSON(tx *bbolt.Tx, key []byte, v any) error {
	text := tx.Bucket(bucketMeta).Get(key)
	if text == nil {
		return nil
	}
	return json.Unmarshal(text, v)
}
