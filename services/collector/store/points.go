package store

import (
	"bytes"
	"cmp"
	"slices"
	"sort"

	"go.etcd.io/bbolt"
	"google.golang.org/protobuf/proto"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// Points are received points of one time series.
type Points struct {
	Series *rackfabv1.Series // without points
	Times  []int64           // ps
	Values []float64
}

// identity returns a key that is unique to a series.
func identity(s *rackfabv1.Series) string {
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(s)
	if err != nil {
		return s.String()
	}
	return string(text)
}

// tail describes the end of a series.
type tail struct {
	number uint32
	first  int64 // instant of the first point of the last chunk
	last   int64 // instant of the last point
	points int   // of the last chunk; 0 if there is no chunk
	chunk  []byte
}

// loadTail reads the end of a series: the last chunk with points. A damaged chunk may
// have none.
func loadTail(tx *bbolt.Tx, number uint32) *tail {
	t := &tail{number: number}
	c := tx.Bucket(bucketPoints).Cursor()
	for k, v := lastBefore(c, key32(number+1)); k != nil && number32(k) == number; k, v = c.Prev() {
		if points := parseChunk(firstOf(k), v); len(points) > 0 {
			t.first, t.last, t.points, t.chunk = firstOf(k), points[len(points)-1].at, len(points), encodeChunk(points)
			return t
		}
	}
	return t
}

// lastBefore moves to the last key below limit.
func lastBefore(c *bbolt.Cursor, limit []byte) (k, v []byte) {
	if k, _ = c.Seek(limit); k == nil {
		return c.Last()
	}
	return c.Prev()
}

// series stores points and returns the number of new ones.
func (w *writer) series(p *Points) (fresh int64, err error) {
	t, err := w.tail(p.Series)
	if err != nil {
		return 0, err
	}
	var late []point
	changed := false
	for i, at := range p.Times {
		switch {
		case t.points > 0 && at <= t.last:
			late = append(late, point{at, p.Values[i]})
			continue
		case t.points >= chunkPoints && changed:
			if err := w.put(t); err != nil {
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
		if err := w.put(t); err != nil {
			return fresh, err
		}
	}
	inserted, err := w.insert(t, late)
	return fresh + inserted, err
}

// tail returns the end of a series, and creates the series if it is new.
func (w *writer) tail(s *rackfabv1.Series) (*tail, error) {
	id := identity(s)
	if t := w.run.series[id]; t != nil {
		return t, nil
	}
	w.counts.NextSeries++
	t := &tail{number: w.counts.NextSeries}
	w.run.series[id] = t
	w.counts.Nodes, w.counts.Flows = note(w.counts.Nodes, s.GetNode()), note(w.counts.Flows, s.GetFlow())
	return t, w.seriesBucket.Put(key32(t.number), []byte(id))
}

// put writes the chunk of a tail.
func (w *writer) put(t *tail) error {
	return w.points.Put(pointsKey(t.number, t.first), bytes.Clone(t.chunk))
}

// insert stores points that precede the end of a series, which is already written. It
// returns the number of points at new instants. Each affected chunk is read and written
// once.
func (w *writer) insert(t *tail, late []point) (fresh int64, err error) {
	slices.SortStableFunc(late, func(a, b point) int { return cmp.Compare(a.at, b.at) })
	for len(late) > 0 {
		first, have, n := w.around(t.number, late)
		all := slices.Concat(have, late[:n]) // stored points sort first, and win
		slices.SortStableFunc(all, func(a, b point) int { return cmp.Compare(a.at, b.at) })
		all = slices.CompactFunc(all, func(a, b point) bool { return a.at == b.at })
		if len(all) > len(have) {
			if err := w.replace(t, first, all); err != nil {
				return fresh, err
			}
		}
		fresh, late = fresh+int64(len(all)-len(have)), late[n:]
	}
	return fresh, nil
}

// replace writes points, which are in order, in place of the chunk that begins at first.
func (w *writer) replace(t *tail, first int64, points []point) error {
	atEnd := first == t.first
	for piece := range slices.Chunk(points, chunkPoints) {
		one := &tail{t.number, piece[0].at, piece[len(piece)-1].at, len(piece), encodeChunk(piece)}
		if err := w.put(one); err != nil {
			return err
		}
		if atEnd {
			*t = *one
		}
	}
	return nil
}

// around returns the chunk to which late[0] belongs, and how many of the points belong
// to it. The points are in order. The chunk is new if late[0] precedes all chunks.
func (w *writer) around(series uint32, late []point) (first int64, have []point, n int) {
	c := w.points.Cursor()
	after := pointsKey(series, late[0].at+1)
	first, n = late[0].at, len(late)
	if k, v := lastBefore(c, after); k != nil && number32(k) == series {
		first = firstOf(k)
		have = parseChunk(first, v)
	}
	if k, _ := c.Seek(after); k != nil && number32(k) == series {
		next := firstOf(k)
		n = sort.Search(n, func(i int) bool { return late[i].at >= next })
	}
	return first, have, n
}
