package qp

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// goingBack is the reference for goBackN: a list of all packets of a flow.
type goingBack struct {
	packets           []unit.Bytes // payload of each packet
	acked, next, high int
}

func (m *goingBack) bytes(from, upTo int) (sum unit.Bytes) {
	for _, b := range m.packets[from:upTo] {
		sum += b
	}
	return sum
}

func (m *goingBack) acknowledge(upTo int) {
	if upTo > m.acked && upTo <= m.high {
		m.acked, m.next = upTo, max(m.next, upTo)
	}
}

// Whatever is sent, acknowledged, reported missing and timed out, in any order, goBackN does
// what a list of all packets does.
func TestGoBackNMatchesAListOfPackets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := unit.Bytes(rapid.Int64Range(1, 30_000).Draw(t, "size"))
		r := flowOf(t, size)
		r.Timeout = unit.Millisecond
		m := &goingBack{}
		for left := size; left > 0; left -= min(left, r.Payload) {
			m.packets = append(m.packets, min(left, r.Payload))
		}
		for now := unit.Time(1); !r.Done(); now++ {
			if got, next := r.Window(); got != int64(m.acked) || next != int64(m.next) ||
				r.InFlight() != m.bytes(m.acked, m.next) || r.AckedBytes != m.bytes(0, m.acked) {
				t.Fatalf("%d acknowledged and %d next with %d in flight, want %d and %d", got, next, r.InFlight(), m.acked, m.next)
			}
			p := r.recovery.next()
			if (p != nil) != (m.next < len(m.packets)) || p != nil && (p.number != int64(m.next) || p.again != (m.next < m.high) || p.part.Bytes != m.packets[m.next]) {
				t.Fatalf("the next packet is %+v, want %d of %d", p, m.next, len(m.packets))
			}
			psn := rapid.IntRange(0, len(m.packets)).Draw(t, "PSN")
			switch rapid.IntRange(0, 9).Draw(t, "event") {
			default:
				if p != nil {
					r.sendPSN(now)
					m.next++
					m.high = max(m.high, m.next)
				}
			case 0, 1:
				r.answer(now, uint32(psn), frame.SyndromeACK)
				m.acknowledge(psn + 1)
			case 2:
				r.answer(now, uint32(psn), frame.SyndromeNAKSequence)
				if m.acknowledge(psn); psn == m.acked {
					m.next = m.acked
				}
			case 3:
				if (r.deadline == unit.Never) != (m.acked == m.next) {
					t.Fatalf("deadline %v with %d packets in flight", r.deadline, m.next-m.acked)
				}
				if m.next > m.acked {
					r.Overdue(r.deadline, &fabric.Out{})
					m.next = m.acked
				}
			}
		}
		if m.acked != len(m.packets) {
			t.Fatalf("done with %d of %d packets acknowledged", m.acked, len(m.packets))
		}
	})
}
