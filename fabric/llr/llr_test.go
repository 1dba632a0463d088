package llr

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// testLink is a link of 100 Gbit/s and 500 ns.
var testLink = Link{Rate: 100 * unit.GigabitPerSec, Delay: 500 * unit.Nanosecond, MTU: 1100}

// side is a port without queues: it transmits the frames given to it, in their order.
type side struct {
	*End
	freeAt unit.Time
	todo   []frame.Frame // to be transmitted
	taken  []uint32      // payloads taken from the link
	out    fabric.Out
	flying []frame.Frame // from this side, in order of arrival
	notes  []fabric.Note
}

// wire is a link between two sides. fate decides on each frame that arrives at side to.
type wire struct {
	sides [2]side
	now   unit.Time
	down  bool
	fate  func(to int, f *frame.Frame) fabric.Fate
}

func newWire(t rapid.TB, s Settings, fate func(to int, f *frame.Frame) fabric.Fate) *wire {
	t.Helper()
	s, err := s.Complete(testLink)
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{fate: fate}
	for i := range w.sides {
		w.sides[i].End = New(&s, testLink, fabric.Port(i), frame.SwitchMAC(i))
	}
	return w
}

// post makes a side transmit n frames with consecutive payloads.
func (w *wire) post(from, n int) {
	s := &w.sides[from]
	for range n {
		var f frame.Frame
		p := frame.Packet{BTH: frame.BTH{Opcode: frame.WriteMiddle}, Payload: uint32(100 + 4*((len(s.todo)+7)%200))}
		p.Build(&f)
		s.todo = append(s.todo, f)
	}
}

// due returns the next instant at which a side transmits.
func (s *side) due() unit.Time {
	due := s.Due()
	if len(s.todo) > 0 && !s.Blocked() {
		due = 0
	}
	return max(due, s.freeAt)
}

// run handles events until the given instant, or until nothing is left to do.
func (w *wire) run(until unit.Time) {
	for {
		type event struct {
			at      unit.Time
			side    int
			arrival bool
		}
		var next []event
		for i := range w.sides {
			if peer := &w.sides[1-i]; len(peer.flying) > 0 {
				next = append(next, event{peer.flying[0].Arrival, i, true})
			}
			if at := w.sides[i].due(); at != unit.Never && !w.down {
				next = append(next, event{max(at, w.now), i, false})
			}
		}
		if len(next) == 0 {
			return
		}
		e := slices.MinFunc(next, func(a, b event) int { return cmp.Compare(a.at, b.at) })
		if e.at >= until {
			return
		}
		w.now = e.at
		if e.arrival {
			w.arrive(e.side)
		} else {
			w.transmit(e.side)
		}
	}
}

func (w *wire) arrive(to int) {
	s, peer := &w.sides[to], &w.sides[1-to]
	f := peer.flying[0]
	peer.flying = peer.flying[1:]
	fate := w.fate(to, &f)
	if w.down {
		fate = fabric.CutOff
	}
	s.out.Reset()
	numbered := f.Sequence != 0
	if s.Receive(w.now, &f, fate, &s.out) {
		if fate == fabric.Whole {
			s.taken = append(s.taken, f.Payload)
		} else if numbered {
			panic("the port would note the loss of a frame that its sender holds")
		}
	}
	if f.Sequence != 0 {
		panic("the number of a frame is not cleared")
	}
	s.collect()
}

func (w *wire) transmit(from int) {
	s := &w.sides[from]
	s.out.Reset()
	if busy := s.Transmit(w.now, &s.out); busy > 0 {
		s.freeAt = w.now + busy
	} else if len(s.todo) > 0 && !s.Blocked() {
		f := s.out.Send(fabric.Port(from))
		*f, s.todo = s.todo[0], s.todo[1:]
		s.freeAt = w.now + testLink.serialise(f.Len())
		f.Arrival = s.freeAt + testLink.Delay
		s.Sent(w.now, f, f.Len(), &s.out)
	}
	s.collect()
}

// collect takes what a call has left in out.
func (s *side) collect() {
	for _, send := range s.out.Sends {
		if n := len(s.flying); n > 0 && send.Frame.Arrival <= s.flying[n-1].Arrival {
			panic("two frames arrive at once, or out of order")
		}
		s.flying = append(s.flying, *send.Frame)
	}
	s.notes = append(s.notes, s.out.Notes...)
}

// payloads returns the payloads of the first n frames that post makes a side transmit.
func payloads(n int) (list []uint32) {
	for i := range n {
		list = append(list, uint32(100+4*((i+7)%200)))
	}
	return list
}

