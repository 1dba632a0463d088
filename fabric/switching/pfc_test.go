package switching

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// PCN-1: when an ingress queue exceeds a threshold the switch sends PAUSE
// upstream; when it drains below another threshold, RESUME.
func TestPauseAboveXOFFAndResumeBelowXON(t *testing.T) {
	cfg := rackConfig(3)
	cfg.Classes[lossless].XOFF = 5 * size
	cfg.Classes[lossless].XON = 2 * size
	r := newRig(t, cfg)
	r.arrive(0, 0, pause(lossless, 65535))
	for range 5 {
		r.arrive(0, 1, data(0, 1, lossless))
	}
	if got := r.pfc(1); got != nil {
		t.Fatalf("at the threshold, not above it, the switch sent %v", got)
	}
	r.arrive(us, 1, data(0, 1, lossless))
	want := frame.PFC{Source: frame.SwitchMAC(0), Enable: 1 << lossless, Quanta: [8]uint16{lossless: 1000}}
	if got := r.pfc(1); len(got) != 1 || got[0] != want {
		t.Fatalf("sent %v, want %v", got, want)
	}
	if got := r.leaving(1, frame.ClassPFC)[0].Arrival; got != us+pfcTime+delay {
		t.Errorf("PAUSE arrives at %v", got)
	}
	wantNote := fabric.Note{Event: fabric.NewPauseSent(1000, 6*size), At: us, Port: 1, Priority: lossless, Flow: fabric.NoFlow}
	if got := r.notes(fabric.PauseSent); len(got) != 1 || got[0] != wantNote {
		t.Errorf("noted %+v, want %+v", got, wantNote)
	}
	r.arrive(2*us, 0, pause(lossless, 0))
	r.run(2*us + 2*slot - 1) // four frames are left: above XOFF - XON = 3
	if got := len(r.pfc(1)); got != 1 {
		t.Fatalf("%d PFC frames with four frames left", got)
	}
	r.run(2*us + 2*slot)
	wantNote = fabric.Note{Event: fabric.NewResumeSent(3 * size), At: 2*us + 2*slot, Port: 1, Priority: lossless, Flow: fabric.NoFlow}
	if got := r.notes(fabric.ResumeSent); len(got) != 1 || got[0] != wantNote {
		t.Errorf("noted %+v, want %+v", got, wantNote)
	}
	want.Quanta[lossless] = 0
	if got := r.pfc(1); len(got) != 2 || got[1] != want {
		t.Errorf("sent %v, want %v", got, want)
	}
	if got := r.pfc(0); got != nil {
		t.Errorf("the egress port's peer received %v", got)
	}
}

// PCN-1: frames above the threshold cause one PAUSE, and only in a class that PFC makes
// lossless.
func TestPauseIsSentOnceAndNeverForALossyClass(t *testing.T) {
	for class, want := range map[fabric.Priority]int{lossless: 1, lossy: 0} {
		cfg := rackConfig(3)
		cfg.Classes[class].XOFF, cfg.Classes[class].XON = 5*size, 2*size
		r := newRig(t, cfg)
		r.arrive(0, 0, pause(class, 65535))
		for i := range 9 {
			r.arrive(unit.Time(i)*us, 1, data(0, 1, class))
		}
		r.run(10 * us)
		if got := r.pfc(1); len(got) != want {
			t.Errorf("class %d: %d PFC frames, want %d", class, len(got), want)
		}
	}
}

// A PAUSE lasts quanta * 512 bit times from its arrival. The frame in transmission
// completes.
func TestPauseExpires(t *testing.T) {
	r := newRig(t, rackConfig(3))
	r.arrive(0, 1, data(0, 1, lossless))
	r.arrive(0, 1, data(0, 1, lossless))
	r.arrive(slot/2, 0, pause(lossless, 100)) // 100 * 12.8 ns
	end := slot/2 + 1280*ns
	r.run(end - 1)
	if got := len(r.sent(0)); got != 1 {
		t.Fatalf("%d frames left before the end of the pause, want the one in transmission", got)
	}
	r.run(end)
	if got := r.sent(0); len(got) != 2 || got[1].Arrival != end+slot+delay {
		t.Fatalf("after the pause: %d frames", len(got))
	}
	paused := fabric.Note{Event: fabric.NewPaused(100), At: slot / 2, Port: 0, Priority: lossless, Flow: fabric.NoFlow}
	if got := r.notes(fabric.Paused); len(got) != 1 || got[0] != paused {
		t.Errorf("noted %+v", got)
	}
	resumed := fabric.Note{Event: fabric.NewResumed(1280 * ns), At: end, Port: 0, Priority: lossless, Flow: fabric.NoFlow}
	if got := r.notes(fabric.Resumed); len(got) != 1 || got[0] != resumed {
		t.Errorf("noted %+v", got)
	}
}

