package switching

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The twin of the queue is a slice.
func TestQueueAgainstSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := newQueue(ArbitrateFIFO, 3)
		var twin []uint64
		var bytes unit.Bytes
		next := uint64(0)
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			if len(twin) > 0 && rapid.IntRange(0, 2).Draw(t, "pop") == 0 {
				if got := q.front().frame.Trace; got != twin[0] {
					t.Fatalf("front is %d, want %d", got, twin[0])
				}
				bytes -= q.front().length
				q.pop()
				twin = twin[1:]
			} else {
				late := len(twin) > 0
				f := frame.Frame{Trace: next}
				q.push(&f, unit.Bytes(next%7), fabric.Port(next))
				if last := q.entries()[q.count-1]; last.late != late {
					t.Fatalf("late is %v, want %v", last.late, late)
				}
				bytes += unit.Bytes(next % 7)
				twin = append(twin, next)
				next++
			}
			if q.count != len(twin) || q.bytes != bytes {
				t.Fatalf("%d frames, %d bytes; want %d, %d", q.count, q.bytes, len(twin), bytes)
			}
		}
	})
}
