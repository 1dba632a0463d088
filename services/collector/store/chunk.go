package store

import (
	"encoding/binary"
	"math"
)

// chunkPoints is the maximum number of points in a chunk, the unit of storage.
const chunkPoints = 256

// point is one value of a series.
type point struct {
	at    int64 // ps
	value float64
}

// pointsKey returns the key of a chunk: the number of its series and the time of its
// first point.
func pointsKey(series uint32, first int64) []byte {
	return binary.BigEndian.AppendUint64(key32(series), sortable(first))
}

// firstOf returns the time of the first point of the chunk with the given key.
func firstOf(key []byte) int64 { return unsortable(binary.BigEndian.Uint64(key[4:])) }

// encodeChunk encodes points, which must be in order of time.
func encodeChunk(points []point) (b []byte) {
	for i, p := range points {
		b = appendPoint(b, p.at-points[max(i-1, 0)].at, p.value)
	}
	return b
}

// appendPoint encodes a point: the time since the previous point, then the value. A
// whole number is encoded as a variable-length integer.
func appendPoint(b []byte, since int64, value float64) []byte {
	b = binary.AppendUvarint(b, uint64(since))
	const exact = 1 << 53
	if whole := int64(value); value > -exact && value < exact && float64(whole) == value && !(whole == 0 && math.Signbit(value)) {
		zigzag := uint64(whole)<<1 ^ uint64(whole>>63)
		return binary.AppendUvarint(b, zigzag<<1)
	}
	return binary.LittleEndian.AppendUint64(binary.AppendUvarint(b, 1), math.Float64bits(value))
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
