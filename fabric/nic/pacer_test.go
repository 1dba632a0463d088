package nic

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

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
