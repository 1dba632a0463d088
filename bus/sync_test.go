package bus

import (
	"bytes"
	"testing"

	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// arrived is an inbox that keeps the arrivals of one link.
type arrived []unit.Time

func (a *arrived) Push(_, _ int, f *frame.Frame) { *a = append(*a, f.Arrival) }

func (a *arrived) Frame() *frame.Frame { return new(frame.Frame) }

// newPair returns both ends of one link.
func newPair(t testing.TB) (a, b *Sync) {
	t.Helper()
	for _, s := range []**Sync{&a, &b} {
		var err error
		*s, err = NewSync(7, []PeerConfig{{Name: "x->y", Links: 1, Lookahead: unit.Microsecond}}, unit.Millisecond, 100)
		if err != nil {
			t.Fatal(err)
		}
	}
	return a, b
}

// sent collects what a Sync emits.
func sent(do func(emit func(int, []byte))) (all [][]byte) {
	do(func(_ int, data []byte) { all = append(all, bytes.Clone(data)) })
	return all
}

// flush returns the output of a node that has sent frames with these arrivals on its
// link and whose next event is at next.
func flush(s *Sync, next unit.Time, arrivals ...unit.Time) [][]byte {
	for _, at := range arrivals {
		s.Send(0, 0, &frame.Frame{Arrival: at})
	}
	return sent(func(emit func(int, []byte)) { s.Flush(next, emit) })
}

// receive passes on the messages of the other end.
func receive(t *testing.T, s *Sync, all [][]byte) (got arrived) {
	t.Helper()
	for _, data := range all {
		if err := s.Receive(0, data, &got); err != nil {
			t.Fatal(err)
		}
	}
	return got
}

func TestInvalidEnvelopesAreCountedByKind(t *testing.T) {
	other := func(change func(e *Envelope)) []byte {
		e := Envelope{Epoch: 7, Seq: 1, Want: noWant}
		change(&e)
		return build(e, nil)
	}
	version := other(func(*Envelope) {})
	version[1]++
	tests := []struct {
		name string
		data []byte
		want Counts
	}{
		{"noise", []byte("noise"), Counts{Malformed: 1}},
		{"too long", make([]byte, MaxEnvelope+1), Counts{Oversized: 1}},
		{"another version", version, Counts{OtherVersion: 1}},
		{"another run", other(func(e *Envelope) { e.Epoch++ }), Counts{Foreign: 1}},
		{"confirms what was not sent", other(func(e *Envelope) { e.Ack = 1 }), Counts{Malformed: 1}},
		{"takes what was not sent", other(func(e *Envelope) { e.Taken = 1 }), Counts{Malformed: 1}},
		{"before its turn", other(func(e *Envelope) { e.Seq = 2 }), Counts{Early: 1, Missed: 1}},
		{"in its turn", other(func(*Envelope) {}), Counts{Received: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := newPair(t)
			if got := receive(t, s, [][]byte{tt.data}); len(got) > 0 {
				t.Errorf("frames %v", got)
			}
			if s.Counts() != tt.want {
				t.Errorf("%+v, want %+v", s.Counts(), tt.want)
			}
		})
	}
}

func TestDuplicateEnvelopesAreDiscarded(t *testing.T) {
	a, b := newPair(t)
	all := flush(a, 10*unit.Microsecond, 2*unit.Microsecond)
	if got := receive(t, b, append(all, all...)); len(got) != 1 {
		t.Errorf("frames %v", got)
	}
	if c := b.Counts(); c.Repeated != 1 || c.Received != 1 {
		t.Errorf("%+v", c)
	}
}

// A gap is reported once per tick, and the missing envelopes are sent again.
func TestLostEnvelopesAreResent(t *testing.T) {
	a, b := newPair(t)
	lost := flush(a, 10*unit.Microsecond, 2*unit.Microsecond)
	next := flush(a, 20*unit.Microsecond, 12*unit.Microsecond)
	if len(lost) != 1 || len(next) != 1 {
		t.Fatalf("%d and %d envelopes", len(lost), len(next))
	}
	if got := receive(t, b, append(next, next...)); len(got) > 0 {
		t.Fatalf("frames %v delivered before the missing ones", got)
	}
	report := flush(b, 5*unit.Microsecond)
	receive(t, a, report)
	again := flush(a, 20*unit.Microsecond)
	got := receive(t, b, again)
	if len(got) != 2 || got[0] != 2*unit.Microsecond || got[1] != 12*unit.Microsecond {
		t.Errorf("frames %v", got)
	}
	if c := b.Counts(); c.Missed != 1 || c.Early != 2 {
		t.Errorf("%+v", c)
	}
	if c := a.Counts(); c.Resent != 2 {
		t.Errorf("%+v", c)
	}
}

// A peer that violates the protocol repeatedly ends the run, and the error names the
// peer. Occasional violations do not end it.
func TestProtocolViolationEndsTheRun(t *testing.T) {
	s, _ := newPair(t)
	bad := build(Envelope{Epoch: 7, Seq: 1, Taken: 9, Want: noWant}, nil)
	for i := range refusedLimit {
		if err := s.Receive(0, bad, nil); err != nil {
			t.Fatalf("after %d: %v", i, err)
		}
	}
	if err := s.Receive(0, bad, nil); err == nil || err.Error() != "peer x->y: reports 9 frames taken, want at most 0" {
		t.Errorf("got %v", err)
	}
}

// TestSilence: the error names a peer that is waited for and stays silent.
func TestSilentPeerIsNamed(t *testing.T) {
	s, _ := newPair(t)
	flush(s, 10*unit.Microsecond) // sends a probe
	none := func(int, []byte) {}
	for i := range 100 {
		if err := s.Tick(none); err != nil {
			t.Fatalf("tick %d: %v", i, err)
		}
	}
	if err := s.Tick(none); err == nil || err.Error() != "peer x->y: no message for 101 ticks, want at most 100" {
		t.Errorf("got %v", err)
	}
}

// A group that has handled all safe events waits for the peer with the least promise; it
// waits for nobody once it has reached its grant or has events to handle.
func TestWaitsNamesThePeer(t *testing.T) {
	peers := []PeerConfig{{Name: "x->z", Links: 1, Lookahead: unit.Microsecond}, {Name: "y->z", Links: 1, Lookahead: unit.Microsecond}}
	s, err := NewSync(7, peers, 20*unit.Microsecond, 100)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, ok := s.Waits(0); ok {
		t.Error("waits with an event below the bound")
	}
	none := func(int, []byte) {}
	s.Flush(5*unit.Microsecond, none)
	promise := build(Envelope{Epoch: 7, Seq: 1, Promise: 6 * unit.Microsecond, Want: noWant}, nil)
	if err := s.Receive(0, promise, nil); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := s.Tick(none); err != nil {
			t.Fatal(err)
		}
	}
	if peer, ticks, ok := s.Waits(5 * unit.Microsecond); peer != 1 || ticks != 3 || !ok {
		t.Errorf("waits for peer %d for %d ticks, %v; want peer 1 for 3", peer, ticks, ok)
	}
	promise = build(Envelope{Epoch: 7, Seq: 1, Promise: unit.Second, Want: noWant}, nil)
	if err := s.Receive(1, promise, nil); err != nil {
		t.Fatal(err)
	}
	if peer, ticks, ok := s.Waits(8 * unit.Microsecond); peer != 0 || !ok {
		t.Errorf("waits for peer %d for %d ticks, %v; want peer 0", peer, ticks, ok)
	}
	promise = build(Envelope{Epoch: 7, Seq: 2, Promise: unit.Second, Want: noWant}, nil)
	if err := s.Receive(0, promise, nil); err != nil {
		t.Fatal(err)
	}
	if _, _, ok := s.Waits(30 * unit.Microsecond); ok {
		t.Error("waits at the end of the grant")
	}
}

