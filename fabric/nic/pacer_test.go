package nic

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// bucket is a token bucket in exact fractions. The level, in bits, rises at the rate. A
// frame may be sent at level 0 or above, and takes its bits from a level of at most its
// own length.
type bucket struct {
	level *big.Rat
	at    unit.Time
	rate  unit.Rate
}

func (b *bucket) rise(now unit.Time) {
	bits := big.NewRat(int64(now-b.at), int64(unit.Second))
	b.level.Add(b.level, bits.Mul(bits, big.NewRat(int64(b.rate), 1)))
	b.at = now
}

func (b *bucket) take(n unit.Bytes) {
	bits := big.NewRat(int64(n)*8, 1)
	if b.level.Cmp(bits) > 0 {
		b.level.Set(bits)
	}
	b.level.Sub(b.level, bits)
}

// next returns the first whole picosecond at which the level is not below 0.
func (b *bucket) next() unit.Time {
	wait := new(big.Rat).Neg(b.level)
	wait.Mul(wait, big.NewRat(int64(unit.Second), int64(b.rate)))
	ps := new(big.Int).Add(wait.Num(), new(big.Int).Sub(wait.Denom(), big.NewInt(1)))
	ps.Div(ps, wait.Denom())
	return b.at + unit.Time(ps.Int64())
}

func TestPacerEqualsATokenBucket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := unit.Rate(rapid.Int64Range(1, 400e9).Draw(t, "rate"))
		p := pacer{rate: rate}
		twin := bucket{level: new(big.Rat), rate: rate}
		for range rapid.IntRange(1, 50).Draw(t, "frames") {
			now := p.next()
			if rapid.Bool().Draw(t, "late") {
				now += unit.Time(rapid.Int64Range(0, int64(unit.Millisecond)).Draw(t, "by"))
			}
			n := unit.Bytes(rapid.Int64Range(64, 9000).Draw(t, "length"))
			twin.rise(now)
			twin.take(n)
			p.sent(now, n, false)
			if want := max(now, twin.next()); p.next() != want {
				t.Fatalf("next is %d, want %d", p.next(), want)
			}
		}
	})
}

// The frames of a burst are sent back to back. The next frame follows when the bucket,
// charged for the burst as for one long frame, has risen again.
func TestPacerDelaysAfterABurst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := unit.Rate(rapid.Int64Range(1e6, 400e9).Draw(t, "rate"))
		p := pacer{rate: rate}
		twin := bucket{level: new(big.Rat), rate: rate}
		for range rapid.IntRange(1, 10).Draw(t, "bursts") {
			now, sum := p.next(), unit.Bytes(0)
			twin.rise(now)
			frames := rapid.IntRange(1, 20).Draw(t, "frames")
			for i := range frames {
				n := unit.Bytes(rapid.Int64Range(64, 9000).Draw(t, "length"))
				if i > 0 && p.next() > now {
					t.Fatalf("frame %d of the burst waits until %s", i, p.next())
				}
				p.sent(now, n, i < frames-1)
				sum += n
			}
			twin.take(sum)
			if want := max(now, twin.next()); p.next() != want {
				t.Fatalf("next is %d, want %d", p.next(), want)
			}
		}
	})
}

// A flow with bursts of 16 KB sends 16 packets back to back at its link's rate, and 16 more
// when its pacer allows it: pacing applies to whole bursts.
func TestBurstsOnTheWire(t *testing.T) {
	f := flow(0, 160_000)
	f.Initial = 10 * gbps
	b := newBench(t, 2, []FlowConfig{f}, func(c *Config) { c.Burst = 16_000 })
	b.run(unit.Millisecond)
	data := b.from(0, isData)
	if len(data) != 160 {
		t.Fatalf("%d packets", len(data))
	}
	sum := unit.Bytes(0)
	for i := range data {
		want := unit.Time(0)
		if i%16 == 0 {
			want = f.Initial.Serialise(sum)
		} else {
			want = data[i-1].start + testRate.Serialise(data[i-1].Len())
		}
		if got := data[i].start; got < want || got > want+1 {
			t.Fatalf("packet %d starts at %s, want %s", i, got, want)
		}
		sum += data[i].Len()
	}
}

// A change of rate keeps the debt in bits, to a picosecond at each rate.
func TestPacerKeepsItsDebtWhenTheRateChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := unit.Rate(rapid.Int64Range(1e6, 400e9).Draw(t, "from"))
		to := unit.Rate(rapid.Int64Range(1e6, 400e9).Draw(t, "to"))
		p := pacer{rate: from}
		twin := bucket{level: new(big.Rat), rate: from}
		n := unit.Bytes(rapid.Int64Range(64, 9000).Draw(t, "length"))
		p.sent(0, n, false)
		twin.take(n)
		now := unit.Time(rapid.Int64Range(0, int64(from.Serialise(n))).Draw(t, "now"))
		twin.rise(now)
		twin.rate = to
		p.setRate(now, to)
		slack := unit.Time(int64(from)/int64(to)) + 2
		if late := p.next() - max(now, twin.next()); late < 0 || late > slack {
			t.Fatalf("%d ps later than the bucket, at most %d are due to rounding", late, slack)
		}
	})
}

// A flow keeps its rate exactly, to the bit, over many frames.
func TestPacerKeepsItsRate(t *testing.T) {
	p := pacer{rate: 37_300_000_007}
	for range 1_000_000 {
		p.sent(p.next(), 1062, false)
	}
	if got, want := p.next(), p.rate.Serialise(1062*1_000_000); got != want {
		t.Errorf("a million frames take %d ps, want %d", got, want)
	}
}

