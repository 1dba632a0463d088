package switching

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/switching/balance"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Changes to a running switch.

// Control applies a change at its instant.
func (s *Switch) Control(now unit.Time, c *fabric.Change, out *fabric.Out) {
	if c.Routes != nil {
		s.detector.learn(now, c.Routes)
		s.detect(now, out)
	}
	valid := true
	switch c.Verb {
	case fabric.AddFlows:
		if s.converter != nil {
			s.converter.addFlows(c.Flows)
		}
	case fabric.Post:
		if valid = len(c.Works) == 0; valid && s.converter != nil {
			s.converter.addConnections(c.Connections)
		}
	case fabric.LinkDown, fabric.LinkUp:
		if valid = uint(c.Port) < uint(len(s.ports)); valid {
			s.setLink(now, &s.ports[c.Port], c.Verb, out)
		}
	case fabric.Tune:
		if valid = s.tune(c); valid {
			note(now, c.Port, 0, fabric.NewTuned(c.Key, c.Number()), out)
			s.checkPauses(now, out)
		}
	case fabric.Reroute:
	case fabric.Mark:
		valid = s.setMarking(cc.Marking(c.Name), c.Classes)
	case fabric.StopFlow, fabric.Freeze, fabric.Thaw, fabric.Choose:
		valid = false
	}
	if !valid {
		note(now, 0, 0, fabric.NewInapplicable(c.Verb), out)
	}
}

// setLink takes the link at a port down, or brings it up.
func (s *Switch) setLink(now unit.Time, p *port, verb fabric.Verb, out *fabric.Out) {
	cut := verb == fabric.LinkDown
	if p.cable.Down == cut {
		return
	}
	if cut {
		p.cable.Down = true
		note(now, p.id, 0, fabric.Event{Kind: fabric.WentDown}, out)
		s.detector.wait(now)
		s.detect(now, out)
	} else {
		p.cable.Mend(now)
		p.restore(now)
		note(now, p.id, 0, fabric.Event{Kind: fabric.WentUp}, out)
		p.setCut(false)
		p.xoff.pending = p.xoff.set
	}
	s.agenda.Set(int(p.id), p.due())
}

// clearPFC discards the PFC state of both ends of a link: the peer's pauses end. When
// the link comes up again, this end sends its PAUSE frames anew.
func (s *Switch) clearPFC(now unit.Time, p *port, out *fabric.Out) {
	p.pauses.set.each(func(class fabric.Priority) { s.endPause(now, p, class, out) })
	p.pauses.next = unit.Never
	p.xoff.pending, p.xoff.signalled = 0, 0
	p.xoff.set.each(func(class fabric.Priority) { p.xoff.schedule(class, unit.Never) })
}

// flush drops all frames queued at a port.
func (s *Switch) flush(now unit.Time, p *port, out *fabric.Out) {
	for class := range fabric.Priority(fabric.Priorities) {
		q := &p.queues[class]
		for q.count > 0 {
			e := q.front()
			in := incoming{frame: e.frame, length: e.length, at: e.from, class: class}
			if e.counted {
				s.converter.Left(now, fieldsOf(e.frame))
			}
			s.drop(now, in, p.id, fabric.DropLinkDown, out)
			q.pop()
			p.depth.pop(in.length)
			s.release(now, in.at, class, in.length, out)
			out.Drop(in.frame)
		}
		p.drr.leave(class)
		p.npecn[class] = npecn{}
	}
	p.waiting = 0
}

// Fate returns the outcome of the transfer of a frame that arrives at a port.
func (s *Switch) Fate(now unit.Time, at fabric.Port, f *frame.Frame) fabric.Fate {
	if uint(at) >= uint(len(s.ports)) {
		return fabric.Whole
	}
	return s.ports[at].cable.Fate(now, f)
}

