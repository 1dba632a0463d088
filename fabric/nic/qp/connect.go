package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// connectionEnd is this host's end of a connection. Either it has a requester and the receiver of
// the responses, or a responder and the sender of the responses; the other two are parts of it.
type connectionEnd struct {
	sender    *Sender
	receiver  *Receiver
	requester *Requester // nil at the target
	responder *Responder // nil at the initiator
}

// add adds this host's end of a connection. Its sender and receiver have the given indices.
func (e *Engine) add(cfg ConnectionConfig, sender, receiver int) (connectionEnd, error) {
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
		c.responses.Init(e.Device, back, receiver, frame.ReceiverQP(uint32(cfg.ID)))
		c.responses.ForResponses()
		err := c.requester.init(e.Device, flow, sender)
		if err == nil {
			c.sender.started = true
			c.sender.live.packet.DETH = frame.DETH{QKey: QKey, SourceQP: frame.SenderQP(uint32(cfg.ID))}
		}
		return connectionEnd{c.sender, &c.responses, &c.requester, nil}, err
	}
	p := newResponder(base)
	t := p.responses
	e.ends = append(e.ends, t)
	p.Receiver.Init(e.Device, flow, receiver, frame.SenderQP(uint32(cfg.ID)))
	p.access = remoteWrite | remoteRead | remoteAtomic | sends
	if cfg.Datagram {
		p.access = datagrams
		p.ForDatagrams()
		e.stats.Datagrams.On = true
	}
	err := t.sender.Init(e.Device, back, sender, &t.connection)
	if err == nil {
		t.sender.started, t.sender.live.packet.BTH.DestQP = true, frame.SenderQP(uint32(cfg.ID))
	}
	return connectionEnd{t.sender, &p.Receiver, nil, p}, err
}

// Next returns the instant of the next Tick, Never if there is none.
func (e *Engine) Next() unit.Time { return e.queues.Due() }

// Tick handles the host's schedule.
func (e *Engine) Tick(now unit.Time, out *fabric.Out) {
	for e.Next() <= now {
		e.postDue(now, out)
	}
}
