package torture

import (
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/e2e/slowtest"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Offsets in an envelope; see docs/wire.md.
const (
	epochAt   = 4
	seqAt     = 8
	promiseAt = 32
	countAt   = 48
	headBytes = 52
)

// A campaign finds each way in which the link protocol can be broken: within a few schedules, a
// run fails, has another digest, or hangs.
func TestBreachesAreFound(t *testing.T) {
	slowtest.Skip(t, "runs dozens of schedules, and some of them until they hang")
	const schedules = 40
	for name, breach := range map[string]func() breach{
		"a promise too far": promiseTooFar, "a resend lost": resendLost, "a duplicate taken": duplicateTaken,
		"an epoch ignored": epochIgnored, "an order swapped": orderSwapped,
	} {
		t.Run(name, func(t *testing.T) {
			runs := 0
			c, err := newCampaign(Options{
				Scenario: Scenario(), Seed: 1, Schedules: schedules, Racks: 1, Patience: 5 * time.Second, Done: func(*Outcome) { runs++ },
			})
			if err != nil {
				t.Fatal(err)
			}
			c.breach = breach
			var failed *Failure
			if err = c.all(t.Context()); !errors.As(err, &failed) {
				t.Fatalf("not found by %d schedules: %v", runs, err)
			}
			t.Logf("found by schedule %d: %v", runs+1, err)
		})
	}
}

// each returns a breach that alters, in each attempt and direction, one of so many envelopes with
// frames. alter has the state of the direction.
func each(period int, alter func(s *direction, before, data []byte) [][]byte) breach {
	type key struct {
		run string
		way way
	}
	var mu sync.Mutex
	states := map[key]*direction{}
	return func(run string, w way, before, data []byte) [][]byte {
		mu.Lock()
		defer mu.Unlock()
		s := states[key{run, w}]
		if s == nil {
			s = &direction{}
			states[key{run, w}] = s
		}
		e, err := bus.ParseEnvelope(data)
		if err != nil || e.Count == 0 {
			return append(s.release(), data)
		}
		s.seen++
		s.due = s.seen%period == 0
		return alter(s, before, data)
	}
}

// direction is the state of one direction between two nodes.
type direction struct {
	seen int
	due  bool
	last uint64 // number of an envelope
	held []byte
}

func (s *direction) release() (all [][]byte) {
	if s.held != nil {
		all = append(all, s.held)
	}
	s.held = nil
	return all
}

func seqOf(data []byte) uint64 { return binary.BigEndian.Uint64(data[seqAt:]) }

// numbered returns a copy of an envelope with another number.
func numbered(data []byte, seq uint64) []byte {
	data = append([]byte(nil), data...)
	binary.BigEndian.PutUint64(data[seqAt:], seq)
	return data
}

// promiseTooFar promises two lookaheads more than the sender can keep.
func promiseTooFar() breach {
	return each(8, func(s *direction, _, data []byte) [][]byte {
		if !s.due {
			return [][]byte{data}
		}
		data = append([]byte(nil), data...)
		binary.BigEndian.PutUint64(data[promiseAt:], binary.BigEndian.Uint64(data[promiseAt:])+uint64(4*unit.Microsecond))
		return [][]byte{data}
	})
}

// resendLost loses every envelope with frames that is sent again.
func resendLost() breach {
	return each(1, func(s *direction, _, data []byte) [][]byte {
		if seqOf(data) <= s.last {
			return nil
		}
		s.last = seqOf(data)
		return [][]byte{data}
	})
}

// duplicateTaken delivers the first frame of an envelope twice. (A whole envelope under the next
// number is refused: its frames are older than promised.)
func duplicateTaken() breach {
	return each(4, func(s *direction, _, data []byte) [][]byte {
		if !s.due {
			return [][]byte{data}
		}
		link, n := binary.Uvarint(data[headBytes:])
		size, m := binary.Uvarint(data[headBytes+n:])
		from := headBytes + n + m
		section, rest := data[from:from+int(size)], data[from+int(size):]
		arrival, length := firstFrame(section)
		again := append([]byte{0}, section[arrival:length]...) // no time later
		out := append([]byte(nil), data[:headBytes]...)
		binary.BigEndian.PutUint32(out[countAt:], binary.BigEndian.Uint32(data[countAt:])+1)
		out = binary.AppendUvarint(binary.AppendUvarint(out, link), size+uint64(len(again)))
		return [][]byte{slices.Concat(out, section[:length], again, section[length:], rest)}
	})
}

// firstFrame returns the length of the arrival of the first frame in a section, and of the
// whole frame.
func firstFrame(section []byte) (arrival, length int) {
	_, arrival = binary.Uvarint(section)
	payload, n := binary.Uvarint(section[arrival:])
	length = arrival + n
	if payload&1 != 0 {
		length += 8 // the trace
	}
	return arrival, length + 1 + int(section[length]) // the header and its length
}

// epochIgnored makes envelopes of an earlier attempt valid in the present one.
func epochIgnored() breach {
	return each(1, func(_ *direction, before, data []byte) [][]byte {
		if before == nil {
			return [][]byte{data}
		}
		before = append([]byte(nil), before...)
		copy(before[epochAt:seqAt], data[epochAt:seqAt])
		return [][]byte{before, data}
	})
}

// orderSwapped delivers two consecutive envelopes with each other's numbers.
func orderSwapped() breach {
	return each(4, func(s *direction, _, data []byte) [][]byte {
		held := s.held
		switch {
		case held == nil && s.due:
			s.held = append([]byte(nil), data...)
			return nil
		case held != nil && seqOf(data) == seqOf(held)+1:
			s.held = nil
			return [][]byte{numbered(data, seqOf(held)), numbered(held, seqOf(data))}
		}
		return append(s.release(), data)
	})
}
