package switching

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

// detector delays the effect of links that go down or come up, by the time that a switch
// takes to detect them or to learn of them. Changes during a detection take effect at its
// end. Without a delay, they take effect at once.
type detector struct {
	after  unit.Time // duration of a detection
	due    unit.Time // end of the present detection, Never if there is none
	routes [][]fabric.Port
}

// wait begins a detection unless one is in progress.
func (d *detector) wait(now unit.Time) {
	if d.due == unit.Never {
		d.due = now + d.after
	}
}

// learn takes the routes that are valid once the present state of all links is detected.
func (d *detector) learn(now unit.Time, routes [][]fabric.Port) {
	d.routes = routes
	d.wait(now)
}

// detect ends a detection that is due: the new routes take effect, and ports with a dead
// link drop their queues.
func (s *Switch) detect(now unit.Time, out *fabric.Out) {
	if s.detector.due > now {
		return
	}
	s.detector.due = unit.Never
	if s.detector.routes != nil {
		s.ecmp.setRoutes(s.detector.routes)
		s.balancer.Renumber()
		s.detector.routes = nil
		note(now, 0, 0, fabric.Event{Kind: fabric.Rerouted}, out)
	}
	for i := range s.ports {
		if p := &s.ports[i]; p.cable.Down && !p.cut {
			p.setCut(true)
			s.clearPFC(now, p, out)
			s.flush(now, p, out)
			s.agenda.Set(i, p.due())
		}
	}
}
