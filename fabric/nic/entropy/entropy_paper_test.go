package entropy

import (
	"slices"
	"testing"

	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/unit"
)

// One test per rule of uet-htsim's uec_mp.cpp and buffer_reps.cpp at 40ccb05, as far as the
// comments of the walks give them.

const (
	us     = unit.Microsecond
	window = 32 // packets
)

// draw returns the next entropies of a walk.
func draw(w Walk, packets int) (list []Value) {
	for range packets {
		list = append(list, w.Next(window))
	}
	return list
}

// isPermutation reports whether the list contains each of n entropies once.
func isPermutation(list []Value, n int) bool {
	sorted := slices.Sorted(slices.Values(list))
	for i, v := range sorted {
		if int(v) != i {
			return false
		}
	}
	return len(list) == n
}

// EV-5: the oblivious walk and the bitmap without feedback: a counter from 0 to n-1 XOR a random mask,
// which is drawn again at each wrap.
func TestObliviousOrder(t *testing.T) {
	for _, by := range []cc.Entropy{cc.EntropyOblivious, cc.EntropyBitmap, cc.EntropyMixed} {
		w := New(by, 64, 7)
		masks := map[Value]bool{}
		for range 50 {
			round := draw(w, 64)
			if !isPermutation(round, 64) {
				t.Fatalf("%s: a round visits %v", by, round)
			}
			mask := round[0]
			for i, v := range round {
				if v != Value(i)^mask {
					t.Fatalf("%s: entropy %d of a round is %d with mask %d", by, i, v, mask)
				}
			}
			masks[mask] = true
		}
		if len(masks) < 20 {
			t.Errorf("%s: %d masks in 50 rounds", by, len(masks))
		}
	}
}

// EV-5: the oblivious walk ignores feedback.
func TestObliviousIgnoresFeedback(t *testing.T) {
	a, b := New(cc.EntropyOblivious, 16, 3), New(cc.EntropyOblivious, 16, 3)
	for f := Good; f <= Timeout; f++ {
		for v := range Value(16) {
			b.Feedback(0, v, f)
		}
	}
	if !slices.Equal(draw(a, 100), draw(b, 100)) {
		t.Error("feedback changes the walk")
	}
}

// EV-6: an ECN mark costs 1, a NACK 4, a timeout 15, at most 15 in all.
func TestBitmapPenalties(t *testing.T) {
	for _, c := range []struct {
		feedback []Feedback
		want     uint8
	}{
		{[]Feedback{Good}, 0},
		{[]Feedback{ECN}, 1},
		{[]Feedback{NACK}, 4},
		{[]Feedback{Timeout}, 15},
		{[]Feedback{ECN, NACK, ECN}, 6},
		{[]Feedback{NACK, NACK, NACK, NACK}, 15},
		{[]Feedback{Timeout, Timeout, Good}, 15},
	} {
		b := New(cc.EntropyBitmap, 8, 1).(*bitmap)
		for _, f := range c.feedback {
			b.Feedback(0, 5, f)
		}
		if b.penalty[5] != c.want {
			t.Errorf("%v: penalty %d, want %d", c.feedback, b.penalty[5], c.want)
		}
	}
}

// EV-6: an entropy with a penalty is skipped, and its penalty falls by 1.
func TestBitmapSkips(t *testing.T) {
	w := New(cc.EntropyBitmap, 8, 1)
	w.Feedback(0, 5, NACK)
	for round := range 6 {
		// A skipped entropy leaves the place to the next: 7 packets make a round.
		list := draw(w, 7+round/4)
		if got, want := slices.Contains(list, 5), round >= 4; got != want {
			t.Errorf("round %d uses the entropy: %t, want %t", round, got, want)
		}
	}
	if c := w.Counts(); c.Skipped != 4 {
		t.Errorf("%d skipped, want 4", c.Skipped)
	}
}

