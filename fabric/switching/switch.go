package switching

import (
	"math/rand/v2"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/agenda"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Switch is a fabric.Machine. A frame takes this way through it:
//
//	Arrive -> class (DSCP) -> route (ECMP) -> admission (shared buffer)
//	       -> egress queue (port, class) -> transmitter -> Out
//
// A CNM has no DSCP: it has a class of its own, and goes by its destination
// address.
//
// A frame holds its place in the shared buffer, on the account of the port that
// it came in by, until its transmission starts. Both the release and the marking
// happen at that instant, as in the switch of the HPCC simulator. The converter
// counts a frame when it arrives.
type Switch struct {
	cfg       Config
	ports     []port
	buffer    buffer
	agenda    agenda.Agenda
	marker    marker
	jitter    rand.PCG    // of the intervals between the samples of QCN
	cnm       frame.Frame // the CNM that is being sent
	converter *converter  // nil unless a class is rewritten
	ecmp      ecmp
	sampler   sampler
	malformed uint64
}

var _ fabric.Machine = (*Switch)(nil)

// Streams of randomness that a switch draws from its one seed.
const (
	streamECMP = 1
	streamRED  = 2
	streamQCN  = 3
)

// New makes an idle switch. It fails if cfg.Validate does.
func New(cfg Config) (*Switch, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Switch{
		cfg:    cfg,
		ports:  make([]port, len(cfg.Ports)),
		agenda: agenda.New(len(cfg.Ports)),
		jitter: *rand.NewPCG(cfg.Seed, streamQCN),
		ecmp:   newECMP(cfg.Seed, cfg.Routes),

		sampler:   newSampler(cfg.Sampling),
		converter: newConverter(&cfg),
	}
	// The settings of the classes have one owner, s.cfg, which changes.
	s.buffer = newBuffer(&s.cfg)
	s.marker = newMarker(&s.cfg.Classes, *rand.NewPCG(cfg.Seed, streamRED))
	for i := range s.ports {
		s.ports[i] = newPort(fabric.Port(i), &cfg)
	}
	return s, nil
}

// Arrive takes a frame that has come in whole at port at. A PAUSE takes effect
// at once. A frame that finds its egress port idle and its class not paused is
// sent at once.
func (s *Switch) Arrive(now unit.Time, at fabric.Port, f *frame.Frame, out *fabric.Out) {
	if uint(at) >= uint(len(s.ports)) {
		s.discard(now, at, f, out)
		return
	}
	if fate := s.ports[at].cable.Fate(now, f.Len()); fate != fabric.Whole {
		s.lose(now, &s.ports[at], f, fate, out)
		return
	}
	switch f.Class() {
	case frame.ClassRoCE, frame.ClassUET:
		in := incoming{frame: f, at: at, class: s.cfg.DSCP[f.DSCP()&63], length: f.Len()}
		s.forward(now, in, f.DstIP().Host(), out)
	case frame.ClassCNM:
		in := incoming{frame: f, at: at, class: s.cfg.CNMClass, length: f.Len()}
		s.forward(now, in, f.DstMAC().Host(), out)
	case frame.ClassPFC:
		s.obey(now, &s.ports[at], f, out)
	default:
		s.discard(now, at, f, out)
	}
}

// incoming is a frame to be forwarded.
type incoming struct {
	frame  *frame.Frame
	length unit.Bytes
	at     fabric.Port // where it came in: its buffer is on that port's account
	class  fabric.Priority
}

// forward counts a frame to the host, and takes it on its way.
func (s *Switch) forward(now unit.Time, in incoming, host int, out *fabric.Out) {
	to, ok := s.ecmp.route(host, in.frame)
	if ok && in.length > s.ports[to].MTU {
		s.discard(now, in.at, in.frame, out)
		return
	}
	account := &s.ports[in.at].stats[in.class]
	account.ReceivedFrames++
	account.ReceivedBytes += in.length
	s.place(now, in, to, ok, out)
}

// place takes a frame to the queue of its egress port, or drops it. ok is false
// if it has none.
func (s *Switch) place(now unit.Time, in incoming, to fabric.Port, ok bool, out *fabric.Out) {
	reason := fabric.DropNoRoute
	if ok {
		reason = s.buffer.admit(in.at, in.class, in.length)
	}
	if reason != 0 {
		s.drop(now, in, reason, out)
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

// drop loses a frame that there is no room or no way for.
func (s *Switch) drop(now unit.Time, in incoming, reason fabric.DropReason, out *fabric.Out) {
	account := &s.ports[in.at].stats[in.class]
	account.DroppedFrames++
	account.DroppedBytes += in.length
	out.Lost(fabric.Note{
		Kind: fabric.Dropped, At: now, Port: in.at, Priority: in.class,
		A: int64(in.length), B: int64(reason), Flow: FlowOf(in.frame), Trace: in.frame.Trace,
	}, in.frame)
}

// discard loses a frame that no rule fits: unknown, cut short, larger than the
// MTU of its egress port, or at a port that the switch does not have.
func (s *Switch) discard(now unit.Time, at fabric.Port, f *frame.Frame, out *fabric.Out) {
	s.malformed++
	out.Note(fabric.Note{
		Kind: fabric.Malformed, At: now, Port: at,
		A: int64(f.Len()), Flow: fabric.NoFlow, Trace: f.Trace,
	})
}

// Tick does everything that has come due by now: the ends of pauses, refreshed
// PAUSE frames, and the next frame of each port that is free. Ports with the
// same instant come in the order of their numbers; a sample comes last.
func (s *Switch) Tick(now unit.Time, out *fabric.Out) {
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

// Next names the earliest instant at which a port has something to do, or a
// sample is due.
func (s *Switch) Next() (unit.Time, bool) {
	_, due := s.agenda.First()
	due = min(due, s.sampler.at)
	return due, due != unit.Never
}

// kick sends the next frame of a port that was idle until now. A port that has
// come due at this very instant is left to the tick, so that all the arrivals of
// the instant take part in the choice.
func (s *Switch) kick(now unit.Time, p *port, out *fabric.Out) {
	if p.freeAt <= now && s.agenda.At(int(p.id)) > now {
		s.transmit(now, p, out)
	}
	s.agenda.Set(int(p.id), p.due())
}

// FlowOf gives the flow of a RoCEv2 or UET frame, or of the frame that a CNM was
// sent for; NoFlow if it names none.
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