// No input causes a panic, and no frame arrives before the bound promised to the node.
func FuzzReceive(f *testing.F) {
	at := func(t unit.Time) frame.Frame { return frame.Frame{Arrival: t * unit.Microsecond} }
	e := Envelope{Epoch: 7, Seq: 1, Promise: 5 * unit.Microsecond, Want: noWant}
	f.Add(build(e, []frame.Frame{at(3), at(9)}), build(e, nil))
	e.Seq, e.Flags, e.Taken = 2, flagReport, 1
	f.Add(build(e, []frame.Frame{at(1)}), build(Envelope{Epoch: 7, Flags: flagBare | flagGap, Want: noWant}, nil))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		s, _ := newPair(t)
		flush(s, 3*unit.Microsecond, 2*unit.Microsecond)
		for range refusedLimit / 4 {
			for _, data := range [][]byte{first, second} {
				bound := s.Bound()
				var got arrived
				if err := s.Receive(0, data, &got); err != nil {
					t.Fatal(err)
				}
				for _, at := range got {
					if at < bound {
						t.Fatalf("frame at %s, promised not before %s", at, bound)
					}
					bound = at
				}
				flush(s, s.Bound())
			}
		}
	})
}

// A node is settled when its envelopes are confirmed and it waits for no answer.
func TestSettled(t *testing.T) {
	s, err := NewSync(1, []PeerConfig{{Name: "a->b", Links: 1, Lookahead: 10}}, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if !s.Settled() {
		t.Error("not settled before any grant")
	}
	s.Grant(100)
	var sent []byte
	s.Flush(unit.Never, func(_ int, data []byte) { sent = append(sent[:0], data...) })
	if sent == nil || s.Settled() {
		t.Fatal("settled while a probe is unanswered")
	}
	e := Envelope{Epoch: 1, Seq: 1, Ack: 1, Promise: 200, Want: noWant}
	b := make([]byte, envelopeHead)
	e.putHead(b)
	if err := s.Receive(0, b, nil); err != nil {
		t.Fatal(err)
	}
	if !s.Settled() {
		t.Error("not settled after the answer")
	}
}

// A node is not settled while an envelope is missing, because it asks for it once per tick,
// and the question or its answer may be lost again.
func TestMissingEnvelopeIsNotSettled(t *testing.T) {
	a, _ := newPair(t)
	first := flush(a, 20*unit.Microsecond, 12*unit.Microsecond)
	second := flush(a, 40*unit.Microsecond, 32*unit.Microsecond)
	b, err := NewSync(7, []PeerConfig{{Name: "x->y", Links: 1, Lookahead: unit.Microsecond}}, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	if receive(t, b, second); b.Settled() {
		t.Error("settled while an envelope is missing")
	}
	if receive(t, b, append(first, second...)); !b.Settled() {
		t.Error("not settled once it has arrived")
	}
}
