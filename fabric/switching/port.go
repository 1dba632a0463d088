package switching

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/llr"
	"github.com/rackfab/rackfab/fabric/unit"
)

// port is the transmitter of one port with its egress queues and its PFC state in
// both directions.
type port struct {
	PortConfig
	id    fabric.Port
	cable fabric.Cable
	cut   bool     // the switch has detected that the link is down
	aside bool     // cut, or with retry: what few ports are, in one byte
	retry *llr.End // nil without link-layer retry
	// retryAt is when retry is due to transmit, Never without it. blocked has all classes while
	// it blocks the port, and none otherwise.
	retryAt unit.Time
	blocked classSet
	freeAt  unit.Time // end of the current transmission
	queues  [fabric.Priorities]queue
	// waiting is the set of classes with a non-empty queue.
	waiting classSet
	depth   depth // of all queues together
	drr     drr
	pauses  pauses
	xoff    xoff
	npecn   [fabric.Priorities]npecn
	qcn     [fabric.Priorities]qcn
	step    [fabric.Priorities]unit.Bytes // thresholds of the step law
	stats   [fabric.Priorities]ClassStats
	sampled counted // state at the last sample
}

func newPort(id fabric.Port, cfg *Config) port {
	p := port{
		PortConfig: cfg.Ports[id],
		id:         id,
		cable:      fabric.Cable{Rate: cfg.Ports[id].Rate, Delay: cfg.Ports[id].Delay, Overhead: cfg.Ports[id].Overhead, Flaws: cfg.Ports[id].Flaws},
		drr:        newDRR(&cfg.Weights, cfg.Ports[id].MTU),
		retryAt:    unit.Never,
		pauses:     newPauses(),
		xoff:       newXOFF(),
	}
	if p.Retry != nil {
		p.aside = true
		p.retry = llr.New(p.Retry, llr.Link{Rate: p.Rate, Delay: p.Delay, Overhead: p.Overhead, MTU: p.MTU}, id, cfg.MAC)
	}
	for class := range p.queues {
		p.queues[class] = newQueue(cfg.Arbitration, len(cfg.Ports))
		p.qcn[class].left = cfg.Classes[class].QCN.SampleBase
		p.step[class] = cfg.Classes[class].Step.at(p.Rate)
	}
	return p
}

// sendable returns the classes that have a frame and are not paused, none while link-layer
// retry blocks the port.
func (p *port) sendable() classSet {
	return p.waiting &^ (p.pauses.set | p.blocked)
}

// due returns the earliest instant at which the port has work, Never while its link
// is known to be down.
func (p *port) due() unit.Time {
	due := min(p.pauses.next, p.xoff.next)
	if p.xoff.pending|p.sendable() != 0 {
		due = min(due, p.freeAt)
	}
	if p.aside {
		return p.dueAside(due)
	}
	return due
}

// enqueue adds a frame to the queue of its class and returns its entry.
func (p *port) enqueue(now unit.Time, in incoming, out *fabric.Out) *entry {
	q := &p.queues[in.class]
	e := q.push(out.Keep(in.frame), in.length, in.at)
	p.depth.push(in.length)
	p.waiting |= 1 << in.class
	if fabric.Follows(in.frame.Trace) {
		out.Arrived(now, in.at, in.class, in.frame)
	}
	if out.Wants(in.frame.Trace) {
		noteFrame(now, p.id, in.class, fabric.NewEnqueued(in.length, q.bytes), in.frame, out)
	}
	return e
}

// note records an event of a port, or of one of its classes.
func note(now unit.Time, at fabric.Port, class fabric.Priority, e fabric.Event, out *fabric.Out) {
	out.Note(fabric.Note{Event: e, At: now, Port: at, Priority: class, Flow: fabric.NoFlow})
}

// noteFrame records an event of a frame, unless it is made for every frame and out does
// not want it. Where every frame passes, the caller asks first, which spares the call.
func noteFrame(now unit.Time, at fabric.Port, class fabric.Priority, e fabric.Event, f *frame.Frame, out *fabric.Out) {
	if !e.Kind.PerFrame() || out.Wants(f.Trace) {
		out.Note(fabric.Note{Event: e, At: now, Port: at, Priority: class, Flow: FlowOf(f), Trace: f.Trace})
	}
}

// occupy makes the port busy with length bytes from now on. It returns the instant
// at which the peer has received the last byte.
func (p *port) occupy(now unit.Time, length unit.Bytes) unit.Time {
	p.freeAt = now + p.Rate.Serialise(length+p.Overhead)
	return p.freeAt + p.Delay
}

// transmit starts the next transmission of an idle port, if there is one. PFC frames
// of the port come first, then what link-layer retry sends, then the frame that the scheduler
// picks.
func (s *Switch) transmit(now unit.Time, p *port, out *fabric.Out) {
	if p.aside && p.precedes(now, out) {
		return
	}
	if p.xoff.pending != 0 {
		s.sendPFC(now, p, out)
		return
	}
	ready := p.sendable()
	if ready == 0 {
		return
	}
	class := p.drr.pick(ready, &p.queues)
	q := &p.queues[class]
	e := q.pop()
	length, from, late, counted, arrived := e.length, e.from, e.late, e.counted, e.frame.Arrival
	f := e.frame
	out.Forward(p.id, f)
	p.depth.pop(length)
	if q.count == 0 {
		p.waiting &^= 1 << class
		p.drr.leave(class)
	}
	f.Arrival = p.occupy(now, length+s.telemetry(now, p, from, class, arrived, f))
	p.stats[class].SentFrames++
	p.stats[class].SentBytes += length
	if out.Wants(f.Trace) {
		noteFrame(now, p.id, class, fabric.NewDequeued(length, q.bytes), f, out)
	}
	if s.marker.decide(p, class, late) && !counted {
		p.mark(now, class, f, out)
	}
	if counted {
		s.converter.Left(now, fieldsOf(f))
	} else if s.converter != nil {
		s.rewrite(now, p, class, f, out)
	}
	if fabric.Follows(f.Trace) {
		out.Departed(now, p.id, class, arrived, f)
	}
	if s.marker.law[class] == lawQCNDeparture {
		s.judge(now, p, incoming{frame: f, length: length, at: from, class: class}, out)
	}
	if s.cfg.Indicate != nil {
		s.indicate(p, class, f)
	}
	if p.retry != nil {
		p.retry.Sent(now, f, f.Len(), out)
		p.settle()
	}
	s.release(now, from, class, length, out)
}

// release frees the buffer of a frame whose transmission has started, and resumes the
// peer at its ingress port if there is room again.
func (s *Switch) release(now unit.Time, from fabric.Port, class fabric.Priority, length unit.Bytes, out *fabric.Out) {
	s.buffer.release(from, class, length)
	s.checkXON(now, &s.ports[from], class, out)
}
