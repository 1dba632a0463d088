package qp

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/control"
	"github.com/rackfab/rackfab/fabric/nic/entropy"
	"github.com/rackfab/rackfab/fabric/unit"
)

// given is one piece of feedback that a walk was given.
type given struct {
	v entropy.Value
	f entropy.Feedback
}

// counting is a walk that counts up and records its feedback.
type counting struct {
	next entropy.Value
	got  []given
}

func (w *counting) Next(int) entropy.Value {
	w.next++
	return w.next - 1
}

func (w *counting) Feedback(_ unit.Time, v entropy.Value, f entropy.Feedback) {
	w.got = append(w.got, given{v, f})
}

func (*counting) Counts() entropy.Counts { return entropy.Counts{} }

// recorded has a flow use a counting walk, and sends the given number of packets at 0: packet n has
// entropy n.
func (r *Flow) recorded(packets int) *counting {
	w := &counting{}
	r.spread.walk = w
	for range packets {
		var f frame.Frame
		r.Send(0, &f, &fabric.Out{})
	}
	return w
}

// spreading makes flows choose one of 64 entropies for each packet.
func spreading(s *Settings) { s.Entropy, s.Entropies = cc.EntropyOblivious, 64 }

// spreader returns a flow of 20 packets with selective repeat that spreads them over paths, and its
// recovery.
func spreader(t *testing.T) (*Flow, *selective) {
	t.Helper()
	s := &Settings{Rate: 40 * unit.GigabitPerSec, Payload: 1000, AckEvery: 1, Scheme: "pfc", CC: cc.Default()}
	s.CC.IRN.Cap = unit.Megabyte
	spreading(s)
	d := &Device{}
	d.init(s, &EventCounters{}, control.Config{Limit: 8, DSCP: &s.DSCP}, false)
	d.Arbiter.Grow(1)
	r := &Flow{}
	if err := r.Init(d, fabric.Flow{From: 0, To: 1, Size: 20_000, Recovery: fabric.Selective}, 0); err != nil {
		t.Fatal(err)
	}
	r.Begin(0, &fabric.Out{})
	return r, r.recovery.(*selective)
}

// EV-2: an answer to a packet is feedback for that packet's entropy: good, or ECN if the packet
// came marked; NACK if it was trimmed, but good or ECN if it was trimmed at the last hop. A packet
// that is not acknowledged in time gives TIMEOUT.
func TestFeedbackOfAnswers(t *testing.T) {
	for _, c := range []struct {
		name     string
		syndrome uint8
		marked   bool
		want     entropy.Feedback
	}{
		{"arrived", frame.SyndromeACK, false, entropy.Good},
		{"arrived with CE", frame.SyndromeACK, true, entropy.ECN},
		{"trimmed", frame.SyndromeNAKTrimmed, false, entropy.NACK},
		{"trimmed with CE", frame.SyndromeNAKTrimmed, true, entropy.NACK},
		{"trimmed at the last hop", frame.SyndromeNAKTrimmedLastHop, false, entropy.Good},
		{"trimmed at the last hop with CE", frame.SyndromeNAKTrimmedLastHop, true, entropy.ECN},
	} {
		r := sprayer(t, 20_000, spreading)
		w := r.recorded(10)
		r.told(10*unit.Microsecond, 0, c.syndrome, 3, 1<<63, frame.Receipt{PSN: 3, SrcPort: r.Source ^ 3, Marked: c.marked, Received: 8})
		if want := []given{{3, c.want}}; !slices.Equal(w.got, want) {
			t.Errorf("%s: feedback %v, want %v", c.name, w.got, want)
		}
	}
	r := sprayer(t, 20_000, spreading)
	w := r.recorded(4)
	r.told(10*unit.Microsecond, -1, frame.SyndromeACK, 1, 1<<63, frame.Receipt{PSN: 1, SrcPort: r.Source ^ 1, Received: 4})
	r.Overdue(unit.Second, &fabric.Out{})
	if want := []given{{1, entropy.Good}, {0, entropy.Timeout}, {2, entropy.Timeout}, {3, entropy.Timeout}}; !slices.Equal(w.got, want) {
		t.Errorf("after a timeout: feedback %v, want %v", w.got, want)
	}
}

// EV-2: with selective repeat as in IRN, a packet that a NAK shows to be lost is feedback NACK for
// its entropy, and one that a timeout shows is feedback TIMEOUT.
func TestFeedbackOfSelectiveRepeat(t *testing.T) {
	r, s := spreader(t)
	w := r.recorded(6)
	s.selected(1, 0b101<<61) // 1 and 3 are placed
	s.lost(0, 0, &fabric.Out{})
	if want := []given{{0, entropy.NACK}, {2, entropy.NACK}}; !slices.Equal(w.got, want) {
		t.Errorf("after a NAK: feedback %v, want %v", w.got, want)
	}
	w.got = nil
	s.overdue(unit.Second, &fabric.Out{})
	if want := []given{{0, entropy.Timeout}, {2, entropy.Timeout}}; !slices.Equal(w.got, want) {
		t.Errorf("after a timeout: feedback %v, want %v", w.got, want)
	}
}

// A port of another flow is no feedback.
func TestFeedbackOfForeignPorts(t *testing.T) {
	r, _ := spreader(t)
	w := r.recorded(4)
	r.spread.echoed(0, r.Source^64, entropy.Good)
	r.spread.missing(0, 4, entropy.NACK)
	if len(w.got) > 0 {
		t.Errorf("feedback %v, want none", w.got)
	}
	var none *spread
	none.echoed(0, r.Source, entropy.Good)
	none.missing(0, 0, entropy.NACK)
	none.end()
}

// The record of entropies knows those of all packets in flight, and of packets sent again the
// latest.
func TestRecordOfEntropies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, w := &spread{sent: make([]entropy.Value, firstSent), size: 64}, &counting{}
		s.walk = w
		want, oldest, next := map[int64]entropy.Value{}, int64(0), int64(0)
		for v := range entropy.Value(rapid.IntRange(1, 300).Draw(t, "packets")) {
			n := next
			if rapid.IntRange(0, 3).Draw(t, "again") == 0 && oldest < next {
				n = rapid.Int64Range(oldest, next-1).Draw(t, "which")
			} else {
				next++
			}
			s.record(n, oldest, v)
			want[n] = v
			oldest = rapid.Int64Range(oldest, min(oldest+2, next)).Draw(t, "oldest")
		}
		for n := oldest; n < next; n++ {
			w.got = nil
			s.missing(0, n, entropy.Timeout)
			if !slices.Equal(w.got, []given{{want[n], entropy.Timeout}}) {
				t.Fatalf("packet %d of %d to %d: %v, want entropy %d", n, oldest, next, w.got, want[n])
			}
		}
	})
}
