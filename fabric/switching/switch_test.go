package switching

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Store and forward: a frame with an idle egress port is sent at once. It arrives at the
// peer after serialisation, overhead included, and propagation.
func TestStoreAndForward(t *testing.T) {
	cfg := rackConfig(3)
	cfg.Ports[0].Overhead = 20
	r := newRig(t, cfg)
	f := data(0, 1, lossless)
	f.Trace = 77
	r.Arrive(us, 1, f, &r.out)
	if _, ok := r.Next(); ok {
		t.Error("the switch waits for something with nothing queued")
	}
	got := r.sent(0)
	if len(got) != 1 || got[0].Arrival != us+slot+4*ns+delay || got[0].Trace != 77 {
		t.Fatalf("sent %+v", got)
	}
	r.Arrive(us+1, 1, f, &r.out)
	if next, ok := r.Next(); !ok || next != us+slot+4*ns {
		t.Errorf("next is %v, %v", next, ok)
	}
}

// At one instant arrivals come first: a port that becomes idle leaves the choice to
// the tick.
func TestArrivalsPrecedeTheTickOfTheirInstant(t *testing.T) {
	r := newRig(t, rackConfig(4))
	r.arrive(0, 1, data(0, 1, lossless))
	r.arrive(1, 1, data(0, 1, lossless))
	r.arrive(slot, 2, data(0, 2, lossy))
	r.arrive(slot, 3, data(0, 3, control))
	r.run(us)
	if got := r.sent(0); len(got) != 4 || got[1].DSCP()/8 != uint8(control) {
		t.Error("the strict frame that came at the instant of the tick did not go first")
	}
}

// A tick serves all ports that are due, in the order of their numbers.
func TestTickServesPortsInOrder(t *testing.T) {
	r := newRig(t, rackConfig(6))
	for _, to := range []int{4, 2, 0, 3} {
		r.arrive(0, 5, data(to, 1, lossless))
	}
	for _, to := range []int{3, 4, 0, 2} {
		r.arrive(0, 5, data(to, 1, lossless))
	}
	r.out.Reset()
	r.Tick(slot, &r.out)
	var got []fabric.Port
	for i := range r.out.Sends {
		got = append(got, r.out.Sends[i].Port)
	}
	if diff := cmp.Diff([]fabric.Port{0, 2, 3, 4}, got); diff != "" {
		t.Error(diff)
	}
}

func TestEventsOfAFrame(t *testing.T) {
	r := newRig(t, rackConfig(2))
	for psn := range uint32(3) {
		r.arrive(0, 1, packet(0, 5, lossless, frame.ECT0, psn+1, size))
	}
	r.run(2 * slot)
	note := func(kind fabric.Kind, at unit.Time, a, b int64, trace uint64) fabric.Note {
		return fabric.Note{Event: fabric.EventOf(kind, a, b), At: at, Trace: trace, Flow: 5, Priority: lossless}
	}
	want := []fabric.Note{
		note(fabric.Enqueued, 0, size, size, 1),
		note(fabric.Dequeued, 0, size, 0, 1),
		note(fabric.Enqueued, 0, size, size, 2),
		note(fabric.Enqueued, 0, size, 2*size, 3),
		note(fabric.Dequeued, slot, size, size, 2),
		note(fabric.Dequeued, 2*slot, size, 0, 3),
		note(fabric.Marked, 2*slot, 0, 3, 3),
	}
	if diff := cmp.Diff(want, r.out.Notes, cmpopts.EquateComparable(fabric.Event{})); diff != "" {
		t.Error(diff)
	}
}

func TestMalformedFramesAreReportedAndDropped(t *testing.T) {
	var short, badPFC frame.Frame
	short.SetHeader(make([]byte, 20))
	badPFC = *pause(lossless, 5)
	badPFC.Header()[16] = 1 // the reserved half of the class-enable vector
	for name, f := range map[string]*frame.Frame{
		"short": &short, "PFC": &badPFC, "larger than the MTU": packet(0, 1, lossless, frame.ECT0, 0, 1501),
	} {
		r := newRig(t, rackConfig(2))
		r.arrive(us, 1, f)
		want := fabric.Note{Event: fabric.NewMalformed(f.Len()), At: us, Port: 1, Flow: fabric.NoFlow}
		if len(r.out.Notes) != 1 || r.out.Notes[0] != want || len(r.out.Sends) != 0 || r.Stats().Malformed != 1 {
			t.Errorf("%s: noted %+v, sent %d", name, r.out.Notes, len(r.out.Sends))
		}
	}
	r := newRig(t, rackConfig(2))
	r.arrive(0, 2, data(0, 1, lossless))
	if got := r.notes(fabric.Malformed); len(got) != 1 {
		t.Errorf("a frame at a port that is not there: %+v", got)
	}
}

func TestStats(t *testing.T) {
	r := newRig(t, rackConfig(3))
	r.arrive(1, 0, pause(lossless, 65535))
	for range 3 {
		r.arrive(1, 1, data(0, 1, lossless))
	}
	r.arrive(us, 0, pause(lossless, 0))
	r.arrive(us+slot+1, 0, pause(lossless, 65535)) // one frame is left
	s := r.Stats()
	wantEgress := ClassStats{
		SentFrames: 2, SentBytes: 2 * size, QueueFrames: 1, QueueBytes: size,
		QueuePeakBytes: 3 * size, Paused: true, PausedFor: us - 1, PausesReceived: 2, ResumesReceived: 1,
		Onset: fabric.Onset{PauseReceived: 1},
	}
	wantIngress := ClassStats{ReceivedFrames: 3, ReceivedBytes: 3 * size, OccupancyBytes: size}
	if diff := cmp.Diff(wantEgress, s.Ports[0].Classes[lossless]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(wantIngress, s.Ports[1].Classes[lossless]); diff != "" {
		t.Error(diff)
	}
	if s.SharedUsed != size || s.SharedSize != r.cfg.Buffer-r.cfg.set() {
		t.Errorf("shared %v of %v", s.SharedUsed, s.SharedSize)
	}
}

// With arbitrary bytes, the switch neither panics nor miscounts.
func FuzzArrive(f *testing.F) {
	c, cnm := frame.CNM{Src: frame.SwitchMAC(1), Feedback: 9}, new(frame.Frame)
	c.Take(from(2, data(0, 1, lossless)))
	c.Build(cnm)
	for _, seed := range []*frame.Frame{data(0, 1, lossless), pause(lossless, 3), packet(9, 1, control, frame.CE, 0, 64), cnm} {
		f.Add(seed.Header(), seed.Payload, uint8(1))
	}
	f.Fuzz(func(t *testing.T, header []byte, payload uint32, at uint8) {
		var in frame.Frame
		if !in.SetHeader(header) {
			return
		}
		in.Payload = payload
		sampling := qcnConfig(4)
		sampling.Classes[lossless].QCN = QCNConfig{SetPoint: 1, SampleBase: 1}
		for _, cfg := range []Config{rackConfig(4), sampling} {
			r := newRig(t, cfg)
			for now := range unit.Time(3) {
				r.arrive(now, fabric.Port(at), &in)
			}
			r.run(unit.Second)
			if diff := r.accountsDiffer(); diff != "" {
				t.Error(diff)
			}
		}
	})
}
