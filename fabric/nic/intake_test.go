package nic

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/rx"
	"github.com/rackfab/rackfab/fabric/unit"
)

// absorbing configures a NIC whose host absorbs frames at the rate. Above XOFF the buffer
// has headroom for the data in flight on the link.
func absorbing(rate unit.Rate) func(*Config) {
	return func(c *Config) {
		c.Intake = rx.Config{
			Absorb: rate, XOFF: 20_000, XON: 15_000, Quanta: 0xffff,
			Buffer: 20_000 + testRate.In(2*testDelay) + 4*1518,
		}
	}
}

// GET-13: arriving frames are parsed into a buffer controlled by PFC: PAUSE above the
// threshold, RESUME when the host has caught up; nothing is lost.
// GET-54: a NIC may absorb less than its link delivers.
func TestSlowHostPausesItsLink(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, Endless)}, absorbing(10*gbps))
	end := 2 * unit.Millisecond
	b.run(end)
	pauses, resumes := b.noted(1, fabric.PauseSent), b.noted(1, fabric.ResumeSent)
	if len(pauses) < 5 || len(resumes) < 5 || len(b.noted(0, fabric.Paused)) < 5 {
		t.Errorf("%d PAUSE and %d RESUME frames", len(pauses), len(resumes))
	}
	if p := pauses[0]; p.Priority != dataPrio || p.Queue() <= 20_000 || p.Queue() > 20_000+2*1078 {
		t.Errorf("the first PAUSE is %+v, want it just above 20000 bytes", p)
	}
	if r := resumes[0]; r.Queue() > 15_000 || r.Queue() < 13_000 {
		t.Errorf("the first RESUME is %+v, want it at 15000 bytes", r)
	}
	var got unit.Bytes
	for _, d := range b.noted(1, fabric.Delivered) {
		got += d.Bytes()
	}
	want := (10 * gbps).In(end-testDelay) * 1000 / 1062
	if got < want*98/100 || got > want {
		t.Errorf("%d bytes delivered, the host absorbs %d", got, want)
	}
	if s := b.nics[1].Stats(); s.IntakeDrops != 0 || s.IntakePeak > b.nics[1].cfg.Intake.Buffer || s.Priorities[dataPrio].TxPause != uint64(len(pauses)) {
		t.Errorf("%d drops, peak %v, %d PAUSE frames counted", s.IntakeDrops, s.IntakePeak, s.Priorities[dataPrio].TxPause)
	}
}

// A PAUSE is refreshed before it expires, while the buffer is above XON.
func TestPauseIsRefreshed(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, Endless)}, absorbing(unit.GigabitPerSec), func(c *Config) { c.Intake.Quanta = 1000 })
	b.run(300 * us)
	pauses := b.noted(1, fabric.PauseSent)
	if len(pauses) < 10 {
		t.Fatalf("%d PAUSE frames in 300 us of congestion", len(pauses))
	}
	if gap := pauses[1].At - pauses[0].At; gap < 6*us || gap > 7*us {
		t.Errorf("refreshed after %v, want half of the 12.8 us", gap)
	}
	if got := len(b.noted(0, fabric.Resumed)); got != 0 {
		t.Errorf("the pause ended %d times", got)
	}
}

// GET-14: control packets have separate paths in and out: arriving ones do not wait behind
// buffered data, and PAUSE precedes waiting data.
func TestControlFramesBypassTheReceiveBuffer(t *testing.T) {
	flows := []FlowConfig{flow(0, Endless), {ID: 1, From: 1, To: 0, Size: Endless, Source: 49153}}
	b := newBench(t, 2, flows, absorbing(unit.GigabitPerSec))
	b.run(100 * us)
	acks := b.noted(1, fabric.Acked)
	if len(acks) == 0 || acks[0].At > 3*testDelay+10*us {
		t.Errorf("ACKs at %+v: they waited for the host", acks)
	}
	if pauses := b.noted(1, fabric.PauseSent); len(pauses) == 0 || pauses[0].Queue() > 20_000+3*1078 {
		t.Errorf("PAUSE %+v: it waited for data", pauses)
	}
}

func TestFullReceiveBufferDropsAndCounts(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, Endless)}, absorbing(unit.GigabitPerSec))
	b.tap = func(from int, f *frame.Frame) bool { return from == 0 || f.Class() != frame.ClassPFC }
	b.run(100 * us)
	drops := b.noted(1, fabric.Dropped)
	s := b.nics[1].Stats()
	if len(drops) == 0 || s.IntakeDrops != uint64(len(drops)) || drops[0].Reason() != fabric.DropHeadroom {
		t.Errorf("%d drops noted, %d counted", len(drops), s.IntakeDrops)
	}
}
