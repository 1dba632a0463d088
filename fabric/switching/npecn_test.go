package switching

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// burst lets n frames for port 0 arrive at now, each at a port of its own from 1 on.
func (r *rig) burst(now unit.Time, n int, class fabric.Priority) {
	for i := range n {
		r.arrive(now, fabric.Port(1+i), data(0, uint32(i), class))
	}
}

// resumed pauses port 0, lets n frames arrive, and resumes it at 2 us.
func resumed(t *testing.T, n int) *rig {
	r := newRig(t, rackConfig(16))
	r.arrive(0, 0, pause(lossless, 65535))
	r.burst(us, n, lossless)
	r.arrive(2*us, 0, pause(lossless, 0))
	return r
}

// PCN-21: on RESUME with N packets waiting, PN := N.
func TestResumeCountsTheWaitingFrames(t *testing.T) {
	r := newRig(t, rackConfig(16))
	r.arrive(0, 0, pause(lossless, 65535))
	r.burst(us, 7, lossless)
	r.arrive(2*us, 0, pause(lossless, 0))
	if got := r.ports[0].npecn[lossless].paused; got != 6 {
		t.Errorf("PN = %d after RESUME with 7 waiting and the first of them sent, want 6", got)
	}
}

// PCN-21: the end of a pause by expiry is a RESUME too.
func TestExpiryCountsTheWaitingFrames(t *testing.T) {
	r := newRig(t, rackConfig(16))
	r.arrive(0, 0, pause(lossless, 100)) // 1.28 us
	r.burst(us, 4, lossless)
	r.burst(us+300*ns, 2, lossless)
	r.run(10 * us)
	r.wantMarks("----MM")
}

// PCN-22: each packet sent decrements PN until 0; those N are not marked.
func TestPausedFramesAreNotMarked(t *testing.T) {
	r := resumed(t, 5)
	for want := 4; want >= 0; want-- {
		if got := r.ports[0].npecn[lossless].paused; got != want {
			t.Fatalf("PN = %d, want %d", got, want)
		}
		next, _ := r.Next()
		r.run(next)
	}
	if got := r.ports[0].npecn[lossless].paused; got != 0 {
		t.Fatalf("PN = %d, want it to stay at 0", got)
	}
	r.wantMarks("-----")
}

// PCN-23: packets with PN = 0 are marked by ECN with threshold zero.
func TestFramesAfterThePausedOnesAreMarkedByQueue(t *testing.T) {
	r := resumed(t, 3)
	r.burst(2*us+100*ns, 2, lossless)
	r.run(10 * us)
	r.wantMarks("---MM")
}

// PCN-24, PCN-13: a real congested port, its link fully used and its excess
// piling up, marks every packet that meets the queue.
func TestCongestedPortMarksAll(t *testing.T) {
	r := newRig(t, rackConfig(3))
	for i := range 50 {
		now := unit.Time(i) * slot
		r.arrive(now, 1, data(0, 1, lossless))
		r.arrive(now, 2, data(0, 2, lossless))
	}
	r.run(unit.Time(99) * slot)
	// The first is sent at once; the second finds the queue empty.
	r.wantMarks("--" + strings.Repeat("M", 98))
	for i, f := range r.sent(0) {
		if want := unit.Time(i+1)*slot + delay; f.Arrival != want {
			t.Fatalf("frame %d arrives at %v, want %v: the link is not fully used", i, f.Arrival, want)
		}
	}
}

// PCN-24, PCN-14: a non-congested port, from which packets leave at once, never
// marks.
func TestUncongestedPortNeverMarks(t *testing.T) {
	r := newRig(t, rackConfig(3))
	for i := range 50 {
		now := unit.Time(i) * 2 * slot
		r.arrive(now, 1, data(0, 1, lossless))
		if got := r.Stats().Ports[0].Classes[lossless].QueueFrames; got != 0 {
			t.Fatalf("%d frames accumulate", got)
		}
	}
	r.wantMarks(strings.Repeat("-", 50))
}

