package switching

import (
	"slices"
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/switching/balance"
	"github.com/rackfab/rackfab/fabric/unit"
)

// pathsConfig is a switch whose ports 1 to 3 lead to host 9, with that choice for the
// lossless class.
func pathsConfig(c balance.Choice) Config {
	cfg := rackConfig(4)
	for len(cfg.Routes) < 9 {
		cfg.Routes = append(cfg.Routes, nil)
	}
	cfg.Routes = append(cfg.Routes, []fabric.Port{1, 2, 3})
	cfg.Classes[lossless].Routing = c
	return cfg
}

// shares returns the number of frames that left by each of the ports 1 to 3.
func (r *rig) shares() []int { return []int{len(r.sent(1)), len(r.sent(2)), len(r.sent(3))} }

// The frames of a flow arrive with no gap; each of the three ports could take all of them.
func TestChoicesOfASwitch(t *testing.T) {
	for _, c := range []struct {
		choice balance.Choice
		want   func(shares []int) bool
	}{
		{balance.ECMP, func(n []int) bool { return slices.Contains(n, 90) }},
		{balance.Flowlet, func(n []int) bool { return slices.Contains(n, 90) }},
		{balance.Spray, func(n []int) bool { return slices.Equal(n, []int{30, 30, 30}) }}, // PATH-2
		{balance.Random, func(n []int) bool { return slices.Min(n) > 12 }},                // PATH-3; 4 sigma are 18
		{balance.Adaptive, func(n []int) bool { return slices.Contains(n, 90) }},          // PATH-6: queues of one frame
		{balance.DRILL, func(n []int) bool { return slices.Min(n) > 12 }},                 // PATH-7
	} {
		r := newRig(t, pathsConfig(c.choice))
		for i := range 90 {
			r.arrive(unit.Time(i)*slot, 0, data(9, 5, lossless))
		}
		r.run(unit.Second)
		if got := r.shares(); !c.want(got) {
			t.Errorf("%v: frames by port: %v", c.choice, got)
		}
	}
}

// PATH-6: a flow leaves its port for a shorter queue.
func TestAdaptiveLeavesALongQueue(t *testing.T) {
	r := newRig(t, pathsConfig(balance.Adaptive))
	for range 30 { // all at once: 5 frames are a level
		r.arrive(0, 0, data(9, 5, lossless))
	}
	r.run(unit.Second)
	if got := r.shares(); slices.Min(got) < 8 || slices.Max(got) > 12 {
		t.Errorf("frames by port: %v", got)
	}
}

// PATH-6: the queue of another class at the same port does not move a flow.
func TestAdaptiveLooksAtTheQueueOfItsClass(t *testing.T) {
	r := newRig(t, pathsConfig(balance.Adaptive))
	for range 30 {
		r.arrive(0, 0, data(9, 5, lossy))
	}
	for range 4 {
		r.arrive(0, 0, data(9, 5, lossless))
	}
	r.run(unit.Second)
	if got := r.shares(); !slices.Contains(got, 34) {
		t.Errorf("frames by port: %v, want all by one", got)
	}
}

// PATH-8: ACKs, NAKs and CNPs of a flow keep their port in any class; data, requests and
// responses do not.
func TestChoiceIsForData(t *testing.T) {
	for _, c := range []struct {
		opcode   frame.Opcode
		syndrome uint8
		want     bool // balanced
	}{
		{frame.WriteMiddle, 0, true},
		{frame.SendOnly, 0, true},
		{frame.ReadRequest, 0, true},
		{frame.ReadResponseMiddle, 0, true},
		{frame.FetchAdd, 0, true},
		{frame.Acknowledge, frame.SyndromeACK, false},
		{frame.Acknowledge, frame.SyndromeNAKSequence, false},
		{frame.OpcodeCNP, 0, false},
		{frame.RTTProbe, 0, false},
		{frame.RTTResponse, 0, false},
	} {
		r := newRig(t, pathsConfig(balance.Spray))
		for psn := range uint32(6) {
			p := frame.Packet{
				Src: frame.HostIP(0), Dst: frame.HostIP(9), DSCP: uint8(lossless) * 8, TTL: 64, SrcPort: 50000,
				BTH: frame.BTH{Opcode: c.opcode, DestQP: frame.ReceiverQP(5), PSN: psn}, AETH: frame.AETH{Syndrome: c.syndrome},
			}
			var f frame.Frame
			p.Build(&f)
			r.arrive(unit.Time(psn)*slot, 0, &f)
		}
		r.run(unit.Second)
		if got := r.shares(); slices.Equal(got, []int{2, 2, 2}) != c.want || slices.Contains(got, 6) == c.want {
			t.Errorf("%v: frames by port: %v, balanced: %v", c.opcode, got, c.want)
		}
	}
}

