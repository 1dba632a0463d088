package switching

import (
	"math/rand/v2"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/agenda"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/splitmix"
	"github.com/rackfab/rackfab/fabric/switching/balance"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Switch is a fabric.Machine. The path of a frame through it:
//
//	Arrive -> class (DSCP) -> route (choice among equal ports)
//	       -> admission (shared buffer, bound of the queue)
//	       -> egress queue (port, class) -> transmitter -> Out
//
// A lossy class may trim frames that are not admitted: they join the queue of another class.
//
// A CNM has no DSCP. It has a class of its own and is routed by its destination MAC
// address.
//
// A frame occupies the shared buffer, charged to its ingress port, until its
// transmission starts. The buffer is released and the frame marked at that instant,
// as in the switch of the HPCC simulator. The converter counts a frame on arrival.
type Switch struct {
	cfg       Config
	ports     []port
	buffer    buffer
	agenda    agenda.Agenda
	marker    marker
	bounded   classSet    // classes whose egress queues have a bound, or trim
	coin      rand.PCG    // for the trim policy of htsim
	jitter    rand.PCG    // for the sampling intervals of QCN
	cnm       frame.Frame // scratch frame for CNMs
	trimmed   frame.Frame // scratch frame for trimmed ones
	converter *converter  // nil if no class is rewritten
	ecmp      ecmp
	balancer  balance.Balancer
	detector  detector
	sampler   sampler
	malformed uint64
}

var _ fabric.Machine = (*Switch)(nil)

// Random streams derived from the one seed of a switch.
const (
	streamECMP = 1
	streamRED  = 2
	streamQCN  = 3
	// streamBalance seeds the balancer.
	streamBalance = 4
	streamTrim    = 5
)

// New returns an idle switch. It fails if cfg.Validate does.
func New(cfg Config) (*Switch, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Switch{
		cfg:    cfg,
		ports:  make([]port, len(cfg.Ports)),
		agenda: agenda.New(len(cfg.Ports)),
		jitter: *rand.NewPCG(cfg.Seed, streamQCN),
		coin:   *rand.NewPCG(cfg.Seed, streamTrim),
		ecmp:   newECMP(cfg.Seed, cfg.Routes),

		balancer: balance.New(cfg.Balance, splitmix.Mix(cfg.Seed+streamBalance)),

		sampler:   newSampler(cfg.Sampling),
		converter: newConverter(&cfg),
		detector:  detector{after: cfg.Detection, due: unit.Never},
	}
	s.cfg.Routes = nil // ecmp has them
	// s.cfg owns the settings of the classes and changes with Control.
	s.buffer = newBuffer(&s.cfg)
	s.rebound()
	s.marker = newMarker(&s.cfg.Classes, *rand.NewPCG(cfg.Seed, streamRED))
	for i := range s.ports {
		s.ports[i] = newPort(fabric.Port(i), &cfg)
	}
	return s, nil
}

// Arrive handles a frame that was received whole at port at. A PAUSE takes effect at
// once. A frame is sent at once if its egress port is idle and its class is not
// paused.
func (s *Switch) Arrive(now unit.Time, at fabric.Port, f *frame.Frame, out *fabric.Out) {
	if uint(at) >= uint(len(s.ports)) {
		s.discard(now, at, f, out)
		return
	}
	if p := &s.ports[at]; (p.retry != nil || !p.cable.Clear()) && !s.received(now, p, f, out) {
		return
	}
	class := f.Class()
	in := incoming{frame: f, at: at, length: f.LenOf(class)}
	switch class {
	case frame.ClassRoCE, frame.ClassUET:
		in.class = s.cfg.DSCP[f.DSCP()&63]
		s.forward(now, in, f.DstIP().Host(), out)
	case frame.ClassCNM:
		in.class = s.cfg.CNMClass
		s.forward(now, in, f.DstMAC().Host(), out)
	case frame.ClassPFC:
		s.obey(now, &s.ports[at], f, out)
	default:
		s.discard(now, at, f, out)
	}
}

// received reports whether the switch handles a frame from a link with retry, or with faults.
func (s *Switch) received(now unit.Time, p *port, f *frame.Frame, out *fabric.Out) bool {
	fate := p.cable.Fate(now, f)
	if p.retry != nil && !s.retried(now, p, f, fate, out) {
		return false
	}
	if fate != fabric.Whole {
		s.lose(now, p, f, fate, out)
	}
	return fate == fabric.Whole
}

// incoming is a frame to be forwarded.
type incoming struct {
	frame  *frame.Frame
	length unit.Bytes
	at     fabric.Port // ingress port, which its buffer is charged to
	class  fabric.Priority
}

// forward counts a frame to the host and routes it.
func (s *Switch) forward(now unit.Time, in incoming, host int, out *fabric.Out) {
	to, set := s.ecmp.lookUp(host)
	if set != 0 {
		to = s.choose(now, in, set)
	}
	ok := to >= 0
	if ok && in.length > s.ports[to].MTU {
		s.discard(now, in.at, in.frame, out)
		return
	}
	account := &s.ports[in.at].stats[in.class]
	account.ReceivedFrames++
	account.ReceivedBytes += in.length
	s.place(now, in, to, ok, out)
}

// place adds a frame to the queue of egress port to, or drops it. ok is false if
// there is no route.
func (s *Switch) place(now unit.Time, in incoming, to fabric.Port, ok bool, out *fabric.Out) {
	reason := fabric.DropNoRoute
	if ok && s.bounded != 0 && s.bounded&(1<<in.class) != 0 {
		if reason = s.admit(in, to); reason != 0 {
			if reason = s.overflow(now, in, to, reason, out); reason == 0 {
				return
			}
		}
	} else if ok {
		reason = s.buffer.admit(in.at, in.class, in.length)
	}
	if reason != 0 {
		s.drop(now, in, to, reason, out)
	} else {
		p := &s.ports[to]
		e := p.enqueue(now, in, out)
		if s.converter != nil {
			s.count(now, p, in.class, e, out)
		}
		if s.sampler.at == unit.Never {
			s.sampler.at = s.sampler.After(now)
		}
		if s.marker.law[in.class] == lawQCN {
			s.judge(now, p, in, out)
		}
		s.kick(now, p, out)
	}
	s.checkXOFF(now, &s.ports[in.at], in.class, out)
}

// drop drops a frame without buffer, without room in the queue of egress port to, or without route.
func (s *Switch) drop(now unit.Time, in incoming, to fabric.Port, reason fabric.DropReason, out *fabric.Out) {
	event := fabric.NewDropped(in.length, reason)
	if reason == fabric.DropQueue || reason == fabric.DropTrimmed {
		event = fabric.NewDroppedFor(in.length, reason, to)
	}
	account := &s.ports[in.at].stats[in.class]
	account.DroppedFrames++
	account.DroppedBytes += in.length
	out.Lost(fabric.Note{
		Event: event, At: now,
		Port: in.at, Priority: in.class, Flow: FlowOf(in.frame), Trace: in.frame.Trace,
	}, in.frame)
}

// discard drops an invalid frame: unknown, truncated, larger than the MTU of its
// egress port, or at a port that the switch does not have.
func (s *Switch) discard(now unit.Time, at fabric.Port, f *frame.Frame, out *fabric.Out) {
	s.malformed++
	out.Note(fabric.Note{Event: fabric.NewMalformed(f.Len()), At: now, Port: at, Flow: fabric.NoFlow, Trace: f.Trace})
}

// Tick handles everything due by now: detected links, pause expiries, PAUSE refreshes, and the next
// frame of each idle port. Ports due at the same instant run in the order of their
// numbers. The sample comes last.
func (s *Switch) Tick(now unit.Time, out *fabric.Out) {
	if s.detector.due <= now { // rarely; spares the call
		s.detect(now, out)
	}
	for {
		i, due := s.agenda.First()
		if due > now {
			break
		}
		p := &s.ports[i]
		s.endPauses(now, p, out)
		s.refresh(now, p)
		if p.freeAt <= now {
			s.transmit(now, p, out)
		}
		s.agenda.Set(i, p.due())
	}
	if s.sampler.at <= now {
		s.sample(now, out)
	}
}

// Next returns the earliest instant at which a port has work, or a sample or a detection is due.
func (s *Switch) Next() (unit.Time, bool) {
	_, due := s.agenda.First()
	due = min(due, s.sampler.at, s.detector.due)
	return due, due != unit.Never
}

// kick starts the next transmission of a port that was already idle. A port that
// becomes idle at this very instant is left to the tick, so that all arrivals of the
// instant compete.
func (s *Switch) kick(now unit.Time, p *port, out *fabric.Out) {
	if p.freeAt <= now && s.agenda.At(int(p.id)) > now {
		s.transmit(now, p, out)
	}
	s.agenda.Set(int(p.id), p.due())
}

// FlowOf returns the flow of a RoCEv2 or UET frame, or the flow that a CNM was sent
// for. It returns NoFlow if the frame names none.
func FlowOf(f *frame.Frame) fabric.FlowID {
	qp := f.DestQP()
	switch f.Class() {
	case frame.ClassUET:
		if flow, ok := f.UETFlow(); ok {
			return fabric.FlowID(flow)
		}
		return fabric.NoFlow
	case frame.ClassCNM:
		qp, _ = f.SampledQP()
	default: // RoCEv2
	}
	if flow, _, ok := frame.FlowOfQP(qp); ok {
		return fabric.FlowID(flow)
	}
	return fabric.NoFlow
}
