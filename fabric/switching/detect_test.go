package switching

import (
	"slices"
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/switching/balance"
	"github.com/rackfab/rackfab/fabric/unit"
)

// cut takes the link at port 2 of three equal ones down at 1 ms, with the routes that avoid it.
func (r *rig) cut(cfg *Config) {
	routes := slices.Clone(cfg.Routes)
	routes[9] = []fabric.Port{1, 3}
	r.Control(unit.Millisecond, &fabric.Change{Verb: fabric.LinkDown, Port: 2, Routes: routes}, &r.out)
}

// spraying returns a rig whose switch sprays over the ports 1 to 3, and takes that long to
// detect a change of a link.
func spraying(t *testing.T, detection unit.Time) (*rig, Config) {
	cfg := pathsConfig(balance.Spray)
	cfg.Detection = detection
	return newRig(t, cfg), cfg
}

// volley lets n frames to host 9 arrive, one per slot.
func (r *rig) volley(from unit.Time, n int) {
	for i := range n {
		r.arrive(from+unit.Time(i)*slot, 0, data(9, 5, lossless))
	}
	r.run(from + unit.Time(n)*slot + 4*us)
}

// PATH-11: at once without a detection time.
func TestDeadLinkIsAvoidedAtOnce(t *testing.T) {
	r, cfg := spraying(t, 0)
	r.cut(&cfg)
	r.volley(unit.Millisecond, 12)
	if got := r.shares(); !slices.Equal(got, []int{6, 0, 6}) || len(r.notes(fabric.Rerouted)) != 1 {
		t.Errorf("frames by port: %v", got)
	}
}

// PATH-11: until then, the switch sends into the dead link; then it drops what is queued for
// it and avoids it.
func TestDeadLinkIsDetected(t *testing.T) {
	r, cfg := spraying(t, 10*us)
	r.cut(&cfg)
	r.volley(unit.Millisecond, 12)
	if got := r.shares(); !slices.Equal(got, []int{4, 4, 4}) || len(r.notes(fabric.Rerouted)) != 0 {
		t.Errorf("before the detection, frames by port: %v", got)
	}
	// A third of 60 frames wait at port 2 when the detection ends: the others have left.
	for range 60 {
		r.arrive(unit.Millisecond+10*us, 0, data(9, 5, lossless))
	}
	queued := r.Stats().Ports[2].Classes[lossless].QueueFrames
	r.out.Reset()
	r.run(unit.Millisecond + 10*us)
	after := r.Stats()
	if queued < 18 || after.Ports[2].Classes[lossless].QueueFrames != 0 || after.Ports[0].Classes[lossless].DroppedFrames != queued || !after.Ports[2].LinkDown {
		t.Errorf("%d frames queued, %+v", queued, after.Ports[0].Classes[lossless])
	}
	if n := r.notes(fabric.Rerouted); len(n) != 1 || n[0].At != unit.Millisecond+10*us {
		t.Errorf("rerouted: %+v", n)
	}
	r.run(2*unit.Millisecond - 1)
	r.out.Reset()
	r.volley(2*unit.Millisecond, 12)
	if got := r.shares(); !slices.Equal(got, []int{6, 0, 6}) {
		t.Errorf("after the detection, frames by port: %v", got)
	}
	if s := r.Stats(); s.SharedUsed != 0 {
		t.Errorf("%d bytes of the buffer are in use", s.SharedUsed)
	}
}

// PATH-11: a link that comes up during the detection is never avoided, and sends at once.
func TestLinkThatComesUpBeforeItIsDetected(t *testing.T) {
	r, cfg := spraying(t, 10*us)
	r.cut(&cfg)
	r.run(unit.Millisecond + 5*us)
	r.Control(unit.Millisecond+5*us, &fabric.Change{Verb: fabric.LinkUp, Port: 2, Routes: cfg.Routes}, &r.out)
	r.volley(unit.Millisecond+6*us, 30)
	r.run(2 * unit.Millisecond)
	if got := r.shares(); !slices.Equal(got, []int{10, 10, 10}) {
		t.Errorf("frames by port: %v", got)
	}
	if n := r.notes(fabric.Dropped); len(n) != 0 {
		t.Errorf("dropped: %+v", n)
	}
}

// PATH-11: the time also applies to a link that comes up: its port is used from then on.
func TestLinkThatComesUpIsDetected(t *testing.T) {
	r, cfg := spraying(t, 10*us)
	r.cut(&cfg)
	r.run(2 * unit.Millisecond)
	r.Control(2*unit.Millisecond, &fabric.Change{Verb: fabric.LinkUp, Port: 2, Routes: cfg.Routes}, &r.out)
	r.volley(2*unit.Millisecond, 12)
	if got := r.shares(); !slices.Equal(got, []int{6, 0, 6}) {
		t.Errorf("before the detection, frames by port: %v", got)
	}
	r.run(3 * unit.Millisecond)
	r.out.Reset()
	r.volley(3*unit.Millisecond, 12)
	if got := r.shares(); !slices.Equal(got, []int{4, 4, 4}) {
		t.Errorf("after the detection, frames by port: %v", got)
	}
}

// PATH-11: a second failure during the detection is detected with the first.
func TestFailuresAreDetectedTogether(t *testing.T) {
	r, cfg := spraying(t, 10*us)
	r.cut(&cfg)
	r.run(unit.Millisecond + 6*us)
	routes := slices.Clone(cfg.Routes)
	routes[9] = []fabric.Port{1}
	r.Control(unit.Millisecond+6*us, &fabric.Change{Verb: fabric.LinkDown, Port: 3, Routes: routes}, &r.out)
	r.run(unit.Millisecond + 10*us)
	if !r.ports[2].cut || !r.ports[3].cut || len(r.notes(fabric.Rerouted)) != 1 {
		t.Errorf("cut: %v, %v, %d times rerouted", r.ports[2].cut, r.ports[3].cut, len(r.notes(fabric.Rerouted)))
	}
	r.volley(2*unit.Millisecond, 12)
	if got := r.shares(); !slices.Equal(got, []int{12, 0, 0}) {
		t.Errorf("frames by port: %v", got)
	}
}

// PATH-11: the time can change while the switch runs.
func TestDetectionChanges(t *testing.T) {
	r, cfg := spraying(t, 0)
	r.Control(0, &fabric.Change{Verb: fabric.Tune, Key: fabric.KeyDetection, Value: int64(10 * us)}, &r.out)
	r.cut(&cfg)
	if r.volley(unit.Millisecond, 12); len(r.sent(2)) != 4 {
		t.Errorf("frames by port: %v", r.shares())
	}
	cfg.Detection = -1
	if _, err := New(cfg); err == nil {
		t.Error("a negative detection time is valid")
	}
}
