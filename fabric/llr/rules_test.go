package llr

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// script drops the frames that arrive at side 1 by their number of arrival, and control frames at
// side 0 likewise.
func script(lost map[string]fabric.Fate) func(int, *frame.Frame) fabric.Fate {
	seen := [2]int{}
	return func(to int, _ *frame.Frame) fabric.Fate {
		seen[to]++
		return lost[fmt.Sprint(to, ":", seen[to])]
	}
}

// One table row per sentence of the SAI proposal about errors.
func TestErrorHandling(t *testing.T) {
	for name, c := range map[string]struct {
		lost map[string]fabric.Fate
		want func(s SenderStats, r ReceiverStats) bool
	}{
		"without errors there is no replay": {
			nil, func(s SenderStats, r ReceiverStats) bool { return s.Replays == 0 && r.NACKs == 0 && r.Missing == 0 },
		},
		"a missing frame makes one NACK, and all frames up to the replay are discarded": {
			map[string]fabric.Fate{"1:5": fabric.Lost},
			func(s SenderStats, r ReceiverStats) bool {
				return r.NACKs == 1 && s.NACKs == 1 && s.Replays == 1 && s.Timeouts == 0 && r.Missing > 2 && r.Missing+1 == s.ReplayedFrames
			},
		},
		"a damaged frame makes a NACK at once": {
			map[string]fabric.Fate{"1:5": fabric.Damaged},
			func(s SenderStats, r ReceiverStats) bool {
				return r.NACKs == 1 && r.Bad == 1 && s.Replays == 1 && s.Timeouts == 0
			},
		},
		"the timer replays a lost last frame": {
			map[string]fabric.Fate{"1:20": fabric.Lost},
			func(s SenderStats, r ReceiverStats) bool {
				return s.Timeouts == 1 && s.ReplayedFrames == 1 && r.NACKs == 0
			},
		},
		"after a NACK there is no other; the timer ends the wait": {
			map[string]fabric.Fate{"1:5": fabric.Lost, "0:3": fabric.Lost, "0:2": fabric.Lost, "0:1": fabric.Lost},
			func(s SenderStats, r ReceiverStats) bool { return r.NACKs == 1 && s.NACKs == 0 && s.Timeouts == 1 },
		},
		"a damaged last frame makes a NACK; there is no wait for the timer": {
			map[string]fabric.Fate{"1:20": fabric.Damaged},
			func(s SenderStats, r ReceiverStats) bool { return r.NACKs == 1 && s.Timeouts == 0 },
		},
		"each gap has a NACK and replays of its own": {
			map[string]fabric.Fate{"1:3": fabric.Lost, "1:22": fabric.Lost},
			func(s SenderStats, r ReceiverStats) bool {
				return r.NACKs == 2 && s.Replays == 2 && s.Timeouts == 0 && s.Flushes == 0
			},
		},
		"a replay of frames that had arrived is acknowledged": {
			map[string]fabric.Fate{"0:1": fabric.Lost, "0:2": fabric.Lost, "0:3": fabric.Lost, "0:4": fabric.Lost, "0:5": fabric.Lost, "0:6": fabric.Lost},
			func(s SenderStats, r ReceiverStats) bool {
				return s.Timeouts == 1 && r.Duplicates > 0 && r.NACKs == 0 && s.Flushes == 0
			},
		},
		"a later ACK covers a lost one": {
			map[string]fabric.Fate{"0:2": fabric.Lost},
			func(s SenderStats, r ReceiverStats) bool { return s.Replays == 0 && s.ACKs+1 == r.ACKs },
		},
	} {
		t.Run(name, func(t *testing.T) {
			once := DefaultSettings()
			once.Retries = 1
			w := newWire(t, once, script(c.lost))
			w.post(0, 20)
			w.run(unit.Second)
			s, r := w.sides[0].Stats(), w.sides[1].Stats()
			if !slices.Equal(w.sides[1].taken, payloads(20)) || !c.want(s.SenderStats, r.Receiver) {
				t.Errorf("took %v\nsender %+v\nreceiver %+v", w.sides[1].taken, s.SenderStats, r.Receiver)
			}
		})
	}
}

