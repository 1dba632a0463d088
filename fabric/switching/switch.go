package switching

import (
	"math/rand/v2"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Switch is a fabric.Machine. A frame takes this way through it:
//
//	Arrive -> class (DSCP) -> route (ECMP) -> admission (shared buffer)
//	       -> egress queue (port, class) -> transmitter -> Out
//
// A frame holds its place in the shared buffer, on the account of the port that
// it came in by, until its transmission starts. Both the release and the marking
// happen at that instant, as in the switch of the HPCC simulator.
type Switch struct {
	cfg       Config
	ports     []port
	buffer    buffer
	agenda    tournament[unit.Time] // when each port has something to do
	marker    marker
	converter *converter // nil unless a class is rewritten
	ecmp      ecmp
	sampler   sampler
	malformed uint64
}

var _ fabric.Machine = (*Switch)(nil)

// Streams of randomness that a switch draws from its one seed.
const (
	streamECMP = 1
	streamRED  = 2
)

// New makes an idle switch. It fails if cfg.Validate does.
func New(cfg Config) (*Switch, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Switch{
		cfg:    cfg,
		ports:  make([]port, len(cfg.Ports)),
		buffer: newBuffer(&cfg),
		agenda: newTournament[unit.Time](len(cfg.Ports)),
		marker: newMarker(&cfg.Classes, *rand.NewPCG(cfg.Seed, streamRED)),
		ecmp:   newECMP(cfg.Seed, cfg.Routes),

		sampler:   newSampler(cfg.Sampling),
		converter: newConverter(&cfg),
	}
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
	switch f.Class() {
	case frame.ClassRoCE, frame.ClassUET:
		s.forward(now, at, f, out)
	case frame.ClassPFC:
		s.obey(now, &s.ports[at], f, out)
	default:
		s.discard(now, at, f, out)
	}
}

// forward takes a RoCEv2 frame to the queue of its egress port, or drops it.
func (s *Switch) forward(now unit.Time, at fabric.Port, f *frame.Frame, out *fabric.Out) {
	class := s.cfg.DSCP[f.DSCP()&63]
	length := f.Len()
	account := &s.ports[at].stats[class]
	to, ok := s.ecmp.route(f)
	if ok && length > s.ports[to].MTU {
		s.discard(now, at, f, out)
		return
	}
	account.ReceivedFrames++
	account.ReceivedBytes += length
	reason := fabric.DropNoRoute
	if ok {
		reason = s.buffer.admit(at, class, length)
	}
	if reason != 0 {
		account.DroppedFrames++
		account.DroppedBytes += length
		out.Note(fabric.Note{
			Kind: fabric.Dropped, At: now, Port: at, Priority: class,
			A: int64(length), B: int64(reason), Flow: flowOf(f), Trace: f.Trace,
		})
	} else {
		p := &s.ports[to]
		p.enqueue(now, at, class, length, f, out)
		if s.sampler.at == unit.Never {
			s.sampler.at = s.sampler.After(now)
		}
		s.kick(now, p, out)
	}
	s.checkXOFF(now, &s.ports[at], class, out)
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
		i, due := s.agenda.first()
		if due > now {
			break
		}
		p := &s.ports[i]
		s.endPauses(now, p, out)
		s.refresh(now, p)
		if p.freeAt <= now {
			s.transmit(now, p, out)
		}
		s.agenda.set(i, p.due())
	}
	if s.sampler.at <= now {
		s.sample(now, out)
	}
}

// Next names the earliest instant at which a port has something to do, or a
// sample is due.
func (s *Switch) Next() (unit.Time, bool) {
	_, due := s.agenda.first()
	due = min(due, s.sampler.at)
	return due, due != unit.Never
}

// kick sends the next frame of a port that was idle until now. A port that has
// come due at this very instant is left to the tick, so that all the arrivals of
// the instant take part in the choice.
func (s *Switch) kick(now unit.Time, p *port, out *fabric.Out) {
	if p.freeAt <= now && s.agenda.key[p.id] > now {
		s.transmit(now, p, out)
	}
	s.agenda.set(int(p.id), p.due())
}

// flowOf gives the flow of a RoCEv2 or UET frame, NoFlow if it names none.
func flowOf(f *frame.Frame) fabric.FlowID {
	if f.Class() == frame.ClassUET {
		if flow, ok := f.UETFlow(); ok {
			return fabric.FlowID(flow)
		}
		return fabric.NoFlow
	}
	if flow, _, ok := frame.FlowOfQP(f.DestQP()); ok {
		return fabric.FlowID(flow)
	}
	return fabric.NoFlow
}