// lose drops a frame that the link lost, cut off or damaged.
func (s *Switch) lose(now unit.Time, p *port, f *frame.Frame, fate fabric.Fate, out *fabric.Out) {
	p.cable.Count(fate)
	flow := fabric.NoFlow
	if class := f.Class(); class != frame.ClassPFC && class != frame.ClassRetry {
		flow = FlowOf(f)
	}
	out.Lost(fabric.Note{Event: fabric.NewDropped(f.Len(), fate.Reason()), At: now, Port: p.id, Flow: flow, Trace: f.Trace}, f)
}

// tune changes a setting of the link at a port, or of the classes in c.Classes. It
// reports whether the switch has the setting.
func (s *Switch) tune(c *fabric.Change) bool {
	switch c.Key {
	case fabric.KeyRTTIncrement:
		return s.setIncrement(unit.Time(c.Value))
	case fabric.KeyLoss, fabric.KeyCorrupt:
		return uint(c.Port) < uint(len(s.ports)) && s.ports[c.Port].cable.Flaws.Set(c.Key, c.Share)
	case fabric.KeyDetection:
		s.detector.after = unit.Time(c.Value)
		return true
	case fabric.KeyFlowletGap, fabric.KeyAdaptiveLevels, fabric.KeyAdaptiveStep:
		return s.balancer.Set(c.Key, c.Value)
	default:
	}
	routing := c.Key == fabric.KeyRouting && c.Value >= 0 && c.Value < int64(len(balance.Names))
	bound := c.Key == fabric.KeyQueueLimit || c.Key == fabric.KeyQueueLimitLastHop
	if (c.Key < fabric.KeyXOFF || c.Key > fabric.KeyPmax) && !routing && !bound {
		return false
	}
	classSet(c.Classes).each(func(class fabric.Priority) {
		k := &s.cfg.Classes[class]
		k.tune(c)
		if c.Key == fabric.KeyPmax && s.converter != nil && s.converter.classes&(1<<class) != 0 {
			s.converter.SetPMax(k.RED.Pmax)
		}
	})
	s.rebound()
	return true
}

// tune changes a setting of the class.
func (c *ClassConfig) tune(change *fabric.Change) {
	switch change.Key {
	case fabric.KeyXOFF:
		c.XOFF = unit.Bytes(change.Value)
	case fabric.KeyXON:
		c.XON = unit.Bytes(change.Value)
	case fabric.KeyAlphaShift:
		c.AlphaShift = int(change.Value)
		if change.Named {
			c.XOFF = 0
		}
	case fabric.KeyQuanta:
		c.Quanta = uint16(change.Value)
	case fabric.KeyKmin:
		c.RED.Kmin = unit.Bytes(change.Value)
	case fabric.KeyKmax:
		c.RED.Kmax = unit.Bytes(change.Value)
	case fabric.KeyPmax:
		c.RED.Pmax = change.Share
	case fabric.KeyRouting:
		c.Routing = balance.Choice(change.Value)
	case fabric.KeyQueueLimit:
		c.Queue.Limit = unit.Bytes(change.Value)
	case fabric.KeyQueueLimitLastHop:
		c.Queue.LastHop = unit.Bytes(change.Value)
	default:
	}
}

// setMarking sets the marking law of classes. It reports whether the law is valid for all
// of them. A congestion point of QCN restarts with the current queue length.
func (s *Switch) setMarking(law cc.Marking, classes uint8) bool {
	changed := s.cfg.Classes
	for i := range changed {
		if classes>>i&1 == 0 {
			continue
		}
		changed[i].Marking = law
		if changed[i].validate(i) != nil {
			return false
		}
	}
	s.cfg.Classes = changed
	s.marker.relaw()
	for i := range s.ports {
		for class := range changed {
			if classes>>class&1 != 0 {
				s.ports[i].qcn[class] = qcn{old: s.ports[i].queues[class].bytes, left: changed[class].QCN.SampleBase}
			}
		}
	}
	return true
}

// checkPauses pauses and resumes peers after a change of thresholds.
func (s *Switch) checkPauses(now unit.Time, out *fabric.Out) {
	for i := range s.ports {
		for class := range fabric.Priority(fabric.Priorities) {
			s.checkXOFF(now, &s.ports[i], class, out)
			s.checkXON(now, &s.ports[i], class, out)
		}
	}
}
