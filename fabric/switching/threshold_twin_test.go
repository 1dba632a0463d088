package switching

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// thresholds is the slow twin of the shared buffer. It keeps no running sums: it walks
// every queue to compute each account, the free pool, and from these the threshold.
type thresholds struct {
	*rig
	t        *rapid.T
	occupied [ports][fabric.Priorities]unit.Bytes // after the last call
	headroom [ports][fabric.Priorities]unit.Bytes
}

// walk sums the queues by account.
func (w *thresholds) walk() (occupied [ports][fabric.Priorities]unit.Bytes) {
	for i := range w.ports {
		for class := range w.ports[i].queues {
			for _, e := range w.ports[i].queues[class].entries() {
				occupied[e.from][class] += e.length
			}
		}
	}
	return occupied
}

// shared returns the use of all accounts beyond reserve and headroom.
func (w *thresholds) shared(at fabric.Port, class fabric.Priority) unit.Bytes {
	return max(0, w.occupied[at][class]-w.headroom[at][class]-w.cfg.Classes[class].Reserve)
}

func (w *thresholds) free() unit.Bytes {
	free := w.cfg.Buffer
	for i := range w.occupied {
		for class := range w.occupied[i] {
			c := &w.cfg.Classes[class]
			free -= c.Reserve + w.shared(fabric.Port(i), fabric.Priority(class))
			if c.Lossless {
				free -= c.Headroom
			}
		}
	}
	return free
}

// threshold returns the bound on the shared part of an account.
func (w *thresholds) threshold(class fabric.Priority) unit.Bytes {
	c := &w.cfg.Classes[class]
	if c.XOFF > 0 {
		return c.XOFF
	}
	if c.AlphaShift < 0 {
		return w.free() * (1 << -c.AlphaShift)
	}
	return w.free() / (1 << c.AlphaShift)
}

// admits reports whether a frame is admitted, and whether into the headroom.
func (w *thresholds) admits(at fabric.Port, class fabric.Priority, length unit.Bytes) (in, headroom bool) {
	c := &w.cfg.Classes[class]
	used := w.occupied[at][class] - w.headroom[at][class]
	after := max(0, used+length-c.Reserve)
	switch {
	case after <= w.threshold(class) && after-w.shared(at, class) <= w.free():
		return true, false
	case c.Lossless && w.headroom[at][class]+length <= c.Headroom:
		return true, true
	}
	return false, false
}

// settle updates the accounts from the queues after a call. Bytes that left an account
// came out of its headroom first.
func (w *thresholds) settle() {
	now := w.walk()
	for i := range now {
		for class := range now[i] {
			released := max(0, w.occupied[i][class]-now[i][class])
			w.headroom[i][class] = max(0, w.headroom[i][class]-released)
		}
	}
	w.occupied = now
	for i, p := range w.Stats().Ports {
		for class, c := range p.Classes {
			if c.HeadroomBytes != w.headroom[i][class] || c.OccupancyBytes != w.occupied[i][class] {
				w.t.Fatalf("port %d, class %d holds %d with %d in the headroom, the queues say %d and %d", i, class,
					c.OccupancyBytes, c.HeadroomBytes, w.occupied[i][class], w.headroom[i][class])
			}
		}
	}
	for class := range fabric.Priority(fabric.Priorities) {
		if got, want := w.buffer.threshold(class), w.threshold(class); got != want {
			w.t.Fatalf("threshold of class %d is %d, the queues leave %d", class, got, want)
		}
	}
}

// arrive lets a frame arrive and compares its fate with the sums over the queues.
func (w *thresholds) arrive(now unit.Time, s *step) {
	w.run(now - 1)
	class := w.cfg.DSCP[s.f.DSCP()&63]
	fits := s.f.Class() == frame.ClassRoCE && s.f.Len() <= 1500 && s.f.DstIP().Host() < len(w.ecmp.next)
	in, headroom := w.admits(s.at, class, s.f.Len())
	lost := w.Stats().Ports[s.at].Classes[class].DroppedFrames
	w.Arrive(now, s.at, &s.f, &w.out)
	if fits && in {
		w.occupied[s.at][class] += s.f.Len()
		if headroom {
			w.headroom[s.at][class] += s.f.Len()
		}
	}
	w.settle()
	if !fits {
		return
	}
	stats := w.Stats().Ports[s.at].Classes[class]
	if got := stats.DroppedFrames == lost; got != in {
		w.t.Fatalf("frame of %d bytes let in: %v, want %v", s.f.Len(), got, in)
	}
	over := w.headroom[s.at][class] > 0 || w.shared(s.at, class) > w.threshold(class)
	if w.cfg.Classes[class].Lossless && over && !stats.PeerIsPaused {
		w.t.Fatalf("port %d, class %d is above its threshold, and its peer not paused", s.at, class)
	}
}

// Admission, headroom and PAUSE follow the thresholds computed from a sum over all
// queues, dynamic and static, at every instant.
func TestThresholdsAgainstASumOverAllQueues(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &thresholds{rig: newRig(t, crowdedConfig(rt)), t: rt}
		w.after = w.settle
		now := unit.Time(0)
		steps := drawSteps(rt)
		for i := range steps {
			now += steps[i].gap
			w.arrive(now, &steps[i])
		}
		w.run(now + 100*us)
	})
}