// PATH-8: a class without a choice keeps to the hash, beside one that sprays.
func TestChoiceIsOfAClass(t *testing.T) {
	r := newRig(t, pathsConfig(balance.Spray))
	for i := range 30 {
		r.arrive(unit.Time(i)*slot, 0, data(9, 5, lossy))
	}
	r.run(unit.Second)
	if got := r.shares(); !slices.Contains(got, 30) {
		t.Errorf("frames by port: %v", got)
	}
}

// PATH-9: the choice changes for the frames that arrive from then on.
func TestRoutingChanges(t *testing.T) {
	r := newRig(t, pathsConfig(balance.ECMP))
	send := func(from unit.Time) []int {
		r.out.Reset()
		for i := range unit.Time(9) {
			r.arrive(from+i*slot, 0, data(9, 5, lossless))
		}
		r.run(from + unit.Millisecond/2)
		return r.shares()
	}
	change := func(at unit.Time, key fabric.Key, value int64, classes uint8) bool {
		before := len(r.notes(fabric.Inapplicable))
		r.Control(at, &fabric.Change{Verb: fabric.Tune, Key: key, Value: value, Classes: classes}, &r.out)
		return len(r.notes(fabric.Inapplicable)) == before
	}
	if got := send(0); !slices.Contains(got, 9) {
		t.Errorf("ecmp: %v", got)
	}
	if !change(unit.Millisecond, fabric.KeyRouting, int64(balance.Spray), 1<<lossy) || !slices.Contains(send(unit.Millisecond), 9) {
		t.Error("spray in another class moves packets")
	}
	if ok := change(2*unit.Millisecond, fabric.KeyRouting, int64(balance.Spray), 1<<lossless); !ok || !slices.Equal(send(2*unit.Millisecond), []int{3, 3, 3}) {
		t.Errorf("spray: %v, %v", ok, r.shares())
	}
	for _, c := range []struct {
		key   fabric.Key
		value int64
		want  bool
	}{
		{fabric.KeyRouting, 6, false},
		{fabric.KeyRouting, -1, false},
		{fabric.KeyFlowletGap, 1, true},
		{fabric.KeyAdaptiveLevels, 2, true},
		{fabric.KeyAdaptiveLevels, 1, false},
		{fabric.KeyAdaptiveStep, 1, true},
	} {
		if got := change(3*unit.Millisecond, c.key, c.value, 0xff); got != c.want {
			t.Errorf("key %d to %d: %v", c.key, c.value, got)
		}
	}
	if got := r.balancer.Params; got.Gap != 1 || got.Levels != 2 || got.Step != 1 {
		t.Errorf("%+v", got)
	}
}

// New routes keep the choice: a spray over two ports that remain.
func TestSprayAfterNewRoutes(t *testing.T) {
	cfg := pathsConfig(balance.Spray)
	r := newRig(t, cfg)
	cfg.Routes[9] = []fabric.Port{1, 3}
	r.Control(0, &fabric.Change{Verb: fabric.Reroute, Routes: cfg.Routes}, &r.out)
	for i := range 8 {
		r.arrive(unit.Time(i)*slot, 0, data(9, 5, lossless))
	}
	r.run(unit.Second)
	if got := r.shares(); !slices.Equal(got, []int{4, 0, 4}) {
		t.Errorf("frames by port: %v", got)
	}
}

func TestInvalidRouting(t *testing.T) {
	cfg := pathsConfig(6)
	if _, err := New(cfg); err == nil {
		t.Error("routing 6 is valid")
	}
	cfg = pathsConfig(balance.Spray)
	cfg.Balance.Levels = 1
	if _, err := New(cfg); err == nil {
		t.Error("one level is valid")
	}
}
