package switching

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
)

// Under the policy of htsim, a frame that is shorter than the arriving one is not replaced by it:
// the queue stays within its limit.
func TestTrimPolicyHTSimKeepsTheLimit(t *testing.T) {
	trim := trimming
	trim.Policy = TrimHTSim
	r := newRig(t, bounded(trim))
	for i := range uint32(4) {
		r.arrive(0, 1, writeOf(0, 5, lossy, i, 700))
	}
	for i := range uint32(20) {
		r.arrive(0, 1, writeOf(0, 5, lossy, 4+i, 1200))
		if got := r.notes(fabric.Trimmed)[i].Trace; got != uint64(4+i) {
			t.Fatalf("frame %d trimmed, want %d", got, 4+i)
		}
	}
}

// TRIM-8: under the policy of htsim, about half of the frames that do not fit take the place of the frame
// queued last, which is trimmed instead.
func TestTrimPolicyHTSim(t *testing.T) {
	trim := trimming
	trim.Policy = TrimHTSim
	cfg := bounded(trim)
	cfg.Classes[trimClass].Queue.Limit = 0
	r := newRig(t, cfg)
	for i := range uint32(4) {
		r.arrive(0, 1, write(0, 5, i))
	}
	replaced, last := 0, uint64(3)
	for i := uint32(4); i < 1004; i++ {
		r.arrive(0, 2, write(0, 5, i))
		notes := r.notes(fabric.Trimmed)
		switch trace := notes[len(notes)-1].Trace; trace {
		case last:
			replaced, last = replaced+1, uint64(i)
		case uint64(i):
		default:
			t.Fatalf("frame %d trimmed, want %d or %d", trace, last, i)
		}
	}
	if replaced < 420 || replaced > 580 || len(r.notes(fabric.Trimmed)) != 1000 {
		t.Errorf("%d of 1000 frames took the place of the last one", replaced)
	}
	q := r.Stats().Ports[0].Classes[lossy]
	if q.QueueFrames != 3 || q.QueueBytes != 3*size || r.Stats().Ports[2].Classes[lossy].OccupancyBytes != size {
		t.Errorf("queue %+v", q)
	}
}

// If there is no room for the two frames, the queue and the buffer stay as they were: for want of
// room in the class of trimmed frames, or in the buffer of the port of arrival.
func TestTrimPolicyHTSimWithoutRoom(t *testing.T) {
	trim := trimming
	trim.Policy = TrimHTSim
	for name, c := range map[string]struct {
		change  func(*ClassConfig, *QueueConfig)
		dropped int
	}{
		"trimmed frames": {func(_ *ClassConfig, trimmed *QueueConfig) { trimmed.Limit = headers }, 19},
		"buffer":         {func(data *ClassConfig, _ *QueueConfig) { data.XOFF = 3 * size }, 0},
	} {
		cfg := bounded(trim)
		c.change(&cfg.Classes[lossy], &cfg.Classes[trimClass].Queue)
		r := newRig(t, cfg)
		for i := range uint32(4) { // one is sent, three wait
			r.arrive(0, 1, write(0, 5, i))
			r.arrive(0, 2, write(2, 6, i))
		}
		for i := range uint32(20) {
			r.arrive(0, 2, write(0, 7, 4+i))
			if diff := r.accountsDiffer(); diff != "" {
				t.Fatalf("%s, frame %d: %s", name, i, diff)
			}
		}
		if drops := r.notes(fabric.Dropped); len(drops) != c.dropped || len(r.notes(fabric.Trimmed)) != 20-c.dropped {
			t.Errorf("%s: %d drops, %d frames trimmed", name, len(drops), len(r.notes(fabric.Trimmed)))
		}
	}
}