// A flow's frames start one frame time apart at its rate, including overhead.
func TestPacingOnTheWire(t *testing.T) {
	f := flow(0, 100_000)
	f.Initial = 10 * gbps
	b := newBench(t, 2, []FlowConfig{f}, func(c *Config) { c.Overhead = 20 })
	b.run(unit.Millisecond)
	data := b.from(0, isData)
	for i, f := range data[:len(data)-1] {
		gap := (10 * gbps).Serialise(f.Len() + 20)
		if got := data[i+1].start - f.start; got != gap {
			t.Fatalf("frames %d and %d start %v apart, want %v", i, i+1, got, gap)
		}
	}
	if want := testRate.Serialise(data[0].Len()+20) + testDelay; data[0].Arrival != want {
		t.Errorf("the first arrives at %v, want %v", data[0].Arrival, want)
	}
}

// A flow delayed by PAUSE catches up by one frame at most.
func TestNoCatchUpBurstAfterPause(t *testing.T) {
	f := flow(0, Endless)
	f.Initial = 10 * gbps
	b := newBench(t, 2, []FlowConfig{f})
	b.inject(0, 10*us, pfc(dataPrio, 0xffff))
	b.inject(0, 100*us, pfc(dataPrio, 0))
	b.run(150 * us)
	var after []unit.Time
	for _, f := range b.from(0, isData) {
		if f.start >= 100*us {
			after = append(after, f.start)
		}
	}
	frameTime := testRate.Serialise(dataHeader + 1000)
	if after[0] != 100*us || after[1]-after[0] > frameTime+16*unit.Nanosecond {
		t.Errorf("resumes at %v and %v", after[0], after[1])
	}
	for i := 2; i < 20; i++ {
		if want := 100*us + unit.Time(i-1)*(10*gbps).Serialise(dataHeader+1000); after[i] != want {
			t.Errorf("frame %d after the pause starts at %v, want %v", i, after[i], want)
		}
	}
}

// With gap the flow does not catch up: from the end of the pause on, every frame starts a
// whole frame time at its rate after the previous one.
func TestGapPacerAfterPause(t *testing.T) {
	f := flow(0, Endless)
	f.Initial = 10 * gbps
	b := newBench(t, 2, []FlowConfig{f}, func(c *Config) { c.PaceByGap = true })
	b.inject(0, 10*us, pfc(dataPrio, 0xffff))
	b.inject(0, 100*us, pfc(dataPrio, 0))
	b.run(150 * us)
	next := 100 * us
	for _, f := range b.from(0, isData) {
		if f.start < 100*us {
			continue
		}
		if f.start != next {
			t.Fatalf("a frame after the pause starts at %v, want %v", f.start, next)
		}
		next += (10 * gbps).Serialise(f.Len())
	}
	if next == 100*us {
		t.Error("no frame after the pause")
	}
}

// With gap the next frame, or the frame after a burst, is due after the frame times of all
// frames since the start of the burst, whatever was due before.
func TestGapPacerRestarts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := unit.Rate(rapid.Int64Range(1e6, 400e9).Draw(t, "rate"))
		p := pacer{rate: rate, gap: true}
		for range rapid.IntRange(1, 20).Draw(t, "bursts") {
			now := p.next() + unit.Time(rapid.Int64Range(1, int64(unit.Millisecond)).Draw(t, "late"))
			sum := unit.Bytes(0)
			frames := rapid.IntRange(1, 5).Draw(t, "frames")
			for i := range frames {
				n := unit.Bytes(rapid.Int64Range(64, 9000).Draw(t, "length"))
				p.sent(now, n, i < frames-1)
				sum += n
			}
			if late := p.next() - now - rate.Serialise(sum); late < -1 || late > 1 {
				t.Fatalf("due at %d, want %d", p.next(), now+rate.Serialise(sum))
			}
		}
	})
}

// Flows that their pacers allow to send take turns, regardless of earlier transmissions.
func TestRoundRobin(t *testing.T) {
	flows := []FlowConfig{flow(0, Endless), flow(1, Endless), flow(2, Endless)}
	flows[2].Start = 20 * us
	b := newBench(t, 2, flows)
	b.run(200 * us)
	count := map[uint32]int{}
	var last [3]uint32
	for i, f := range b.from(0, isData) {
		if f.start < 25*us {
			continue
		}
		id, _, _ := frame.FlowOfQP(f.DestQP())
		count[id]++
		if slot := i % 3; last[slot] != 0 && last[slot] != f.DestQP() {
			t.Fatalf("frame %d is of flow %d: out of turn", i, id)
		}
		last[i%3] = f.DestQP()
	}
	if d := count[0] - count[2]; len(count) != 3 || d < -1 || d > 1 {
		t.Errorf("frames by flow: %v", count)
	}
}

// Flows paced below their share keep their own rate, while the others are limited by the
// link alone.
func TestPacedFlowsKeepTheirRateOnABusyLink(t *testing.T) {
	flows := []FlowConfig{flow(0, Endless), flow(1, Endless), flow(2, Endless)}
	flows[0].Initial, flows[1].Initial = 7_300_000_000, 1_100_000_000
	b := newBench(t, 2, flows)
	b.run(2 * unit.Millisecond)
	for _, s := range b.nics[0].Stats().Senders {
		got := float64(unit.Over(s.SentBytes, 2*unit.Millisecond))
		want := map[fabric.FlowID]float64{0: 7.3e9, 1: 1.1e9, 2: 31.6e9}[s.Flow]
		if got < want*0.995 || got > want*1.005 {
			t.Errorf("flow %d sends at %.4g bit/s, want %.4g", s.Flow, got, want)
		}
	}
}