// A second PAUSE restarts the timer, also at the very instant of its expiry. Both form
// one pause.
func TestPauseIsExtended(t *testing.T) {
	r := newRig(t, rackConfig(3))
	r.arrive(0, 0, pause(lossless, 100))
	r.arrive(0, 1, data(0, 1, lossless))
	r.arrive(1280*ns, 0, pause(lossless, 100))
	r.run(2560*ns - 1)
	if len(r.sent(0)) != 0 || len(r.notes(fabric.Paused)) != 1 {
		t.Fatalf("%d frames left, notes %v", len(r.sent(0)), r.out.Notes)
	}
	r.run(2560 * ns)
	if got := r.notes(fabric.Resumed); len(got) != 1 || got[0].Duration() != 2560*ns {
		t.Errorf("noted %+v", got)
	}
}

// A shorter PAUSE shortens the pause: the last frame counts (802.1Q).
func TestShorterPauseReplacesALongerOne(t *testing.T) {
	r := newRig(t, rackConfig(3))
	r.arrive(0, 0, pause(lossless, 65535))
	r.arrive(0, 1, data(0, 1, lossless))
	r.arrive(us, 0, pause(lossless, 1))
	r.run(us + 12800)
	if len(r.sent(0)) != 1 {
		t.Error("the class is still paused")
	}
}

// XON resumes its class at once, and no other.
func TestExplicitResume(t *testing.T) {
	cfg := rackConfig(3)
	cfg.Classes[4] = cfg.Classes[lossless]
	r := newRig(t, cfg)
	r.arrive(0, 0, pause(lossless, 65535))
	r.arrive(0, 0, pause(4, 65535))
	r.arrive(0, 1, data(0, 1, lossless))
	r.arrive(0, 1, data(0, 1, 4))
	r.arrive(us, 0, pause(lossless, 0))
	if got := r.sent(0); len(got) != 1 || got[0].DSCP()/8 != uint8(lossless) || got[0].Arrival != us+slot+delay {
		t.Fatalf("sent %v", got)
	}
	r.arrive(2*us, 0, pause(lossless, 0)) // of no effect
	if got := r.notes(fabric.Resumed); len(got) != 1 {
		t.Errorf("noted %v", got)
	}
}

// Other classes, and classes without flow control, overtake a paused one.
func TestPauseStopsOnlyItsClass(t *testing.T) {
	r := newRig(t, rackConfig(3))
	r.arrive(0, 0, pause(lossless, 65535))
	r.arrive(0, 0, pause(lossy, 65535))
	r.arrive(0, 1, data(0, 1, lossless))
	r.arrive(0, 1, data(0, 1, lossy))
	r.run(us)
	if got := r.sent(0); len(got) != 1 || got[0].DSCP()/8 != uint8(lossy) {
		t.Errorf("sent %d frames", len(got))
	}
}

// While the account stays high, PAUSE is repeated at half of its length.
func TestPauseIsRefreshed(t *testing.T) {
	cfg := rackConfig(3)
	cfg.Classes[lossless].XOFF = size
	r := newRig(t, cfg)
	r.arrive(0, 0, pause(lossless, 65535)) // 838.848 us
	r.arrive(0, 1, data(0, 1, lossless))
	r.arrive(0, 1, data(0, 1, lossless))
	half := unit.Time(1000*12800) / 2
	r.run(3*half + 1)
	notes := r.notes(fabric.PauseSent)
	if len(notes) != 4 {
		t.Fatalf("%d PAUSE frames, want 4", len(notes))
	}
	for i, n := range notes {
		if n.At != unit.Time(i)*half {
			t.Errorf("PAUSE %d at %v, want %v", i, n.At, unit.Time(i)*half)
		}
	}
	if got := r.Stats().Ports[1].Classes[lossless].PausesSent; got != 4 {
		t.Errorf("counted %d", got)
	}
}

// Between the two thresholds the peer stays paused.
func TestPauseIsRefreshedBetweenTheThresholds(t *testing.T) {
	cfg := rackConfig(3)
	cfg.Classes[lossless].XOFF = 2 * size
	cfg.Classes[lossless].XON = 2 * size
	r := newRig(t, cfg)
	r.arrive(0, 0, pause(lossless, 65535))
	for range 3 {
		r.arrive(0, 1, data(0, 1, lossless))
	}
	r.arrive(us, 0, pause(lossless, 0))
	r.arrive(us+slot+1, 0, pause(lossless, 65535)) // one frame is left
	r.run(7 * us)
	if pauses, resumes := len(r.notes(fabric.PauseSent)), len(r.notes(fabric.ResumeSent)); pauses != 2 || resumes != 0 {
		t.Errorf("%d PAUSE, %d RESUME with one frame left, want 2 and 0", pauses, resumes)
	}
}

