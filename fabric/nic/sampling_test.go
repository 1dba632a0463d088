package nic

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/unit"
)

// paced is an exchange whose initiator requests 1 Gbit/s and whose hosts send half of that.
func paced(t testing.TB, change ...func(*Config)) *fabricBench {
	t.Helper()
	return newExchange(t, 1, append([]func(*Config){func(c *Config) {
		c.Sampling = fabric.Sampling{Every: 10 * us, End: unit.Millisecond}
		c.Engine.Pacing = shaper.PacingBucket
		c.Engine.In = shaper.Limit{Rate: gbps, Depth: 3000}
		c.Engine.Out = shaper.Limit{Rate: gbps / 2, Depth: 3000}
	}}, change...)...)
}

// GET-61: the samples that the NIC notes at the end of each interval add up to its
// counters. They are noted at the last instant of an interval, and only while they change.
func TestTokensAndStallsAreSampledWhileTheyChange(t *testing.T) {
	b := paced(t)
	b.post(0, get(0, 20_000))
	b.run(unit.Millisecond)
	for host, n := range b.nics {
		var sum shaper.Stall
		for _, note := range b.noted(host, fabric.StallSampled) {
			if note.Direction() == fabric.DirectionIn {
				sum.In += note.Duration()
			} else {
				sum.Out += note.Duration()
			}
			if (note.At+1)%(10*us) != 0 || note.Duration() <= 0 {
				t.Errorf("host %d: %+v", host, note)
			}
		}
		k := n.Stats().Engine.Classes[0]
		want := shaper.Stall{In: k.Requests.In + k.Responses.In, Out: k.Requests.Out + k.Responses.Out}
		if sum != want {
			t.Errorf("host %d: %+v noted, %+v counted", host, sum, want)
		}
		if (want.In > 0) != (host == 0) || (want.Out > 0) != (host == 1) {
			t.Errorf("host %d stalled %+v", host, want)
		}
		level := map[fabric.Direction]unit.Bytes{0: 3000, 1: 3000}
		for _, note := range b.noted(host, fabric.TokensSampled) {
			if note.Bytes() == level[note.Direction()] || note.Bytes() > 3000 || note.At > 400*us {
				t.Errorf("host %d: %+v after %d", host, note, level[note.Direction()])
			}
			level[note.Direction()] = note.Bytes()
		}
		if level[0] != 3000 || level[1] != 3000 {
			t.Errorf("host %d: the buckets end with %v", host, level)
		}
		if at, ok := n.Next(); ok {
			t.Errorf("host %d is idle and wants a tick at %v", host, at)
		}
	}
	if len(b.noted(0, fabric.TokensSampled)) < 10 || len(b.noted(1, fabric.TokensSampled)) < 10 {
		t.Error("too few samples")
	}
}

// Without a limit there are no tokens to sample.
func TestNICWithoutLimitsEmitsNoTokenSamples(t *testing.T) {
	b := paced(t, func(c *Config) { c.Engine.Pacing, c.Engine.Out = shaper.PacingOff, shaper.Limit{Depth: 3000} })
	b.post(0, get(0, 20_000))
	b.run(unit.Millisecond)
	for host := range b.nics {
		if len(b.noted(host, fabric.TokensSampled)) != 0 || len(b.noted(host, fabric.StallSampled)) != 0 {
			t.Errorf("host %d notes %v and %v", host, b.noted(host, fabric.TokensSampled), b.noted(host, fabric.StallSampled))
		}
	}
	if len(b.done()) != 1 {
		t.Error("nothing was done")
	}
}

// A stall is noted even if the NIC as a whole has no limit and nothing was sent in the
// interval.
func TestStallBelowTheHeadIsSampled(t *testing.T) {
	b := paced(t, func(c *Config) {
		c.Engine.Pacing, c.Engine.Out = shaper.PacingOutstanding, shaper.Limit{}
		c.Engine.Outstanding = shaper.Outstanding{PerPeriod: 1040, Period: 100 * us}
	})
	b.post(0, get(0, 1000))
	b.run(55 * us)
	if at, ok := b.nics[0].Next(); ok {
		t.Fatalf("idle, and wants a tick at %v", at)
	}
	b.post(0, get(1, 2000))
	b.run(unit.Millisecond)
	sum, spans := unit.Time(0), 0
	for _, note := range b.noted(0, fabric.StallSampled) {
		sum += note.Duration()
		spans++
	}
	if want := b.nics[0].Stats().Engine.Classes[0].Requests.In; sum != want || spans < 15 || b.noted(0, fabric.StallSampled)[0].At != 60*us-1 {
		t.Errorf("%v in %d spans, counted %v: %v", sum, spans, want, b.noted(0, fabric.StallSampled))
	}
	if len(b.noted(0, fabric.TokensSampled)) != 0 {
		t.Error("tokens of a bucket that takes no part")
	}
}

// A sample allocates nothing.
func TestTokenSamplesDoNotAllocate(t *testing.T) {
	b := paced(t)
	b.post(0, get(0, 1_000_000))
	b.run(100 * us)
	n, now, out := b.nics[0], b.now, fabric.Out{Quiet: true}
	got := testing.AllocsPerRun(100, func() {
		out.Reset()
		now += us
		n.noteSample(now, &out)
	})
	if got != 0 || len(out.Notes) == 0 {
		t.Errorf("%v allocations, %d notes", got, len(out.Notes))
	}
}