// PCN-24, PCN-15: a quasi-congested port, whose queue is there because of PAUSE
// though the link is not fully used, marks only packets that arrive and leave
// in RESUME state while the queue is not empty.
func TestQuasiCongestedPortMarksInPart(t *testing.T) {
	r := newRig(t, rackConfig(3))
	for i := range 40 { // half of the link's rate
		now := unit.Time(i) * 2 * slot
		switch i {
		case 10:
			r.arrive(now-1, 0, pause(lossless, 65535))
		case 20:
			r.arrive(now-1, 0, pause(lossless, 0))
		}
		r.arrive(now, 1, data(0, 1, lossless))
	}
	r.run(100 * us)
	// Ten frames wait for RESUME. While they drain at twice the rate of the
	// input, nine more come and find a queue; the link is idle again after that.
	r.wantMarks(strings.Repeat("-", 20) + strings.Repeat("M", 9) + strings.Repeat("-", 11))
}

// PCN-25: the mark is decided by the queue before the packet, the one in
// serialisation not counted.
func TestThresholdZeroIsEvaluatedAtEnqueue(t *testing.T) {
	r := newRig(t, rackConfig(5))
	r.arrive(0, 1, data(0, 1, lossless))
	r.run(us)
	r.wantMarks("-") // a lone packet on an idle port
	r.arrive(us, 1, data(0, 1, lossless))
	r.arrive(us+1, 2, data(0, 2, lossless)) // the first is in serialisation: queue empty
	r.arrive(us+2, 3, data(0, 3, lossless)) // the second waits
	r.run(us + 3*slot)
	r.wantMarks("---M")
	r.arrive(5*us, 4, data(0, 4, lossless)) // found empty, though others follow it
	r.arrive(5*us, 1, data(0, 1, lossless))
	r.arrive(5*us, 2, data(0, 2, lossless))
	r.run(10 * us)
	r.wantMarks("---M" + "--M")
}

// PCN-26: after a new PAUSE while PN > 0, the next RESUME samples PN afresh.
func TestPauseWhilePNIsAboveZeroCountsAgain(t *testing.T) {
	r := resumed(t, 4)                               // at 2 us the first of four leaves
	r.arrive(2*us+slot/2, 0, pause(lossless, 65535)) // PN is 3
	r.burst(3*us, 2, lossless)                       // five wait now
	r.arrive(4*us, 0, pause(lossless, 0))            // PN := 5
	r.arrive(4*us+slot/2, 5, data(0, 1, lossless))   // comes and leaves in RESUME
	r.run(10 * us)
	r.wantMarks("-" + "-----" + "M")
}

// PCN-27: one PN per port and priority.
func TestEachPriorityHasItsOwnPN(t *testing.T) {
	cfg := rackConfig(16)
	cfg.Classes[4] = cfg.Classes[lossless]
	r := newRig(t, cfg)
	r.arrive(0, 0, pause(lossless, 65535))
	r.burst(us, 3, lossless)
	r.burst(us, 3, 4)
	r.arrive(2*us, 0, pause(lossless, 0))
	r.run(10 * us)
	marks := map[uint8]string{}
	for _, f := range r.sent(0) {
		marks[f.DSCP()/8] += map[bool]string{true: "M", false: "-"}[f.ECN() == frame.CE]
	}
	if diff := cmp.Diff(map[uint8]string{3: "---", 4: "--M"}, marks); diff != "" {
		t.Error(diff)
	}
}

// PCN-28: the packet in serialisation when RESUME comes is not in N.
func TestFrameInSerialisationIsNotCounted(t *testing.T) {
	r := newRig(t, rackConfig(16))
	r.burst(us, 3, lossless) // the first is in serialisation until 1.2 us
	r.arrive(us+1, 0, pause(lossless, 65535))
	r.arrive(us+2, 0, pause(lossless, 0))
	if got := r.ports[0].npecn[lossless].paused; got != 2 {
		t.Errorf("PN = %d with one frame in serialisation and two waiting, want 2", got)
	}
}

