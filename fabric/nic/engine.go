package nic

import (
	"fmt"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/agenda"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/command"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/unit"
)

// engine works off the commands of a NIC, and answers those of others.
//
//	host -> command queues -> flow queues -> units (MCU) -> shaper -> link
//	                            by hash       cut, count     passes over
//
// What was sent stays in the connection's source table until it is answered;
// requests without an answer come back through the retry state. Responses are
// sent by units of their own, over the same shaper.
type engine struct {
	EngineConfig
	index      qpIndex // by flow: into connections
	ends       []end
	ofSender   []int32 // by sender: into ends, -1 for a flow
	initiators []initiator
	targets    []target
	queues     []command.Queue[command.Command] // by class
	turn       int                              // of the initiator's scheduler
	appends    command.Queue[command.Target]
	flows      command.Flows
	triggered  command.Triggered
	units      []mcu
	pools      [2]pool
	shaper     *shaper.Shaper
	timers     agenda.Agenda // by initiator its retry timer, then the host's schedule
	schedule   []scheduled
	coming     []TargetConfig
	lists      lists
	memory     memory
	stirred    bool // something was freed that may let commands move on
	flowsLast  bool // a flow went last, not a command
	sampled    shaperSample
	stats      EngineStats
}

// end is one end of a connection: which of initiators or targets, and the halves
// that its data and its notifications go by.
type end struct {
	initiator bool
	index     int
}

// connection is what both ends of a connection keep.
type connection struct {
	ConnectionConfig
	class            int // index of its ShapingClass
	sender, receiver int // halves: index into NIC.senders and NIC.receivers
	unit             int // that serves it; -1 for none
	waiting          bool
	cutter           command.Cutter
}

// connect makes the halves of the connections and the engine, if there are any.
func (n *NIC) connect() error {
	if len(n.cfg.Connections) == 0 {
		return nil
	}
	n.engine = newEngine(&n.cfg)
	if err := n.addEnds(n.cfg.Connections); err != nil {
		return err
	}
	return n.loadSchedule()
}

// newEngine makes an engine without connections.
func newEngine(cfg *Config) *engine {
	e := &engine{
		EngineConfig: cfg.Engine,
		flows:        command.NewFlows(cfg.Engine.FlowQueues, cfg.Engine.FlowSlots),
		triggered:    command.NewTriggered(cfg.Engine.Counters, cfg.Engine.CommandSlots),
		appends:      command.NewQueue[command.Target](cfg.Engine.CommandSlots),
		shaper:       shaper.New(cfg.shaper()),
		units:        newUnits(cfg.Engine.Units, cfg.Engine.ResponseUnits),
		timers:       agenda.New(1),
	}
	for range e.Classes {
		e.queues = append(e.queues, command.NewQueue[command.Command](e.CommandSlots))
	}
	e.pools = newPools(e)
	e.sampled.out, e.sampled.in = e.shaper.Tokens(0)
	return e
}

// addEnds adds this host's ends of connections.
func (n *NIC) addEnds(list []ConnectionConfig) error {
	e := n.engine
	initiators := len(e.initiators)
	for _, c := range list {
		if err := n.addEnd(e, c); err != nil {
			return fmt.Errorf("connection %d: %w", c.ID, err)
		}
		e.index.add(c.ID, len(e.ends)-1)
	}
	e.grow(initiators)
	return nil
}

// grow makes room for initiators beyond the first so many, whose timers keep
// their instants, and for all ends to wait for a unit.
func (e *engine) grow(initiators int) {
	old := e.timers
	e.timers = agenda.New(len(e.initiators) + 1)
	for i := range initiators {
		e.timers.Set(i, old.At(i))
	}
	e.timers.Set(len(e.initiators), old.At(initiators))
	for i := range e.pools {
		waiting := newFIFO[int32](len(e.ends))
		for p := &e.pools[i]; p.waiting.count > 0; {
			waiting.push(p.waiting.pop())
		}
		e.pools[i].waiting = waiting
	}
}

