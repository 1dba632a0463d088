package entropy

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/unit"
)

// slow is a simple form of every walk: plain slices, and each rule on its own.
type slow struct {
	by      cc.Entropy
	n       int
	random  *random
	counter int
	mask    Value
	penalty map[Value]int
	good    []Value // returned, oldest first; the last 8 are the cache of reps
	used    []bool  // of good, under reps
	sent    int
	last    Value
	frozen  bool
	until   unit.Time
	circle  int
	left    int
}

func newSlow(by cc.Entropy, n int, seed uint64) *slow {
	w := &slow{by: by, n: n, random: newRandom(seed), penalty: map[Value]int{}}
	if by == cc.EntropyOblivious || by == cc.EntropyBitmap || by == cc.EntropyMixed {
		w.mask = w.random.below(n)
	}
	return w
}

func (w *slow) walk() {
	w.counter++
	if w.counter == w.n {
		w.counter = 0
		w.mask = w.random.below(w.n)
	}
}

func (w *slow) bitmap() Value {
	for skipped := 0; skipped < w.n; skipped++ {
		v := Value(w.counter) ^ w.mask
		if w.penalty[v] == 0 {
			break
		}
		if skipped == 0 {
			w.penalty[v]--
		}
		w.walk()
	}
	v := Value(w.counter) ^ w.mask
	w.walk()
	return v
}

func (w *slow) pop() Value {
	v := w.good[0]
	w.good = w.good[1:]
	return v
}

func (w *slow) cached() Value {
	if w.left > 0 {
		w.left--
		return w.random.below(w.n)
	}
	if w.frozen && len(w.good) > 0 {
		v := w.placed(w.circle)
		w.circle = (w.circle + 1) % min(len(w.good), 8)
		return v
	}
	for i := max(0, len(w.good)-8); i < len(w.good); i++ {
		if !w.frozen && !w.used[i] {
			w.used[i] = true
			return w.good[i]
		}
	}
	return w.random.below(w.n)
}

// placed returns the entropy in a place of the ring of 8: the latest that was written there.
func (w *slow) placed(place int) (v Value) {
	for i := place; i < len(w.good); i += 8 {
		v = w.good[i]
	}
	return v
}

func (w *slow) legacy(window int) Value {
	switch {
	case w.sent < window && w.sent < w.n:
		w.last = Value((int(w.last) + 1) % w.n)
	case len(w.good) > 0:
		w.last = w.pop()
	default:
		w.last = w.random.below(w.n)
	}
	w.sent++
	return w.last
}

func (w *slow) Next(window int) Value {
	switch {
	case w.by == cc.EntropyREPS:
		return w.cached()
	case w.by == cc.EntropyREPSLegacy:
		return w.legacy(window)
	case w.by == cc.EntropyMixed && len(w.good) > 0:
		return w.pop()
	}
	return w.bitmap()
}

func (w *slow) Feedback(now unit.Time, v Value, f Feedback) {
	if w.by == cc.EntropyOblivious {
		return
	}
	w.penalty[v] = min(15, w.penalty[v]+map[Feedback]int{ECN: 1, NACK: 4, Timeout: 15}[f])
	if w.by == cc.EntropyREPS {
		if f == Timeout && !w.frozen && w.left == 0 {
			w.frozen, w.until = true, now+10*unit.Millisecond
		}
		if w.frozen && now > w.until {
			*w = slow{by: w.by, n: w.n, random: w.random, left: 16}
			w.penalty = map[Value]int{}
		}
	}
	if f == Good {
		w.good, w.used = append(w.good, v), append(w.used, false)
	}
}

// Every walk chooses as its simple form does, and every entropy is one of the n.
func TestWalksAgainstSimpleForms(t *testing.T) {
	for _, by := range cc.Entropies[1:] {
		t.Run(string(by), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				n := 1 << rapid.IntRange(1, 8).Draw(t, "bits")
				seed := rapid.Uint64().Draw(t, "seed")
				w, s := New(by, n, seed), newSlow(by, n, seed)
				now, window := unit.Time(0), 16
				for range rapid.IntRange(1, 300).Draw(t, "steps") {
					now += unit.Time(rapid.IntRange(0, 500).Draw(t, "gap")) * us
					switch rapid.IntRange(0, 9).Draw(t, "step") {
					case 0:
						window = rapid.IntRange(1, 100).Draw(t, "window")
					case 1, 2, 3:
						f := Feedback(rapid.IntRange(0, 3).Draw(t, "feedback"))
						v := Value(rapid.IntRange(0, n-1).Draw(t, "entropy"))
						w.Feedback(now, v, f)
						s.Feedback(now, v, f)
					default:
						got, want := w.Next(window), s.Next(window)
						if got != want || int(got) >= n {
							t.Fatalf("entropy %d of %d, want %d", got, n, want)
						}
					}
				}
			})
		})
	}
}

// A number of entropies is valid if it is a power of two from 2 to 1024.
func TestValidate(t *testing.T) {
	for n, valid := range map[int]bool{-2: false, 0: false, 1: false, 2: true, 3: false, 64: true, 96: false, 1024: true, 2048: false} {
		if err := Validate(n); (err == nil) != valid {
			t.Errorf("%d: %v", n, err)
		}
	}
	if New(cc.EntropyFlow, 64, 1) != nil || New(cc.EntropyScheme, 64, 1) != nil {
		t.Error("a flow with one entropy has a walk")
	}
}

// The queue of returned entropies is bounded.
func TestReturnedIsBounded(t *testing.T) {
	w := New(cc.EntropyREPSLegacy, 64, 1).(*repsLegacy)
	for range maxReturned + 1000 {
		w.Feedback(0, 1, Good)
	}
	if n := w.queue.Len(); n != maxReturned {
		t.Errorf("%d entropies wait, want %d", n, maxReturned)
	}
}
