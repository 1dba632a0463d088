package switching

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

// A lossless class loses frames only when the headroom is exhausted, and each loss is
// noted.
func TestHeadroomExhausted(t *testing.T) {
	cfg := rackConfig(3)
	cfg.Classes[lossless].Reserve = 2 * size
	cfg.Classes[lossless].XOFF = 3 * size
	cfg.Classes[lossless].Headroom = 4 * size
	r := newRig(t, cfg)
	r.arrive(0, 0, pause(lossless, 65535))
	for i := range 9 {
		r.arrive(unit.Time(i), 1, data(0, 1, lossless))
	}
	if got := r.notes(fabric.Dropped); got != nil {
		t.Fatalf("lost within reserve, threshold and headroom: %v", got)
	}
	c := r.Stats().Ports[1].Classes[lossless]
	if c.OccupancyBytes != 9*size || c.HeadroomBytes != 4*size || r.Stats().SharedUsed != 3*size {
		t.Errorf("occupancy %v, headroom %v, shared %v", c.OccupancyBytes, c.HeadroomBytes, r.Stats().SharedUsed)
	}
	f := data(0, 7, lossless)
	f.Trace = 42
	r.arrive(us, 1, f)
	want := fabric.Note{Event: fabric.NewDropped(size, fabric.DropHeadroom), At: us, Port: 1, Priority: lossless, Flow: 7, Trace: 42}
	if got := r.notes(fabric.Dropped); len(got) != 1 || got[0] != want {
		t.Errorf("noted %+v, want %+v", got, want)
	}
	if c := r.Stats().Ports[1].Classes[lossless]; c.DroppedFrames != 1 || c.DroppedBytes != size {
		t.Errorf("counted %+v", c)
	}
}

// A lossy class drops frames above its threshold, and sends no PAUSE.
func TestLossyClassDrops(t *testing.T) {
	cfg := rackConfig(3)
	cfg.Classes[lossy].XOFF = 3 * size
	r := newRig(t, cfg)
	for range 6 { // one is sent, three wait, two are lost
		r.arrive(0, 1, data(0, 1, lossy))
	}
	drops := r.notes(fabric.Dropped)
	if len(drops) != 2 || drops[0].Reason() != fabric.DropBuffer || drops[0].Priority != lossy {
		t.Errorf("noted %+v", drops)
	}
	if r.pfc(1) != nil {
		t.Error("a lossy class sent PAUSE")
	}
}

// The pool bounds the sum of all accounts, however high the static threshold.
func TestFullPool(t *testing.T) {
	cfg := rackConfig(4)
	cfg.Classes[lossy].XOFF = 100 * size
	cfg.Classes[lossless].XOFF = 100 * size
	cfg.Buffer = cfg.set() + 3*size
	r := newRig(t, cfg)
	r.arrive(0, 0, pause(lossless, 65535))
	r.arrive(0, 1, data(0, 1, lossless))
	for range 4 { // one is sent, two wait, one finds the pool full
		r.arrive(0, 2, data(3, 1, lossy))
	}
	if got := r.notes(fabric.Dropped); len(got) != 1 || got[0].Reason() != fabric.DropBuffer {
		t.Errorf("noted %+v", got)
	}
	r.arrive(1, 1, data(0, 1, lossless))
	if c := r.Stats().Ports[1].Classes[lossless]; c.HeadroomBytes != size || c.PausesSent != 1 {
		t.Errorf("a full pool left %v in the headroom and sent %d PAUSE", c.HeadroomBytes, c.PausesSent)
	}
}

// The dynamic threshold is the free part of the pool, shifted.
func TestDynamicThreshold(t *testing.T) {
	cfg := rackConfig(4)
	cfg.Classes[lossless].XOFF = 0
	cfg.Classes[lossless].AlphaShift = 3
	cfg.Buffer = cfg.set() + 80*size
	r := newRig(t, cfg)
	r.arrive(0, 0, pause(lossless, 65535))
	for i := range 20 {
		if len(r.pfc(1)) > 0 {
			// (80 - i) / 8 < i for the first time at 9
			if i != 9 {
				t.Errorf("PAUSE with %d frames, want 9", i)
			}
			return
		}
		r.arrive(unit.Time(i), 1, data(0, 1, lossless))
	}
	t.Error("no PAUSE")
}

// An alpha above 1 allows an account more than what is free: an alpha of 1 allows at
// most half of the pool, an alpha of 8 allows 8/9.
func TestAlphaAboveOne(t *testing.T) {
	for _, c := range []struct {
		shift int
		want  unit.Bytes
	}{{1, 30}, {0, 45}, {-3, 80}, {-6, 89}} {
		cfg := rackConfig(3)
		cfg.Classes[lossy] = ClassConfig{AlphaShift: c.shift}
		cfg.Buffer = cfg.set() + 90*size
		r := newRig(t, cfg)
		for range 100 { // one is sent
			r.arrive(0, 1, data(0, 1, lossy))
		}
		if got := r.Stats().Ports[1].Classes[lossy]; got.OccupancyBytes != c.want*size || got.DroppedFrames != uint64(99-c.want) {
			t.Errorf("shift %d: holds %d and lost %d, want %d", c.shift, got.OccupancyBytes, got.DroppedFrames, c.want)
		}
	}
}

// A lossy class with a reserve has it beyond its threshold, whatever the other accounts
// use of the pool.
func TestReserveOfALossyClass(t *testing.T) {
	cfg := rackConfig(4)
	cfg.Classes[lossy] = ClassConfig{Reserve: 2 * size, XOFF: 3 * size}
	cfg.Buffer = cfg.set() + 3*size
	r := newRig(t, cfg)
	for range 9 { // one is sent, two are in the reserve, three in the pool
		r.arrive(0, 1, data(0, 1, lossy))
	}
	for range 9 { // the pool is full
		r.arrive(0, 2, data(0, 2, lossy))
	}
	for port, want := range map[int]unit.Bytes{1: 5 * size, 2: 2 * size} {
		if got := r.Stats().Ports[port].Classes[lossy].OccupancyBytes; got != want {
			t.Errorf("port %d holds %d, want %d", port, got, want)
		}
	}
}

// The buffer is released at the start of transmission, headroom first.
func TestReleaseOrder(t *testing.T) {
	cfg := rackConfig(3)
	cfg.Classes[lossless].Reserve = size
	cfg.Classes[lossless].XOFF = size
	r := newRig(t, cfg)
	r.arrive(0, 0, pause(lossless, 65535))
	for range 3 {
		r.arrive(0, 1, data(0, 1, lossless))
	}
	r.arrive(us, 0, pause(lossless, 0))
	for _, want := range []struct{ occupancy, headroom, shared unit.Bytes }{
		{2 * size, 0, size}, {size, 0, 0}, {0, 0, 0},
	} {
		s := r.Stats()
		c := s.Ports[1].Classes[lossless]
		if c.OccupancyBytes != want.occupancy || c.HeadroomBytes != want.headroom || s.SharedUsed != want.shared {
			t.Errorf("occupancy %v, headroom %v, shared %v; want %v", c.OccupancyBytes, c.HeadroomBytes, s.SharedUsed, want)
		}
		next, _ := r.Next()
		r.run(next)
	}
}
