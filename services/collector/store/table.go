package store

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"

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
	bucketSlow   = []byte("slow")   // duration, trace number -> mark
	bucketFlow   = []byte("flow")   // flow's name, duration, trace number -> mark
	bucketLate   = []byte("late")   // start, trace number -> mark
	bucketSeries = []byte("series") // series number -> series
	bucketPoints = []byte("points") // series number, first instant -> points
)

var buckets = [][]byte{
	bucketMeta, bucketNames, bucketIDs, bucketTraces, bucketSpans, bucketSlow, bucketFlow, bucketLate, bucketSeries, bucketPoints,
}

// Keys in bucketMeta.
var keyInfo, keyCounts = []byte("info"), []byte("counts")

func key32(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

func number32(key []byte) uint32 { return binary.BigEndian.Uint32(key) }

// sortable maps signed numbers to unsigned ones of the same order.
func sortable(v int64) uint64 { return uint64(v) ^ 1<<63 }

func unsortable(v uint64) int64 { return int64(v ^ 1<<63) }

// spanKey returns the key of a span: the trace's number and the span's ID.
func spanKey(trace uint32, id uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(make([]byte, 0, 12), trace), id)
}

// indexKey returns a key of an index: prefix, then a duration or an instant, then the
// trace's number.
func indexKey(prefix []byte, v int64, number uint32) []byte {
	b := append(make([]byte, 0, 16), prefix...)
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(b, sortable(v)), number)
}

// parseIndexKey decodes the end of an index key.
func parseIndexKey(key []byte) (v int64, number uint32) {
	key = key[len(key)-12:]
	return unsortable(binary.BigEndian.Uint64(key)), number32(key[8:])
}

// withPrefix returns the entries of a bucket whose keys start with prefix, in order.
func withPrefix(b *bbolt.Bucket, prefix []byte) iter.Seq2[[]byte, []byte] {
	return from(b, prefix, prefix)
}

// from returns the entries with keys from start on that start with prefix, in order.
func from(b *bbolt.Bucket, prefix, start []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) {
		c := b.Cursor()
		for k, v := c.Seek(start); k != nil && bytes.HasPrefix(k, prefix) && yield(k, v); k, v = c.Next() {
		}
	}
}

// before returns the entries with keys below limit that start with prefix, the last
// first.
func before(b *bbolt.Bucket, prefix, limit []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) {
		c := b.Cursor()
		step := c.Last
		if k, _ := c.Seek(limit); k != nil {
			step = c.Prev
		}
		for k, v := step(); k != nil && bytes.HasPrefix(k, prefix) && yield(k, v); k, v = c.Prev() {
		}
	}
}

// eachSeries calls do with every series of a run that matches the selector.
func eachSeries(tx *bbolt.Tx, q *rackfabv1.SeriesSelector, do func(number uint32, s *rackfabv1.Series)) error {
	return tx.Bucket(bucketSeries).ForEach(func(k, v []byte) error {
		s := &rackfabv1.Series{}
		if err := proto.Unmarshal(v, s); err != nil {
			return fmt.Errorf("series: %w", err)
		}
		if Selected(q, s) {
			do(number32(k), s)
		}
		return nil
	})
}

func putJSON(b *bbolt.Bucket, key []byte, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return b.Put(key, text)
}

// getJSON reads the value of a key into v. It leaves v unchanged if the key is missing.
func getJSON(b *bbolt.Bucket, key []byte, v any) error {
	text := b.Get(key)
	if text == nil {
		return nil
	}
	return json.Unmarshal(text, v)
}
