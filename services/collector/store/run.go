package store

import (
	"os"
	"slices"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// File sizes in bytes.
const (
	growBy  = 1 << 20 // increment of a file
	mapSize = 1 << 30 // address space mapped at once, so that a writer need not wait for readers to remap it
)

// lockLimit is how long opening a file waits while another process has it open.
const lockLimit = time.Second

// RunInfo describes a run.
type RunInfo struct {
	Run      string // its ID
	Scenario string
	Scheme   string
	Seed     int64  // bits of the unsigned seed
	Epoch    int64  // wall-clock time of instant 0, in ns since 1970
	Sampled  string // which messages have traces, in words
	Bin      int64  `json:"-"` // span of fabric time that a point describes, in ps; 0 if the delivery does not say
}

// counts are the figures of a run that change with every batch.
type counts struct {
	Spans, Points         Counts
	Traces                int64 // with a root
	FirstNano, LastNano   int64 // wall clock of the first and the latest data
	StartPs, EndPs        int64
	BinPs, LastPointPs    int64 // see CollectedRun
	Closed                bool
	Nodes, Flows          []string
	NextTrace, NextSeries uint32
}

// maxListed bounds the lists of a run's nodes and flows. Each transaction writes them.
const maxListed = 1 << 12

// seen adds a node and a flow to the sorted lists of those of the run, up to maxListed.
func (c *counts) seen(node, flow string) {
	add := func(list []string, name string) []string {
		at, ok := slices.BinarySearch(list, name)
		if ok || name == "" || len(list) >= maxListed {
			return list
		}
		return slices.Insert(slices.Clone(list), at, name)
	}
	c.Nodes, c.Flows = add(c.Nodes, node), add(c.Flows, flow)
}

// run is a run's file and its state in memory.
type run struct {
	path   string
	number uint64
	db     *bbolt.DB
	info   RunInfo
	counts atomic.Pointer[counts] // after the latest transaction; not modified
	texts  atomic.Pointer[texts]  // a longer slice replaces it

	// Used by the writer only.
	numbers map[string]uint32   // of texts
	series  map[string]uint32   // numbers of series
	recent  map[[16]byte]uint32 // numbers of recently received traces
}

// openRun opens a run's file, for queries alone if o.ReadOnly is set.
func openRun(path string, number uint64, o Options) (*run, error) {
	db, err := bbolt.Open(path, 0o644, &bbolt.Options{
		ReadOnly: o.ReadOnly, Timeout: lockLimit, InitialMmapSize: mapSize, FreelistType: bbolt.FreelistMapType, NoFreelistSync: true,
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
	return r, nil
}

// newRun creates a run's file.
func newRun(path string, number uint64, info RunInfo) (*run, error) {
	r, err := openRun(path, number, Options{})
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
		return putJSON(tx.Bucket(bucketMeta), keyInfo, info)
	})
	if err != nil {
		_ = r.remove() // it is empty, and the first error matters more
		return nil, err
	}
	return r, nil
}

// load reads the state kept in memory. A file that was created but never written has no
// buckets.
func (r *run) load() error {
	c, names := &counts{}, &texts{""}
	r.numbers, r.series, r.recent = map[string]uint32{"": 0}, map[string]uint32{}, map[[16]byte]uint32{}
	defer func() {
		r.counts.Store(c)
		r.texts.Store(names)
	}()
	return r.db.View(func(tx *bbolt.Tx) error {
		meta := tx.Bucket(bucketMeta)
		if meta == nil {
			return nil
		}
		if err := getJSON(meta, keyInfo, &r.info); err != nil {
			return err
		}
		if err := getJSON(meta, keyCounts, c); err != nil {
			return err
		}
		for _, text := range withPrefix(tx.Bucket(bucketNames), nil) { // in the order of their numbers
			r.numbers[string(text)] = uint32(len(*names))
			*names = append(*names, string(text))
		}
		return eachSeries(tx, nil, func(number uint32, s *rackfabv1.Series) { r.series[identity(s)] = number })
	})
}

// remove closes and deletes the file.
func (r *run) remove() error {
	if err := r.db.Close(); err != nil {
		return err
	}
	return os.Remove(r.path)
}
