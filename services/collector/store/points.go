package store

import (
	"cmp"
	"encoding/binary"
	"iter"
	"math"
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

// chunkPoints is the maximum number of points in a chunk, the unit of storage.
const chunkPoints = 256

// point is one value of a series.
type point struct {
	at    int64 // ps
	value float64
}

func compareInstants(a, b point) int { return cmp.Compare(a.at, b.at) }

// pointsKey returns the key of a chunk: the number of its series and the time of its
// first point.
func pointsKey(series uint32, first int64) []byte {
	return binary.BigEndian.AppendUint64(key32(series), sortable(first))
}

// chunks returns the time of the first point and the value of each chunk of a series, in
// order, starting with the last chunk that does not begin after start.
func chunks(b *bbolt.Bucket, series uint32, start int64) iter.Seq2[int64, []byte] {
	key := pointsKey(series, start)
	for k := range before(b, key32(series), pointsKey(series, start+1)) {
		key = slices.Clone(k)
		break
	}
	return func(yield func(int64, []byte) bool) {
		for k, v := range from(b, key32(series), key) {
			if !yield(unsortable(binary.BigEndian.Uint64(k[4:])), v) {
				return
			}
		}
	}
}

// encodeChunk encodes points, which must be in order of time: for each the time since
// the previous point, then the value. A whole number is encoded as a variable-length
// integer.
func encodeChunk(points []point) (b []byte) {
	for i, p := range points {
		b = binary.AppendUvarint(b, uint64(p.at-points[max(i-1, 0)].at))
		const exact = 1 << 53
		if whole := int64(p.value); p.value > -exact && p.value < exact && float64(whole) == p.value && !(whole == 0 && math.Signbit(p.value)) {
			zigzag := uint64(whole)<<1 ^ uint64(whole>>63)
			b = binary.AppendUvarint(b, zigzag<<1)
			continue
		}
		b = binary.LittleEndian.AppendUint64(binary.AppendUvarint(b, 1), math.Float64bits(p.value))
	}
	return b
}

// parseChunk decodes points. It stops at damaged data.
func parseChunk(first int64, b []byte) (points []point) {
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
		points = append(points, point{at, value})
	}
	return points
}

// identity returns a key that is unique to a series.
func identity(s *rackfabv1.Series) string {
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(s)
	if err != nil {
		return s.String()
	}
	return string(text)
}

// series stores points and returns the number of points at new instants. Each affected
// chunk is read and written once.
func (w *writer) series(p *Points) (fresh int64, err error) {
	number, err := w.seriesNumber(p.Series)
	if err != nil {
		return 0, err
	}
	added := make([]point, len(p.Times))
	for i, at := range p.Times {
		added[i] = point{at, p.Values[i]}
		w.counts.LastPointPs = max(w.counts.LastPointPs, at)
	}
	slices.SortStableFunc(added, compareInstants)
	for len(added) > 0 {
		stored, n := w.around(number, added)
		all := slices.Concat(stored, added[:n]) // stored points sort first, and win
		slices.SortStableFunc(all, compareInstants)
		all = slices.CompactFunc(all, func(a, b point) bool { return a.at == b.at })
		if len(all) > len(stored) {
			for piece := range slices.Chunk(all, chunkPoints) {
				if err := w.bucket(bucketPoints).Put(pointsKey(number, piece[0].at), encodeChunk(piece)); err != nil {
					return fresh, err
				}
			}
		}
		fresh, added = fresh+int64(len(all)-len(stored)), added[n:]
	}
	return fresh, nil
}

// seriesNumber returns the number of a series, and assigns one to a new series.
func (w *writer) seriesNumber(s *rackfabv1.Series) (uint32, error) {
	id := identity(s)
	if n, ok := w.run.series[id]; ok {
		return n, nil
	}
	w.counts.NextSeries++
	n := w.counts.NextSeries
	w.run.series[id] = n
	w.counts.seen(s.GetNode(), s.GetFlow())
	return n, w.bucket(bucketSeries).Put(key32(n), []byte(id))
}

// around returns the points of the chunk to which added[0] belongs, and how many of the
// added points belong to that chunk. added is in order. The chunk is new if added[0]
// precedes all chunks.
func (w *writer) around(series uint32, added []point) (stored []point, n int) {
	for first, v := range chunks(w.bucket(bucketPoints), series, added[0].at) {
		if first <= added[0].at {
			stored = parseChunk(first, v)
			continue
		}
		return stored, sort.Search(len(added), func(i int) bool { return added[i].at >= first })
	}
	return stored, len(added)
}
