package work

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/unit"
)

// The reference model divides a flow message by message and packet by packet.
func TestChoppingMatchesALoop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		payload := unit.Bytes(4 * rapid.Int64Range(1, 20).Draw(t, "payload"))
		size := unit.Bytes(rapid.Int64Range(1, 2000).Draw(t, "size"))
		m := NewMessages(size, payload)
		// Short messages give a flow several messages, as messages of 2^31 bytes do.
		m.Message = min(size, unit.Bytes(rapid.Int64Range(1, 300).Draw(t, "message")))
		m.Packets = int64((m.Message + payload - 1) / payload)
		var n, message int64
		var before unit.Bytes
		for start := unit.Bytes(0); start < size; start += m.Message {
			length := min(m.Message, size-start)
			for offset := unit.Bytes(0); offset < length; offset += payload {
				want := Piece{
					Message: message, Index: int64(offset / payload), Length: length,
					Bytes: min(payload, length-offset), Last: offset+payload >= length,
				}
				if got := m.Piece(n); got != want {
					t.Fatalf("packet %d is %+v, want %+v", n, got, want)
				}
				if got := m.Before(n); got != before {
					t.Fatalf("%d bytes before packet %d, want %d", got, n, before)
				}
				n++
				before += want.Bytes
			}
			message++
		}
		if m.Count() != n || m.Before(n) != size {
			t.Fatalf("%d packets with %d bytes, want %d with %d", m.Count(), m.Before(n), n, size)
		}
	})
}
