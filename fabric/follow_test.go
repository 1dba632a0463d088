package fabric_test

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
)

// A share of messages is sampled by a hash of seed and message: about as many as the
// share, the same each time, others under another seed.
func TestSelectionSamplesItsShare(t *testing.T) {
	const messages = 100_000
	for _, share := range []float64{0.01, 0.5, 0.999} {
		s := fabric.NewSelection(7, share, nil)
		other := fabric.NewSelection(8, share, nil)
		picked, differ := 0, 0
		for i := range uint64(messages) {
			trace := (i%100+1)<<32 | i/100
			if s.Picks(trace) {
				picked++
			}
			if s.Picks(trace) != other.Picks(trace) {
				differ++
			}
			if s.Picks(trace) != s.Picks(trace|fabric.Closing) {
				t.Fatalf("message %x and its last frame are not picked alike", trace)
			}
		}
		if want := share * messages; float64(picked) < 0.95*want-10 || float64(picked) > 1.05*want+10 {
			t.Errorf("share %v: %d of %d", share, picked, messages)
		}
		if differ == 0 {
			t.Errorf("share %v: the seed does not matter", share)
		}
	}
}

func TestSelectionSamplesChosenFlows(t *testing.T) {
	if fabric.NewSelection(1, 0, nil) != nil {
		t.Error("an empty selection must be nil")
	}
	s := fabric.NewSelection(1, 0, []fabric.Message{{First: 30, End: 40}, {First: 10, End: 20}, {First: 20, End: 25}})
	for trace, want := range map[uint64]bool{0: false, 9: false, 10: true, 19: true, 20: true, 24: true, 25: false, 29: false, 30: true, 39: true, 40: false} {
		if s.Picks(trace) != want || s.Picks(trace|fabric.Closing) != want {
			t.Errorf("message %d: picked %t", trace, !want)
		}
	}
	if all := fabric.NewSelection(1, 1, nil); !all.Picks(5) || all.Picks(0) || all.Picks(fabric.Closing) {
		t.Error("a share of 1 must select exactly all messages")
	}
}

// A quiet Out records per-frame notes only for followed messages. The node where a
// message begins asks a Selection; the others read the flag in Trace.
func TestQuietOutputFollowsFlows(t *testing.T) {
	out := fabric.Out{Quiet: true, Follow: fabric.NewSelection(1, 0, []fabric.Message{{First: 5, End: 6}})}
	for trace := range uint64(8) {
		out.Note(fabric.Note{Event: fabric.Event{Kind: fabric.Enqueued}, Trace: out.Stamp(trace) | fabric.Closing})
	}
	out.Note(fabric.Note{Event: fabric.Event{Kind: fabric.Paused}})
	elsewhere := fabric.Out{Quiet: true}
	if elsewhere.Note(fabric.Note{Event: fabric.Event{Kind: fabric.Enqueued}, Trace: out.Stamp(5)}); len(elsewhere.Notes) != 1 || elsewhere.Stamp(5) != 5 {
		t.Errorf("a node that begins nothing got %+v", elsewhere.Notes)
	}
	if len(out.Notes) != 2 || out.Notes[0].Trace != 5 || out.Notes[1].Kind != fabric.Paused {
		t.Errorf("got %+v", out.Notes)
	}
}