// PCN-29: PAUSE, RESUME with PN > 0, PN = 0, PAUSE, in that order.
func TestStateMachineOfTheCongestionPoint(t *testing.T) {
	r := resumed(t, 2)
	r.burst(2*us, 2, lossless)
	r.run(2*us + slot)
	r.wantMarks("--") // PN > 0: send, no mark
	r.run(2*us + 2*slot)
	r.wantMarks("--M") // PN = 0: send, mark by ECN
	r.arrive(2*us+2*slot+1, 0, pause(lossless, 65535))
	r.run(20 * us)
	r.wantMarks("--M") // PAUSE: nothing is sent
	r.arrive(20*us, 0, pause(lossless, 0))
	r.run(30 * us)
	r.wantMarks("--M-")
}

// PCN-30: one counter per queue, and a step costs no memory.
func TestCongestionPointIsOneCounter(t *testing.T) {
	if got := unsafe.Sizeof(npecn{}); got > 8 {
		t.Errorf("the state of NP-ECN takes %d bytes, want one counter", got)
	}
	var n npecn
	if got := testing.AllocsPerRun(100, func() { n.resume(3); n.depart(true) }); got != 0 {
		t.Errorf("a step allocates %v times", got)
	}
}

// PCN-31: a mark by itself means nothing to the switch: marked frames leave as
// unmarked ones would, and nothing is sent back.
func TestMarkChangesOnlyTheECNField(t *testing.T) {
	run := func(law cc.Marking) *rig {
		cfg := rackConfig(6)
		cfg.Classes[lossless].Marking = law
		r := newRig(t, cfg)
		for i := range 20 {
			r.burst(unit.Time(i)*slot, 3, lossless)
		}
		r.run(100 * us)
		return r
	}
	marking, plain := run(cc.MarkNPECN), run(cc.MarkNone)
	if !strings.Contains(marking.marks(), "M") || strings.Contains(plain.marks(), "M") {
		t.Fatalf("marked %q, plain %q", marking.marks(), plain.marks())
	}
	for i := range plain.out.Sends {
		a, b := marking.out.Sends[i], plain.out.Sends[i]
		if a.Port != b.Port || a.Frame.Arrival != b.Frame.Arrival || a.Frame.DestQP() != b.Frame.DestQP() {
			t.Fatalf("send %d differs: port %d at %v, port %d at %v", i, a.Port, a.Frame.Arrival, b.Port, b.Frame.Arrival)
		}
	}
}

// Only ECN-capable frames are marked (RFC 3168 §5), and only in a class with the law.
func TestOnlyECTFramesOfTheClassAreMarked(t *testing.T) {
	for _, c := range []struct {
		class fabric.Priority
		ecn   frame.ECN
		want  frame.ECN
	}{
		{lossless, frame.ECT0, frame.CE},
		{lossless, frame.ECT1, frame.CE},
		{lossless, frame.NotECT, frame.NotECT},
		{lossless, frame.CE, frame.CE},
		{control, frame.ECT0, frame.ECT0},
		{lossy, frame.ECT0, frame.ECT0},
	} {
		r := newRig(t, rackConfig(2))
		for range 3 {
			r.arrive(0, 1, packet(0, 0, c.class, c.ecn, 0, size))
		}
		r.run(us)
		if got := r.sent(0)[2].ECN(); got != c.want {
			t.Errorf("class %d: ECN %d left as %d, want %d", c.class, c.ecn, got, c.want)
		}
		if got, want := len(r.notes(fabric.Marked)) == 1, c.ecn != c.want; got != want {
			t.Errorf("class %d, ECN %d: marked note %v, want %v", c.class, c.ecn, got, want)
		}
	}
}

// A marked frame has a correct IP checksum.
func TestMarkedFrameParses(t *testing.T) {
	r := newRig(t, rackConfig(8))
	r.burst(0, 4, lossless)
	r.run(us)
	r.wantMarks("--MM")
	for _, f := range r.sent(0) {
		var p frame.Packet
		if err := p.Parse(&f); err != nil {
			t.Error(err)
		}
	}
}
