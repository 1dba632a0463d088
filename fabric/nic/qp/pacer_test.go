package qp

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/control"
	"github.com/rackfab/rackfab/fabric/nic/work"
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
			p.sent(now, n)
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
				p.sent(now, n)
				if i < frames-1 {
					p.extend()
				}
				sum += n
			}
			twin.take(sum)
			if want := max(now, twin.next()); p.next() != want {
				t.Fatalf("next is %d, want %d", p.next(), want)
			}
		}
	})
}

// A change of rate keeps the debt in bits, to a picosecond at each rate.
func TestPacerKeepsItsDebtWhenTheRateChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := unit.Rate(rapid.Int64Range(1e6, 400e9).Draw(t, "from"))
		to := unit.Rate(rapid.Int64Range(1e6, 400e9).Draw(t, "to"))
		p := pacer{rate: from}
		twin := bucket{level: new(big.Rat), rate: from}
		n := unit.Bytes(rapid.Int64Range(64, 9000).Draw(t, "length"))
		p.sent(0, n)
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
		p.sent(p.next(), 1062)
	}
	if got, want := p.next(), p.rate.Serialise(1062*1_000_000); got != want {
		t.Errorf("a million frames take %d ps, want %d", got, want)
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
				p.sent(now, n)
				if i < frames-1 {
					p.extend()
				}
				sum += n
			}
			if late := p.next() - now - rate.Serialise(sum); late < -1 || late > 1 {
				t.Fatalf("due at %d, want %d", p.next(), now+rate.Serialise(sum))
			}
		}
	})
}

// With gap a change of rate leaves the instant of the next frame, except under schemes by the load of
// the path: there the frame is due a frame time at the latest rate after the start of the latest frame.
func TestGapPacerKeepsTheNextFrameWhenTheRateChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rates := rapid.Custom(func(t *rapid.T) unit.Rate { return unit.Rate(rapid.Int64Range(1e6, 400e9).Draw(t, "rate")) })
		rate, n := rates.Draw(t, "first"), unit.Bytes(rapid.Int64Range(64, 9000).Draw(t, "length"))
		stays, moves := pacer{rate: rate, gap: true}, pacer{rate: rate, gap: true, moves: true}
		start := unit.Time(rapid.Int64Range(0, int64(unit.Second)).Draw(t, "start"))
		stays.sent(start, n)
		moves.sent(start, n)
		for range rapid.IntRange(1, 5).Draw(t, "changes") {
			now := start + unit.Time(rapid.Int64Range(0, int64(unit.Millisecond)).Draw(t, "after"))
			last := rates.Draw(t, "next")
			stays.setRate(now, last)
			moves.setRate(now, last)
			if due := start + rate.Serialise(n); stays.next() != due {
				t.Fatalf("due at %d, want %d", stays.next(), due)
			}
			if due := start + last.Serialise(n); moves.next() != due {
				t.Fatalf("moved to %d, want %d", moves.next(), due)
			}
		}
	})
}

// slower is a reaction point whose rate is set by the test.
type slower struct {
	cc.Algorithm
	rate unit.Rate
}

func (s *slower) Rate() unit.Rate { return s.rate }

// With gap, flows under the schemes by the load of the path move the next frame when their rate
// changes, and other flows do not.
func TestSchemesThatMoveTheNextFrame(t *testing.T) {
	for _, scheme := range cc.Schemes {
		if scheme.Notification.UET() {
			continue // flowWith is of RoCEv2
		}
		s := &Settings{
			Rate: 40 * unit.GigabitPerSec, Payload: 1000, AckEvery: 1, Scheme: scheme.Name, Notification: scheme.Notification,
			CC: cc.Default(), PaceByGap: true,
		}
		d := &Device{}
		d.init(s, &EventCounters{}, control.Config{Limit: 8, DSCP: &s.DSCP}, false)
		d.Arbiter.Grow(1)
		r := &Flow{}
		if err := r.Init(d, fabric.Flow{From: 0, To: 1, Size: work.Endless, Initial: 10 * unit.GigabitPerSec}, 0); err != nil {
			t.Fatal(err)
		}
		r.Begin(0, &fabric.Out{})
		a := &slower{r.live.cc, r.pacer.rate}
		r.SetReaction(a)
		var f frame.Frame
		r.Send(0, &f, &fabric.Out{})
		r.pacer.open = false // of a burst
		a.rate = unit.GigabitPerSec
		due, at := r.pacer.next(), unit.Time(1)
		if scheme.Name == "hpcc" || scheme.Name == "powertcp" {
			due = unit.GigabitPerSec.Serialise(r.pacer.latest)
		}
		r.React(at, &fabric.Out{})
		if r.pacer.next() != due || r.pacer.rate != a.rate {
			t.Errorf("%s: the next frame is due at %s, want %s", scheme.Name, r.pacer.next(), due)
		}
	}
}