// addEnd adds this host's end of a connection.
func (n *NIC) addEnd(e *engine, cfg ConnectionConfig) error {
	class := e.classOf(cfg.Class)
	mine := cfg.From == n.cfg.Host
	peer := cfg.From
	if mine {
		peer = cfg.To
	}
	dscp := e.Classes[class].DSCP
	s, err := n.newSender(FlowConfig{ID: cfg.ID, From: n.cfg.Host, To: peer, Size: 1, Source: cfg.Source, DSCP: dscp, Baseline: cfg.Baseline})
	if err != nil {
		return err
	}
	// A half has no message of its own: the engine builds its packets.
	s.packets, s.started = 0, true
	r := n.newReceiver(FlowConfig{ID: cfg.ID, From: peer, To: n.cfg.Host, Size: 1, Source: cfg.Source, DSCP: dscp, Baseline: cfg.Baseline})
	base := connection{
		ConnectionConfig: cfg, class: class, sender: len(n.senders), receiver: len(n.receivers), unit: -1,
		cutter: e.cutter(cfg.Payload),
	}
	if mine {
		r.qp = s.packet.BTH.DestQP
		e.ends = append(e.ends, end{true, len(e.initiators)})
		e.initiators = append(e.initiators, newInitiator(base, &e.EngineConfig))
	} else {
		s.packet.BTH.DestQP = r.qp
		e.ends = append(e.ends, end{false, len(e.targets)})
		e.targets = append(e.targets, target{connection: base, jobs: newTable[job](maxJobs), found: newTable[job](maxOutstanding + 1)})
	}
	for len(e.ofSender) < len(n.senders) {
		e.ofSender = append(e.ofSender, -1)
	}
	e.ofSender = append(e.ofSender, int32(len(e.ends)-1))
	n.senders, n.receivers = append(n.senders, s), append(n.receivers, r)
	return nil
}

// classOf gives the index of the shaping class, -1 if there is none.
func (e *EngineConfig) classOf(class fabric.Priority) int {
	for i := range e.Classes {
		if e.Classes[i].Class == class {
			return i
		}
	}
	return -1
}

// shaper gives the tree: per class a branch with a leaf for requests and one for
// responses.
func (c *Config) shaper() shaper.Config {
	e := &c.Engine
	s := shaper.Config{
		Units: e.Units + e.ResponseUnits, Out: e.Out, In: e.In,
		Pacing: e.Pacing, Gate: e.Gate, Policy: e.Policy, Outstanding: e.Outstanding,
		Quantum: max(c.longestPacket(), c.longestResponse()),
	}
	for i, k := range e.Classes {
		s.Branches = append(s.Branches, k.Branch)
		for _, l := range []shaper.Leaf{k.Requests, k.Responses} {
			l.Branch, l.Class = i, uint8(k.Class)
			s.Leaves = append(s.Leaves, l)
		}
	}
	return s
}

// exchange hands a packet to the end of a connection. One from another host than
// the peer, or for the other end, is discarded.
func (n *NIC) exchange(now unit.Time, k int, toInitiator bool, f *frame.Frame, out *fabric.Out) {
	e := n.engine
	peer := n.senders[e.connection(k).sender].packet.Dst
	switch {
	case f.DstIP() != frame.HostIP(n.cfg.Host) || f.SrcIP() != peer || toInitiator != e.ends[k].initiator:
		n.malformed(now, f, out)
	case toInitiator:
		n.returned(now, &e.initiators[e.ends[k].index], f, out)
	default:
		n.serve(now, &e.targets[e.ends[k].index], f, out)
	}
}

// engineTick handles the retry timers and the host's schedule.
func (n *NIC) engineTick(now unit.Time, out *fabric.Out) {
	e := n.engine
	for {
		entry, at := e.timers.First()
		switch {
		case at > now:
			return
		case entry < len(e.initiators):
			n.overdue(now, entry, out)
		default:
			n.postDue(now, out)
		}
	}
}