// GET-12: below the limit of replays, each frame of both directions is taken exactly once and in
// order, whatever frames, ACKs, NACKs and replays the link loses and damages; and the replay
// buffers are empty in the end.
func TestEveryFrameArrivesOnceInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := DefaultSettings()
		s.Retries = MaxRetries
		s.Spacing = unit.Bytes(rapid.SampledFrom([]int64{0, 64, 2048, 8192}).Draw(t, "spacing"))
		s.Latency = unit.Time(rapid.Int64Range(0, 300).Draw(t, "latency")) * unit.Nanosecond
		s.Buffer = unit.Bytes(rapid.SampledFrom([]int64{0, 1100, 3000, 100_000}).Draw(t, "buffer"))
		loss, corrupt := rapid.IntRange(0, 30).Draw(t, "loss"), rapid.IntRange(0, 20).Draw(t, "corrupt")
		w := newWire(t, s, func(int, *frame.Frame) fabric.Fate {
			switch draw := rapid.IntRange(0, 99).Draw(t, "fate"); {
			case draw >= 100-loss:
				return fabric.Lost
			case draw >= 100-loss-corrupt:
				return fabric.Damaged
			default:
				return fabric.Whole
			}
		})
		there, back := rapid.IntRange(1, 60).Draw(t, "there"), rapid.IntRange(0, 20).Draw(t, "back")
		w.post(0, there)
		w.post(1, back)
		w.run(unit.Second)
		for i, n := range []int{back, there} {
			if got := w.sides[i].taken; !slices.Equal(got, payloads(n)) {
				t.Fatalf("side %d took %v, want %v", i, got, payloads(n))
			}
			if w.sides[i].sender.bytes != 0 || w.sides[i].sender.held.Len() != 0 {
				t.Fatalf("side %d holds %d B", i, w.sides[i].sender.bytes)
			}
		}
	})
}

// After the limit of replays, what has not arrived is dropped and noted, each frame once; what
// had arrived is not; and the link works again.
func TestFramesAreTakenOrDroppedBeyondTheLimit(t *testing.T) {
	flushed := uint64(0)
	rapid.Check(t, func(t *rapid.T) {
		s := DefaultSettings()
		s.Retries = rapid.IntRange(1, 3).Draw(t, "retries")
		bad := rapid.IntRange(20, 90).Draw(t, "bad")
		healed := false
		w := newWire(t, s, func(int, *frame.Frame) fabric.Fate {
			if !healed && rapid.IntRange(0, 99).Draw(t, "fate") < bad {
				return fabric.Lost
			}
			return fabric.Whole
		})
		n := rapid.IntRange(1, 60).Draw(t, "frames")
		w.post(0, n)
		w.run(200 * unit.Microsecond)
		healed = true
		w.run(unit.Second)
		taken, dropped := w.sides[1].taken, 0
		for _, note := range w.sides[0].notes {
			if note.Kind == fabric.Dropped {
				dropped++
				if note.Reason() != fabric.DropRetries {
					t.Fatalf("dropped because of %s", note.Reason())
				}
			}
		}
		if len(taken)+dropped != n {
			t.Fatalf("%d frames taken and %d dropped of %d", len(taken), dropped, n)
		}
		all := payloads(n)
		for _, p := range taken { // in order: a subsequence
			i := slices.Index(all, p)
			if i < 0 {
				t.Fatalf("took %v of %v", taken, payloads(n))
			}
			all = all[i+1:]
		}
		stats := w.sides[0].Stats()
		flushed += stats.Flushes
		if stats.Discarded != uint64(dropped) || w.sides[0].sender.held.Len() != 0 {
			t.Fatalf("%+v, %d dropped", stats, dropped)
		}
	})
	if flushed == 0 {
		t.Error("no sender gave up")
	}
}

// A link that goes down and comes up drops what had not arrived, each frame once, and then
// delivers again in order.
func TestRestoreDropsWhatWasCutOff(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWire(t, DefaultSettings(), func(int, *frame.Frame) fabric.Fate { return fabric.Whole })
		w.post(0, 40)
		w.run(unit.Time(rapid.Int64Range(0, 4000).Draw(t, "cut")) * unit.Nanosecond)
		w.down = true
		w.run(w.now + 10*unit.Microsecond)
		w.now += 20 * unit.Microsecond
		w.down = false
		for i := range w.sides {
			w.sides[i].Restore(w.now)
		}
		w.run(unit.Second)
		w.sides[0].todo = append(w.sides[0].todo, frame.Frame{Payload: 1, Trace: 1})
		w.run(unit.Second)
		dropped := 0
		for _, note := range w.sides[0].notes {
			if note.Kind == fabric.Dropped && note.Reason() == fabric.DropLinkDown {
				dropped++
			}
		}
		taken := w.sides[1].taken
		if len(taken)+dropped != 41 || taken[len(taken)-1] != 1 || !slices.IsSorted(taken[:len(taken)-1]) {
			t.Fatalf("%d taken, %d dropped: %v", len(taken), dropped, taken)
		}
	})
}

// The numbers pass from 2^20-1 to 0 without a replay.
func TestNumbersWrap(t *testing.T) {
	w := newWire(t, DefaultSettings(), func(int, *frame.Frame) fabric.Fate { return fabric.Whole })
	w.sides[0].sender.first, w.sides[1].receiver.expected = frame.SequenceMask-5, frame.SequenceMask-5
	w.post(0, 50)
	w.run(unit.Second)
	s, r := w.sides[0].Stats(), w.sides[1].Stats().Receiver
	if !slices.Equal(w.sides[1].taken, payloads(50)) || s.Replays != 0 || r.Good != 50 || w.sides[1].receiver.expected != 44 {
		t.Errorf("%+v, %+v", s, r)
	}
}
