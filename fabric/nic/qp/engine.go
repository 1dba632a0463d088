package qp

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/agenda"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Engine executes the commands of a NIC, and answers the requests of its peers.
//
//	host -> command queues -> flow queues -> units (MCU) -> shaper -> link
//	                            by hash       cut, count     passes over
//
// A sent request stays in the connection's source table until it is answered. Requests
// without an answer enter the retry state. Responses have their own units and share the
// shaper.
type Engine struct {
	*Device
	EngineConfig
	index      Index // by flow: index into ends
	ends       []end
	initiators []*initiator
	queues     []work.Queue[work.Command] // by class
	turn       int                        // next queue of the initiator's scheduler
	appends    work.Queue[work.Target]
	flows      work.Flows
	triggered  work.Triggered
	units      []mcu
	pools      [2]pool
	shaper     *shaper.Shaper
	timers     agenda.Agenda // by initiator: its retry timer
	schedule   []scheduled
	coming     []TargetConfig
	postAt     unit.Time // when the host posts the next command
	lists      lists
	memory     memory
	changed    bool // a queue or unit has changed, so that commands may advance
	sampled    shaperSample
	stats      EngineStats
}

// end is one end of a connection: an initiator or a target.
type end interface {
	// core returns the state common to both ends.
	core() *connection
	// receive handles a packet from the other end.
	receive(now unit.Time, f *frame.Frame, out *fabric.Out)
	// offer offers the next packet to the shaper. It reports whether the end is idle.
	offer() (idle bool)
	// head returns the trace ID of the command whose request is next, 0 for a target.
	head() uint64
	// send writes the next packet into f. It returns the arrival of the packet that it
	// answers, Never if it answers none.
	send(now unit.Time, f *frame.Frame, out *fabric.Out) (in unit.Time)
	// release frees what an idle end holds.
	release()
}

// connection is the state common to both ends of a connection.
type connection struct {
	ConnectionConfig
	engine  *Engine
	place   int    // in Engine.ends
	class   int    // index of its ShapingClass
	sender  Sender // of requests or responses
	unit    int    // unit that serves it; -1 for none
	waiting bool
	cutter  work.Cutter
}

func (c *connection) core() *connection { return c }

// Offer renews the offer of the end, if a unit serves it.
func (c *connection) Offer() {
	if c.unit >= 0 {
		c.engine.offer(c.place)
	}
}

// NewEngine returns an engine without connections. tree configures its shaper.
func NewEngine(d *Device, cfg EngineConfig, tree shaper.Config) *Engine {
	e := &Engine{
		Device:       d,
		EngineConfig: cfg,
		flows:        work.NewFlows(cfg.FlowQueues, cfg.FlowSlots),
		triggered:    work.NewTriggered(cfg.Counters, cfg.CommandSlots),
		appends:      work.NewQueue[work.Target](cfg.CommandSlots),
		shaper:       shaper.New(tree),
		units:        newUnits(cfg.Units, cfg.ResponseUnits),
		timers:       agenda.New(0),
		postAt:       unit.Never,
	}
	for range e.Classes {
		e.queues = append(e.queues, work.NewQueue[work.Command](e.CommandSlots))
	}
	e.pools = newPools(e)
	e.sampled.out, e.sampled.in = e.shaper.Tokens(0)
	return e
}

// Ready reports whether the engine has units, so that it can serve connections.
func (e *Engine) Ready() bool { return len(e.units) > 0 }

// Add adds this host's end of a connection. Its sender and receiver have the given indices.
func (e *Engine) Add(cfg ConnectionConfig, sender, receiver int) (*Sender, *Receiver, error) {
	base := connection{
		ConnectionConfig: cfg, engine: e, place: len(e.ends), class: e.ClassIndex(cfg.Class), unit: -1,
		cutter: e.cutter(cfg.Payload),
	}
	flow := fabric.Flow{ID: cfg.ID, From: cfg.From, To: cfg.To, Source: cfg.Source, DSCP: e.Classes[base.class].DSCP, Baseline: cfg.Baseline}
	back := flow
	back.From, back.To = flow.To, flow.From
	e.index.Add(cfg.ID, base.place)
	if cfg.From == e.Host {
		c := newInitiator(base)
		e.ends, e.initiators = append(e.ends, c), append(e.initiators, c)
		e.timers.Grow(len(e.initiators))
		c.receiver.Init(e.Device, back, receiver, frame.ReceiverQP(uint32(cfg.ID)))
		c.receiver.ForResponses()
		return &c.sender, &c.receiver, c.sender.open(e.Device, flow, sender, &c.connection, frame.ReceiverQP(uint32(cfg.ID)))
	}
	t := newTarget(base)
	e.ends = append(e.ends, t)
	t.responder.Receiver.Init(e.Device, flow, receiver, frame.SenderQP(uint32(cfg.ID)))
	return &t.sender, &t.responder.Receiver, t.sender.open(e.Device, back, sender, &t.connection, frame.SenderQP(uint32(cfg.ID)))
}

// open makes s the sender of an end of a connection to the peer's queue pair.
func (s *Sender) open(d *Device, flow fabric.Flow, index int, owner Owner, peer uint32) error {
	if err := s.Init(d, flow, index, owner); err != nil {
		return err
	}
	s.started, s.live.packet.BTH.DestQP = true, peer
	return nil
}

// ClassIndex returns the index of a shaping class, or -1 if there is none.
func (e *EngineConfig) ClassIndex(class fabric.Priority) int {
	for i := range e.Classes {
		if e.Classes[i].Class == class {
			return i
		}
	}
	return -1
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

// Receive passes a packet to the end of its connection. It returns false if this host has
// none. It discards packets from hosts other than the peer, and packets for the other end.
func (e *Engine) Receive(now unit.Time, id fabric.FlowID, toInitiator bool, f *frame.Frame, out *fabric.Out) bool {
	k, ok := e.index.Find(id)
	if !ok {
		return false
	}
	c := e.ends[k].core()
	if f.DstIP() != frame.HostIP(e.Host) || f.SrcIP() != c.sender.live.packet.Dst || toInitiator != (c.From == e.Host) {
		e.Discard(now, f, out)
	} else {
		e.ends[k].receive(now, f, out)
	}
	return true
}

// Next returns the instant of the next Tick, Never if there is none.
func (e *Engine) Next() unit.Time { return min(e.timers.Next(), e.postAt) }

// Tick handles due retry timers and the host's schedule.
func (e *Engine) Tick(now unit.Time, out *fabric.Out) {
	for e.Next() <= now {
		if i, at := e.timers.First(); at <= e.postAt {
			e.initiators[i].overdue(now, out)
		} else {
			e.postDue(now, out)
		}
	}
}
