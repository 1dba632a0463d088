package nic

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// startsWithin returns the number of host 0's frames whose transmission starts in (from,
// to).
func (b *fabricBench) startsWithin(from, to unit.Time, keep func(*frame.Frame) bool) int {
	count := 0
	for _, f := range b.from(0, keep) {
		if from < f.start && f.start < to {
			count++
		}
	}
	return count
}

// PAUSE pauses its class from the frame boundary on, for quanta of 512 bit times. The
// frame in transmission is completed first.
func TestPauseLastsItsQuanta(t *testing.T) {
	late := flow(1, Endless)
	late.Start = 15 * us // its start gives the NIC a tick during the pause
	b := newBench(t, 2, []FlowConfig{flow(0, Endless), late})
	at := 10*us + 1
	b.inject(0, at, pfc(dataPrio, 1000)) // 12.8 us at 40 Gbit/s
	b.run(60 * us)
	end := at + 12_800_000
	if n := b.startsWithin(at, end, isData); n != 0 {
		t.Errorf("%d frames begin during the pause", n)
	}
	var resumed bool
	for _, f := range b.from(0, isData) {
		resumed = resumed || f.start == end
	}
	if !resumed {
		t.Error("does not begin again at the expiry")
	}
	p, r := b.noted(0, fabric.Paused), b.noted(0, fabric.Resumed)
	if len(p) != 1 || p[0].At != at || p[0].Priority != dataPrio || len(r) != 1 || r[0].At != end || r[0].Duration() != 12_800_000 {
		t.Errorf("Paused %+v, Resumed %+v", p, r)
	}
}

// XON ends the pause at once.
func TestXONResumes(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, Endless)})
	b.inject(0, 10*us, pfc(dataPrio, 0xffff))
	b.inject(0, 17*us, pfc(dataPrio, 0))
	b.inject(0, 18*us, pfc(dataPrio, 0)) // no effect on a class that is not paused
	b.run(60 * us)
	r := b.noted(0, fabric.Resumed)
	if len(r) != 1 || r[0].At != 17*us || r[0].Duration() != 7*us {
		t.Errorf("Resumed %+v", r)
	}
	if b.startsWithin(10*us, 17*us, isData) != 0 || b.startsWithin(17*us-1, 18*us, isData) == 0 {
		t.Error("sends while paused, or does not send after XON")
	}
	if s := b.nics[0].Stats().Priorities[dataPrio]; s.RxPause != 1 || s.RxResume != 2 || s.RxPauseTransition != 1 || s.RxPauseDuration != 7*us || s.Held {
		t.Errorf("%+v", s)
	}
}

// A further PAUSE moves the expiry of the same pause.
func TestRefreshExtendsThePause(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, Endless)})
	b.inject(0, 10*us, pfc(dataPrio, 1000))
	b.inject(0, 20*us, pfc(dataPrio, 1000))
	b.run(60 * us)
	p, r := b.noted(0, fabric.Paused), b.noted(0, fabric.Resumed)
	if len(p) != 1 || len(r) != 1 || r[0].At != 32_800_000 {
		t.Errorf("Paused %+v, Resumed %+v", p, r)
	}
}

// PAUSE is per priority: data continues while another class is paused, and control packets
// continue while data is paused.
func TestPauseIsPerPriority(t *testing.T) {
	flows := []FlowConfig{flow(0, Endless), {ID: 1, From: 1, To: 0, Size: Endless}}
	b := newBench(t, 2, flows)
	b.inject(0, 10*us, pfc(1, 0xffff))
	b.run(20 * us)
	if b.startsWithin(11*us, 20*us, isData) < 20 {
		t.Error("a pause of class 1 stops class 3")
	}
	b.inject(0, 20*us, pfc(dataPrio, 0xffff))
	b.run(40 * us)
	if b.startsWithin(20*us, 40*us, isData) != 0 || b.startsWithin(20*us, 40*us, isACK) < 50 {
		t.Error("data is not paused, or ACKs are")
	}
	b.inject(0, 40*us, pfc(dataPrio, 0))
	b.inject(0, 40*us, pfc(ctrlPrio, 0xffff))
	b.run(60 * us)
	if b.startsWithin(40*us, 60*us, isACK) != 0 || b.startsWithin(40*us, 60*us, isData) < 50 {
		t.Error("ACKs are not paused, or data is")
	}
}

// While the NIC is paused or busy, it requests no ticks for flows.
func TestNoTicksWhilePaused(t *testing.T) {
	flows := make([]FlowConfig, 100)
	for i := range flows {
		flows[i] = flow(fabric.FlowID(i), Endless)
	}
	n := mustNew(t, config(0, flows))
	var out fabric.Out
	n.Tick(0, &out)
	f := pfc(dataPrio, 0xffff)
	n.Arrive(1, 0, &f, &out)
	if at, ok := n.Next(); !ok || at != 1+testRate.Serialise(64*0xffff) {
		t.Errorf("wants a tick at %v (%v), want the expiry", at, ok)
	}
}