// EV-6: only the penalty of the first entropy that is skipped for a packet falls.
func TestBitmapFirstSkippedOnly(t *testing.T) {
	b := New(cc.EntropyBitmap, 4, 1).(*bitmap)
	b.mask = 0
	for _, v := range []Value{0, 1, 2} {
		b.Feedback(0, v, NACK)
	}
	if v := b.Next(window); v != 3 {
		t.Errorf("entropy %d, want 3", v)
	}
	if want := []uint8{3, 4, 4, 0}; !slices.Equal(b.penalty, want) {
		t.Errorf("penalties %v, want %v", b.penalty, want)
	}
}

// EV-6: the bitmap gives up after n skips, and then uses an entropy in spite of its penalty.
func TestBitmapGivesUp(t *testing.T) {
	b := New(cc.EntropyBitmap, 8, 1).(*bitmap)
	for v := range Value(8) {
		b.Feedback(0, v, Timeout)
	}
	v := b.Next(window)
	if b.penalty[v] == 0 || b.count.Skipped != 8 {
		t.Errorf("entropy %d with penalty %d after %d skips, want a penalty after 8", v, b.penalty[v], b.count.Skipped)
	}
}

// EV-7: REPS sends the oldest unused entropy of the cache, each once; random without one.
func TestREPSRecycles(t *testing.T) {
	w := New(cc.EntropyREPS, 256, 1)
	for _, v := range []Value{7, 9, 200} {
		w.Feedback(0, v, Good)
	}
	if got := draw(w, 3); !slices.Equal(got, []Value{7, 9, 200}) {
		t.Errorf("entropies %v, want 7, 9 and 200", got)
	}
	if c := w.Counts(); c.Recycled != 3 {
		t.Errorf("%d recycled, want 3", c.Recycled)
	}
	different := slices.Compact(slices.Sorted(slices.Values(draw(w, 256))))
	if len(different) < 140 || len(different) > 180 { // 256 x (1 - 1/e) = 162
		t.Errorf("%d different entropies in 256 random ones, want about 162", len(different))
	}
	if c := w.Counts(); c.Recycled != 3 {
		t.Errorf("%d recycled, want 3", c.Recycled)
	}
}

// EV-7: entropies with ECN or NACK are not cached.
func TestREPSCachesGoodOnly(t *testing.T) {
	r := New(cc.EntropyREPS, 256, 1).(*reps)
	r.Feedback(0, 7, ECN)
	r.Feedback(0, 8, NACK)
	if r.unused != 0 || r.filled != 0 {
		t.Errorf("cache of %d with %d unused, want none", r.filled, r.unused)
	}
}

// EV-7: the cache holds 8 entropies; a ninth replaces the oldest.
func TestREPSCacheOf8(t *testing.T) {
	w := New(cc.EntropyREPS, 256, 1)
	for v := range Value(11) {
		w.Feedback(0, v, Good)
	}
	if got := draw(w, 8); !slices.Equal(got, []Value{3, 4, 5, 6, 7, 8, 9, 10}) {
		t.Errorf("entropies %v, want 3 to 10", got)
	}
}

// EV-7: a timeout freezes it for 10 ms: it cycles through the ring whether used or not. After
// that come 16 random picks and an empty ring.
func TestREPSFreezes(t *testing.T) {
	w := New(cc.EntropyREPS, 256, 1)
	for v := range Value(4) {
		w.Feedback(0, 100+v, Good)
	}
	draw(w, 4)
	w.Feedback(us, 1, Timeout)
	ring := []Value{100, 101, 102, 103}
	if got := draw(w, 8); !slices.Equal(got, slices.Concat(ring, ring)) {
		t.Errorf("frozen: entropies %v, want the ring twice", got)
	}
	w.Feedback(freeze+us, 50, ECN) // the freeze ends after this instant
	if got := draw(w, 4); !slices.Equal(got, ring) {
		t.Errorf("frozen: entropies %v, want the ring", got)
	}
	w.Feedback(freeze+us+1, 50, ECN)
	r := w.(*reps)
	if r.frozen || r.filled != 0 || r.left != 16 {
		t.Errorf("after the freeze: frozen %t, cache of %d, %d random picks; want an empty cache and 16", r.frozen, r.filled, r.left)
	}
	w.Feedback(freeze+us+1, 77, Good)
	w.Feedback(freeze+us+1, 2, Timeout) // does not freeze while it explores
	if got := draw(w, 17); got[16] != 77 || w.Counts().Frozen != 1 {
		t.Errorf("17th entropy %d after %d freezes, want 77 after 1", got[16], w.Counts().Frozen)
	}
}

