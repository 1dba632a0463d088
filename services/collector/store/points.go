package store

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"go.etcd.io/bbolt"
	"google.golang.org/protobuf/proto"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// chunkPoints is how many points are stored together.
const chunkPoints = 256

// Points are points of one time series, as they come in.
type Points struct {
	Series *rackfabv1.Series // without points
	Times  []int64           // ps
	Values []float64
}

// identity tells series apart.
func identity(s *rackfabv1.Series) string {
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(s)
	if err != nil {
		return s.String()
	}
	return string(text)
}

// tail is the end of a series.
type tail struct {
	number uint32
	first  int64 // instant of the first point of the last chunk
	last   int64 // instant of the last point
	points int   // of the last chunk; 0 if there is no chunk
	chunk  []byte
}

// loadTail reads the end of a series.
func loadTail(tx *bbolt.Tx, number uint32) *tail {
	t := &tail{number: number}
	c := tx.Bucket(bucketPoints).Cursor()
	k, v := lastBefore(c, key32(number+1))
	if k == nil || number32(k) != number {
		return t
	}
	t.first, t.chunk = unsortable(binary.BigEndian.Uint64(k[4:])), bytes.Clone(v)
	times, _ := parseChunk(t.first, v)
	t.points = len(times)
	t.last = times[len(times)-1]
	return t
}

// lastBefore moves to the last key below limit.
func lastBefore(c *bbolt.Cursor, limit []byte) (k, v []byte) {
	if k, _ = c.Seek(limit); k == nil {
		return c.Last()
	}
	return c.Prev()
}

// series stores points and tells how many are new.
func (w *writer) series(p *Points) (fresh int64, err error) {
	id := identity(p.Series)
	t := w.run.series[id]
	if t == nil {
		w.counts.NextSeries++
		t = &tail{number: w.counts.NextSeries}
		w.run.series[id] = t
		if err := w.seriesBucket.Put(key32(t.number), []byte(id)); err != nil {
			return 0, err
		}
		w.counts.Nodes, w.counts.Flows = note(w.counts.Nodes, p.Series.GetNode()), note(w.counts.Flows, p.Series.GetFlow())
	}
	changed := false
	for i, at := range p.Times {
		switch {
		case t.points > 0 && at <= t.last:
			ok, err := w.insert(t, at, p.Values[i])
			if err != nil {
				return fresh, err
			}
			if ok {
				fresh++
			}
			continue
		case t.points >= chunkPoints && changed:
			if err := w.points.Put(pointsKey(t.number, t.first), bytes.Clone(t.chunk)); err != nil {
				return fresh, err
			}
			fallthrough
		case t.points >= chunkPoints || t.points == 0:
			t.first, t.last, t.points, t.chunk = at, at, 0, nil
		}
		t.chunk = appendPoint(t.chunk, at-t.last, p.Values[i])
		t.last, t.points, changed = at, t.points+1, true
		fresh++
	}
	if changed {
		err = w.points.Put(pointsKey(t.number, t.first), bytes.Clone(t.chunk))
	}
	return fresh, err
}

// insert puts a point between others, and tells whether there was none at its instant.
func (w *writer) insert(t *tail, at int64, value float64) (bool, error) {
	// The last chunk in memory may be ahead of the one on disk.
	if err := w.points.Put(pointsKey(t.number, t.first), bytes.Clone(t.chunk)); err != nil {
		return false, err
	}
	k, v := lastBefore(w.points.Cursor(), pointsKey(t.number, at+1))
	var times []int64
	var values []float64
	first := at
	if k != nil && number32(k) == t.number {
		first = unsortable(binary.BigEndian.Uint64(k[4:]))
		times, values = parseChunk(first, v)
	}
	i, held := slices.BinarySearch(times, at)
	if held {
		return false, nil
	}
	times, values = slices.Insert(times, i, at), slices.Insert(values, i, value)
	var chunk []byte
	for j, before := 0, first; j < len(times); j++ {
		chunk = appendPoint(chunk, times[j]-before, values[j])
		before = times[j]
	}
	if first == t.first {
		t.chunk, t.points = chunk, len(times)
	}
	return true, w.points.Put(pointsKey(t.number, first), bytes.Clone(chunk))
}

// pointsKey is the series' number and the instant of the first point.
func pointsKey(series uint32, first int64) []byte {
	return binary.BigEndian.AppendUint64(key32(series), sortable(first))
}

// appendPoint writes a point: the span since the point before, then the value as a
// whole number if it is one.
func appendPoint(b []byte, since int64, value float64) []byte {
	b = binary.AppendUvarint(b, uint64(since))
	const exact = 1 << 53
	if whole := int64(value); value > -exact && value < exact && float64(whole) == value && !(whole == 0 && math.Signbit(value)) {
		zigzag := uint64(whole)<<1 ^ uint64(whole>>63)
		return binary.AppendUvarint(b, zigzag<<1)
	}
	return binary.LittleEndian.AppendUint64(binary.AppendUvarint(b, 1), math.Float64bits(value))
}

// parseChunk reads points. What is damaged is left out.
func parseChunk(first int64, b []byte) (times []int64, values []float64) {
	for at := first; len(b) > 0; {
		since, n := binary.Uvarint(b)
		if n <= 0 {
			break
		}
		kind, m := binary.Uvarint(b[n:])
		if m <= 0 {
			break
		}
		b = b[n+m:]
		value := float64(int64(kind>>2) ^ -int64(kind>>1&1))
		if kind == 1 {
			if len(b) < 8 {
				break
			}
			value, b = math.Float64frombits(binary.LittleEndian.Uint64(b)), b[8:]
		}
		at += int64(since)
		times, values = append(times, at), append(values, value)
	}
	return times, values
}
