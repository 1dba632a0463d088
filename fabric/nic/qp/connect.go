package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Add adds this host's end of a connection. Its sender and receiver have the given indices.
// The responder is nil at the initiator.
func (e *Engine) Add(cfg ConnectionConfig, sender, receiver int) (s *Sender, r *Receiver, p *Responder, err error) {
	base := connection{
		ConnectionConfig: cfg, engine: e, place: len(e.ends), class: e.ClassIndex(cfg.Class), pool: &e.responses,
		cutter: e.cutter(cfg.Payload),
	}
	flow := fabric.Flow{ID: cfg.ID, From: cfg.From, To: cfg.To, Source: cfg.Source, DSCP: e.Classes[base.class].DSCP, Baseline: cfg.Baseline}
	back := flow
	back.From, back.To = flow.To, flow.From
	e.index.Add(cfg.ID, base.place)
	if cfg.From == e.Host {
		base.pool = &e.requests
		base.flow = e.queues.AddFlow(base.class, uint64(cfg.ID))
		c := newInitiator(base)
		e.ends, e.initiators = append(e.ends, c), append(e.initiators, c)
		e.timers.Grow(len(e.initiators))
		c.receiver.Init(e.Device, back, receiver, frame.ReceiverQP(uint32(cfg.ID)))
		c.receiver.ForResponses()
		return &c.sender, &c.receiver, nil, c.sender.connect(e.Device, flow, sender, &c.connection, frame.ReceiverQP(uint32(cfg.ID)))
	}
	p = newResponder(base)
	t := p.responses
	e.ends = append(e.ends, t)
	p.Receiver.Init(e.Device, flow, receiver, frame.SenderQP(uint32(cfg.ID)))
	p.access = remoteWrite | remoteRead | remoteAtomic | sends
	if cfg.Datagram {
		p.access = datagrams
		p.ForDatagrams()
		e.stats.Datagrams.On = true
	}
	return &t.sender, &p.Receiver, p, t.sender.connect(e.Device, back, sender, &t.connection, frame.SenderQP(uint32(cfg.ID)))
}

// connect makes s the sender of an end of a connection to the peer's queue pair.
func (s *Sender) connect(d *Device, flow fabric.Flow, index int, owner Owner, peer uint32) error {
	if err := s.Init(d, flow, index, owner); err != nil {
		return err
	}
	s.started, s.live.packet.BTH.DestQP = true, peer
	return nil
}

// Sender returns the sender of this host's end of a connection, and whether that is the
// initiator. It returns nil if there is no such connection.
func (e *Engine) Sender(id fabric.FlowID) (s *Sender, initiator bool) {
	k, ok := e.index.Find(id)
	if !ok {
		return nil, false
	}
	c := e.ends[k].core()
	return &c.sender, c.From == e.Host
}

// Receive passes a packet for the initiator of a connection to it. It returns false if this
// host has no such initiator. It discards packets from hosts other than the peer.
func (e *Engine) Receive(now unit.Time, id fabric.FlowID, f *frame.Frame, out *fabric.Out) bool {
	k, ok := e.index.Find(id)
	if !ok {
		return false
	}
	c, ok := e.ends[k].(*initiator)
	if ok && f.SrcIP() != c.sender.live.packet.Dst {
		e.Discard(now, f, out)
	} else if ok {
		c.receive(now, f, out)
	}
	return ok
}

// Next returns the instant of the next Tick, Never if there is none.
func (e *Engine) Next() unit.Time { return min(e.timers.Next(), e.queues.Due()) }

// Tick handles due retry timers and the host's schedule.
func (e *Engine) Tick(now unit.Time, out *fabric.Out) {
	for e.Next() <= now {
		if i, at := e.timers.First(); at <= e.queues.Due() {
			e.initiators[i].overdue(now, out)
		} else {
			e.postDue(now, out)
		}
	}
}
