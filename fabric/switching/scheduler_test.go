package switching

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Strict classes are served before weighted ones, the higher before the lower.
func TestStrictBeforeWeighted(t *testing.T) {
	cfg := rackConfig(4)
	cfg.Weights[5] = 0
	r := newRig(t, cfg)
	r.arrive(0, 1, data(0, 1, lossy)) // in transmission
	for _, class := range []fabric.Priority{lossy, 7, 5, control, 5, control} {
		r.arrive(1, 1, data(0, 1, class))
	}
	r.run(10 * us)
	var got []uint8
	for _, f := range r.sent(0) {
		got = append(got, f.DSCP()/8)
	}
	want := []uint8{1, 6, 6, 5, 5, 7, 1}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("classes left in order %v, want %v", got, want)
		}
	}
}

// A paused strict class does not block the others.
func TestPausedStrictClassIsSkipped(t *testing.T) {
	cfg := rackConfig(3)
	cfg.Weights[lossless] = 0
	r := newRig(t, cfg)
	r.arrive(0, 0, pause(lossless, 65535))
	r.arrive(0, 1, data(0, 1, lossless))
	r.arrive(1, 1, data(0, 1, lossy))
	if got := r.sent(0); len(got) != 1 || got[0].DSCP()/8 != uint8(lossy) {
		t.Errorf("sent %d frames", len(got))
	}
}

// Over any run with full queues, each class gets its exact fluid share, plus or minus
// one quantum and one frame. (The bound holds for up to seven weighted classes.)
func TestDRRAgainstFluidShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const mtu = 1500
		var weights [fabric.Priorities]int
		classes := rapid.IntRange(1, 7).Draw(t, "classes")
		total := 0
		for c := range classes {
			weights[c] = rapid.IntRange(1, 9).Draw(t, "weight")
			total += weights[c]
		}
		d := newDRR(&weights, mtu)
		var queues [fabric.Priorities]queue
		for c := range queues {
			queues[c] = newQueue(ArbitrateFIFO, 1)
		}
		lengths := rapid.SliceOfN(rapid.Uint32Range(64, mtu), 8, 40).Draw(t, "lengths")
		n := 0
		var ready classSet
		fill := func(c int) {
			f := packet(0, 0, fabric.Priority(c), frame.NotECT, 0, max(lengths[n%len(lengths)], 64))
			queues[c].push(f, f.Len(), 0)
			n++
		}
		for c := range classes {
			fill(c)
			ready |= 1 << c
		}
		var served [fabric.Priorities]unit.Bytes
		var all unit.Bytes
		for range rapid.IntRange(1, 3000).Draw(t, "frames") {
			c := d.pick(ready, &queues)
			length := queues[c].front().length
			served[c] += length
			all += length
			fill(int(c)) // before the pop: the queue is never empty
			queues[c].pop()
			for c := range classes {
				fluid := float64(all) * float64(weights[c]) / float64(total)
				bound := float64(weights[c]*mtu + mtu)
				if math.Abs(float64(served[c])-fluid) > bound {
					t.Fatalf("class %d of weights %v had %d bytes, fluid share %.0f", c, weights, served[c], fluid)
				}
				if d.deficit[c] < 0 || d.deficit[c] >= d.quantum[c]+mtu {
					t.Fatalf("deficit %d with quantum %d", d.deficit[c], d.quantum[c])
				}
			}
		}
	})
}

// At any time while two classes both have frames waiting, their bytes by weight differ
// by at most one quantum of weight 1 and two of the largest frames (Shreedhar and
// Varghese, theorem 3: FM <= 2 Max + Q).
func TestDRRWithIntermittentClasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const mtu, classes = 1500, 4
		var weights [fabric.Priorities]int
		for c := range classes {
			weights[c] = rapid.IntRange(1, 5).Draw(t, "weight")
		}
		d := newDRR(&weights, mtu)
		var queues [fabric.Priorities]queue
		for c := range queues {
			queues[c] = newQueue(ArbitrateFIFO, 1)
		}
		var ready classSet
		// By pair: the lead since both have had frames, and its bounds.
		var lead, least, most [classes][classes]float64
		for range rapid.IntRange(1, 600).Draw(t, "steps") {
			if ready == 0 || rapid.IntRange(0, 9).Draw(t, "what") < 5 {
				c := rapid.IntRange(0, classes-1).Draw(t, "class")
				f := packet(0, 0, fabric.Priority(c), frame.NotECT, 0, rapid.Uint32Range(64, mtu).Draw(t, "length"))
				queues[c].push(f, f.Len(), 0)
				if ready&(1<<c) == 0 {
					for i := range classes {
						lead[c][i], least[c][i], most[c][i] = 0, 0, 0
						lead[i][c], least[i][c], most[i][c] = 0, 0, 0
					}
				}
				ready |= 1 << c
				continue
			}
			c := d.pick(ready, &queues)
			service := float64(queues[c].front().length) / float64(weights[c])
			queues[c].pop()
			for i := range classes {
				if i == int(c) || ready&(1<<i) == 0 {
					continue
				}
				lead[c][i] += service
				lead[i][c] -= service
				most[c][i] = max(most[c][i], lead[c][i])
				least[i][c] = min(least[i][c], lead[i][c])
				if gap := most[c][i] - least[c][i]; gap > mtu+2*mtu {
					t.Fatalf("class %d got %.0f bytes ahead of class %d, by weights %v", c, gap, i, weights)
				}
			}
			if queues[c].count == 0 {
				ready &^= 1 << c
				d.leave(c)
			}
		}
	})
}

// Weights divide the bytes of a congested port, whatever the frame sizes.
func TestWeightsDivideThePort(t *testing.T) {
	cfg := rackConfig(3)
	cfg.Weights[lossy], cfg.Weights[2] = 3, 1
	r := newRig(t, cfg)
	for i := range 2000 {
		now := unit.Time(i) * slot
		r.arrive(now, 1, packet(0, 1, lossy, frame.NotECT, 0, 250))
		for range 3 {
			r.arrive(now, 1, packet(0, 1, lossy, frame.NotECT, 0, 250))
		}
		r.arrive(now, 2, packet(0, 2, 2, frame.NotECT, 0, 1000))
	}
	a, b := r.Stats().Ports[0].Classes[lossy].SentBytes, r.Stats().Ports[0].Classes[2].SentBytes
	if ratio := float64(a) / float64(b); math.Abs(ratio-3) > 0.03 {
		t.Errorf("classes of weight 3 and 1 got %v and %v", a, b)
	}
}

// A class that is paused or empty accumulates no deficit.
func TestClassOutOfTheRoundLosesItsDeficit(t *testing.T) {
	cfg := rackConfig(3)
	cfg.Weights[lossless] = 8
	r := newRig(t, cfg)
	deficit := func(want unit.Bytes) {
		t.Helper()
		if got := r.ports[0].drr.deficit[lossless]; got != want {
			t.Errorf("deficit %d, want %d", got, want)
		}
	}
	for range 4 {
		r.arrive(0, 1, data(0, 1, lossless))
	}
	r.run(slot)
	deficit(0 + 8*1500 - size) // the first emptied the queue and ended its turn's credit
	r.arrive(slot+1, 0, pause(lossless, 65535))
	deficit(0)
	r.arrive(us, 0, pause(lossless, 0))
	r.run(2 * us)
	deficit(0)
}
