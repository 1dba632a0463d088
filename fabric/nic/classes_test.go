package nic

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Flows of two classes share the link frame by frame. PAUSE of one class pauses only its
// flows, which continue in turns when it ends. The code point on the wire is that of each
// flow's class, and ACKs that travel with data copy it.
func TestPauseStopsOneClassOfFlows(t *testing.T) {
	const otherDSCP, otherPrio = 10, fabric.Priority(1)
	second := flow(1, Endless)
	second.DSCP = otherDSCP
	b := newBench(t, 2, []FlowConfig{flow(0, Endless), second}, func(c *Config) {
		c.DSCP[otherDSCP], c.AckWithData = otherPrio, true
	})
	b.inject(0, 20*us, pfc(dataPrio, 0xffff))
	b.inject(0, 40*us, pfc(otherPrio, 0xffff))
	b.inject(0, 60*us, pfc(dataPrio, 0))
	b.inject(0, 80*us, pfc(otherPrio, 0))
	b.run(100 * us)
	of := func(dscp uint8) func(*frame.Frame) bool {
		return func(f *frame.Frame) bool { return isData(f) && f.DSCP() == dscp }
	}
	// In 20 us at 40 Gbit/s, 94 frames of 1062 bytes start.
	for i, want := range [][2]int{{47, 47}, {0, 94}, {0, 0}, {94, 0}, {47, 47}} {
		from := 20 * us * unit.Time(i)
		first, other := b.startsWithin(from, from+20*us, of(dataDSCP)), b.startsWithin(from, from+20*us, of(otherDSCP))
		if first < want[0]-1 || first > want[0]+1 || other < want[1]-1 || other > want[1]+1 {
			t.Errorf("from %v: %d and %d frames, want about %v", from, first, other, want)
		}
	}
	for _, f := range b.from(0, isData) {
		if flow, _, _ := frame.FlowOfQP(f.DestQP()); f.DSCP() != []uint8{dataDSCP, otherDSCP}[flow] {
			t.Fatalf("flow %d has DSCP %d", flow, f.DSCP())
		}
	}
	seen := map[uint8]bool{}
	for _, f := range b.from(1, isACK) {
		seen[f.DSCP()] = true
	}
	if !seen[dataDSCP] || !seen[otherDSCP] || len(seen) != 2 {
		t.Errorf("code points of ACKs: %v", seen)
	}
	for host, kind := range []fabric.Kind{fabric.FlowStarted, fabric.Delivered} {
		for _, n := range b.noted(host, kind) {
			if want := []fabric.Priority{dataPrio, otherPrio}[n.Flow]; n.Priority != want {
				t.Fatalf("%v of flow %d in class %d", kind, n.Flow, n.Priority)
			}
		}
	}
}