// With the default buffer, ACKs of the default spacing keep up with the link: a stream of the
// largest frames is never interrupted.
func TestDefaultBufferKeepsTheLinkBusy(t *testing.T) {
	w := newWire(t, DefaultSettings(), func(int, *frame.Frame) fabric.Fate { return fabric.Whole })
	s := &w.sides[0]
	for range 200 {
		var f frame.Frame
		p := frame.Packet{BTH: frame.BTH{Opcode: frame.WriteMiddle}, Payload: 1036}
		p.Build(&f)
		s.todo = append(s.todo, f)
	}
	w.post(1, 300) // the ACKs share the other direction with data
	length := s.todo[0].Len()
	w.run(unit.Second)
	acks := unit.Time(s.Stats().Receiver.ACKs) * testLink.Rate.Serialise(controlBytes)
	if last := s.sender.stats; last.Frames != 200 || last.PeakBytes > s.sender.settings.Buffer {
		t.Errorf("%+v", last)
	}
	if want := 200*testLink.serialise(length) + acks; s.freeAt > want+testLink.Rate.Serialise(8)*100 {
		t.Errorf("200 frames took %s, want %s", s.freeAt, want)
	}
}

// The port waits while the next frame might exceed the buffer.
func TestBufferIsBounded(t *testing.T) {
	s := DefaultSettings()
	s.Buffer = 3300
	w := newWire(t, s, func(to int, _ *frame.Frame) fabric.Fate { return fabric.Whole })
	w.post(0, 50)
	w.run(unit.Second)
	if peak := w.sides[0].Stats().PeakBytes; peak > 3300 || peak < 2200 || len(w.sides[1].taken) != 50 {
		t.Errorf("peak %d B, %d taken", peak, len(w.sides[1].taken))
	}
}

// ACKs are at least the spacing apart.
func TestACKsAreSpaced(t *testing.T) {
	s := DefaultSettings()
	s.Spacing = 10_000
	w := newWire(t, s, func(int, *frame.Frame) fabric.Fate { return fabric.Whole })
	w.post(0, 100)
	w.run(unit.Second)
	bytes := w.sides[0].freeAt
	if acks := w.sides[1].Stats().Receiver.ACKs; acks < 3 || unit.Time(acks-2)*testLink.Rate.Serialise(10_000) > bytes {
		t.Errorf("%d ACKs in %s", acks, bytes)
	}
}

func TestCompleteRefusesWhatDoesNotFit(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Settings, *Link)
		valid  bool
	}{
		"defaults":                   {func(*Settings, *Link) {}, true},
		"buffer below a frame":       {func(s *Settings, _ *Link) { s.Buffer = 1099 }, false},
		"buffer of a frame":          {func(s *Settings, _ *Link) { s.Buffer = 1100 }, true},
		"buffer of a very long link": {func(_ *Settings, l *Link) { l.Delay = unit.Second }, false},
		"timeout within a loop":      {func(s *Settings, _ *Link) { s.Timeout = unit.Microsecond }, false},
	} {
		s, l := DefaultSettings(), testLink
		c.change(&s, &l)
		if _, err := s.Complete(l); (err == nil) != c.valid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An INIT_ECHO of an earlier flush does not end a later one.
func TestEchoOfAnotherFlushIsIgnored(t *testing.T) {
	w := newWire(t, DefaultSettings(), func(int, *frame.Frame) fabric.Fate { return fabric.Lost })
	w.post(0, 3)
	w.run(100 * unit.Microsecond)
	e := w.sides[0].End
	if e.sender.flushing == 0 || e.sender.held.Len() != 3 {
		t.Fatalf("%+v", e.sender.stats)
	}
	var out fabric.Out
	answer := func(number uint32) {
		var f frame.Frame
		(&frame.Retry{Kind: frame.RetryInitEcho, Number: number, Good: 0}).Build(&f)
		e.Receive(w.now, &f, fabric.Whole, &out)
	}
	if answer(2); e.sender.flushing == 0 {
		t.Error("an answer to INIT 2 ended INIT 3")
	}
	if answer(3); e.sender.flushing != 0 || e.sender.stats.Discarded != 2 {
		t.Errorf("after the answer to INIT 3: %+v", e.sender.stats)
	}
}