// With a dynamic threshold, buffer released by other accounts can relieve an account.
// The refresh detects this and resumes the peer.
func TestRefreshResumesWhenThePoolIsFreeAgain(t *testing.T) {
	cfg := rackConfig(4)
	c := &cfg.Classes[lossless]
	*c = ClassConfig{Lossless: true, AlphaShift: 1, XON: size, Headroom: 10 * size, Quanta: 1000}
	cfg.Classes[4] = *c
	cfg.Buffer = cfg.set() + 10*size
	r := newRig(t, cfg)
	r.arrive(0, 0, pause(lossless, 65535))
	r.arrive(0, 3, pause(4, 65535))
	for range 5 { // three in the pool, the others in the headroom of class 4
		r.arrive(0, 2, data(3, 2, 4))
	}
	for range 3 { // two in the pool, one above the threshold
		r.arrive(0, 1, data(0, 1, lossless))
	}
	r.arrive(us, 0, pause(lossless, 0))
	r.arrive(us+1, 0, pause(lossless, 65535)) // one frame leaves: the headroom is empty, two are left
	if got := len(r.notes(fabric.ResumeSent)); got != 0 {
		t.Fatalf("resumed %d times with %v free", got, r.buffer.pool-r.buffer.shared)
	}
	r.arrive(2*us, 3, pause(4, 0))
	r.run(6*us + 400*ns)
	resumed := r.notes(fabric.ResumeSent)
	if n := len(resumed); n != 2 || resumed[1].Port != 1 || resumed[1].At != 6*us+400*ns {
		t.Errorf("noted %+v", resumed)
	}
}

// A PFC frame is sent right after the frame in transmission, before all others.
func TestPFCFrameGoesFirst(t *testing.T) {
	cfg := rackConfig(3)
	cfg.Classes[lossless].XOFF = size / 2
	r := newRig(t, cfg)
	r.arrive(0, 0, pause(lossless, 65535))
	r.arrive(0, 2, data(1, 2, control))
	r.arrive(0, 2, data(1, 2, control))
	r.arrive(1, 1, data(0, 1, lossless))
	r.run(us)
	var order []frame.Class
	var at []unit.Time
	for i := range r.out.Sends {
		if s := &r.out.Sends[i]; s.Port == 1 {
			order, at = append(order, s.Frame.Class()), append(at, s.Frame.Arrival-delay)
		}
	}
	if len(order) != 3 || order[1] != frame.ClassPFC || at[1] != slot+pfcTime || at[2] != 2*slot+pfcTime {
		t.Errorf("port 1 sent %v ending at %v", order, at)
	}
}

// A change of XOFF that is reverted before it could be sent is not sent. If it is made
// again, it is sent.
func TestPendingPFCFollowsTheState(t *testing.T) {
	busy := func(r *rig, now unit.Time) { // keep port 1 transmitting for one slot
		r.arrive(now, 2, data(1, 9, control))
	}
	cfg := rackConfig(4)
	cfg.Classes[lossless].XOFF = size / 2
	r := newRig(t, cfg)
	r.arrive(0, 0, pause(lossless, 65535))
	busy(r, 0)
	r.arrive(1, 1, data(0, 1, lossless)) // XOFF, pending
	r.arrive(2, 0, pause(lossless, 0))   // the frame leaves: XON
	r.run(5 * us)
	if got := r.pfc(1); got != nil {
		t.Fatalf("sent %v, want nothing", got)
	}
	r.arrive(5*us, 0, pause(lossless, 65535))
	r.arrive(5*us, 1, data(0, 1, lossless)) // XOFF, sent
	busy(r, 5*us+pfcTime)
	r.arrive(5*us+pfcTime+1, 0, pause(lossless, 0))     // XON, pending
	r.arrive(5*us+pfcTime+2, 0, pause(lossless, 65535)) //
	r.arrive(5*us+pfcTime+3, 1, data(0, 1, lossless))   // XOFF again, pending
	r.run(30 * us)
	got := r.pfc(1)
	if len(got) < 3 {
		t.Fatalf("sent %v, want PAUSE, PAUSE and refreshes", got)
	}
	for i, p := range got {
		if p.Quanta[lossless] != 1000 {
			t.Errorf("PFC frame %d is %v", i, p)
		}
	}
}

// A PFC frame belongs to no message, whatever the memory of Out contained.
func TestPFCFrameHasNoTrace(t *testing.T) {
	cfg := rackConfig(3)
	cfg.Classes[lossless].XOFF = size / 2
	r := newRig(t, cfg)
	r.arrive(0, 2, packet(1, 2, control, frame.ECT0, 7, size))
	r.out.Reset()
	r.arrive(us, 0, pause(lossless, 65535))
	r.arrive(us, 1, data(0, 1, lossless))
	if got := r.leaving(1, frame.ClassPFC); len(got) != 1 || got[0].Trace != 0 {
		t.Errorf("sent %+v", got)
	}
}