// EV-7: while it is frozen, good entropies still join the ring, and an empty ring is replaced by
// random picks.
func TestREPSFrozenWithoutCache(t *testing.T) {
	w := New(cc.EntropyREPS, 256, 1)
	w.Feedback(0, 1, Timeout)
	if got := draw(w, 20); len(slices.Compact(slices.Sorted(slices.Values(got)))) < 15 {
		t.Errorf("entropies %v, want random ones", got)
	}
	w.Feedback(0, 42, Good)
	if got := draw(w, 2); !slices.Equal(got, []Value{42, 42}) {
		t.Errorf("entropies %v, want 42 twice", got)
	}
}

// EV-8: the first min(window, n) packets go round robin.
func TestREPSLegacyFirstWindow(t *testing.T) {
	w := New(cc.EntropyREPSLegacy, 64, 1)
	w.Feedback(0, 40, Good)
	for i, v := range draw(w, window) {
		if v != Value(i+1) {
			t.Errorf("packet %d has entropy %d, want %d", i, v, i+1)
		}
	}
	if v := w.Next(window); v != 40 {
		t.Errorf("entropy %d after the first window, want the returned 40", v)
	}
	w = New(cc.EntropyREPSLegacy, 16, 1)
	if got := draw(w, 16); !isPermutation(got, 16) {
		t.Errorf("entropies %v, want each once", got)
	}
	if w.Feedback(0, 3, Good); w.Next(window) != 3 {
		t.Error("the first packets are more than there are entropies")
	}
}

// EV-8: then a FIFO of returned entropies, random if it is empty.
func TestREPSLegacyReturns(t *testing.T) {
	w := New(cc.EntropyREPSLegacy, 256, 1)
	w.Next(1)
	for _, v := range []Value{5, 5, 9, 250} {
		w.Feedback(0, v, Good)
	}
	w.Feedback(0, 77, ECN)
	w.Feedback(0, 78, NACK)
	w.Feedback(0, 79, Timeout)
	for i, want := range []Value{5, 5, 9, 250} {
		if v := w.Next(1); v != want {
			t.Errorf("entropy %d is %d, want %d", i, v, want)
		}
	}
	var random []Value
	for range 256 {
		random = append(random, w.Next(1))
	}
	if n := len(slices.Compact(slices.Sorted(slices.Values(random)))); n < 140 {
		t.Errorf("%d different entropies in 256 random ones", n)
	}
	if c := w.Counts(); c.Recycled != 4 {
		t.Errorf("%d recycled, want 4", c.Recycled)
	}
}

// EV-9: reps_legacy's recycled entropy if there is one, else the bitmap.
func TestMixed(t *testing.T) {
	w := New(cc.EntropyMixed, 8, 1)
	w.Feedback(0, 6, Good)
	w.Feedback(0, 5, NACK)
	if v := w.Next(window); v != 6 {
		t.Errorf("entropy %d, want the returned 6", v)
	}
	if list := draw(w, 7); slices.Contains(list, 5) {
		t.Errorf("entropies %v of the bitmap, want none of 5", list)
	}
	if c := w.Counts(); c.Recycled != 1 || c.Skipped != 1 {
		t.Errorf("%+v, want 1 recycled and 1 skipped", c)
	}
}
