package nic

import (
	"fmt"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/agenda"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/command"
	"github.com/rackfab/rackfab/fabric/nic/notify"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/ring"
	"github.com/rackfab/rackfab/fabric/unit"
)

// engine executes the commands of a NIC, and answers the requests of its peers.
//
//	host -> command queues -> flow queues -> units (MCU) -> shaper -> link
//	                            by hash       cut, count     passes over
//
// A sent request stays in the connection's source table until it is answered. Requests
// without an answer enter the retry state. Responses have their own units and share the
// shaper.
type engine struct {
	EngineConfig
	index      qpIndex // by flow: index into ends
	ends       []end
	ofSender   []int32 // by sender: index into ends, -1 for a flow
	initiators []initiator
	targets    []target
	queues     []command.Queue[command.Command] // by class
	turn       int                              // next queue of the initiator's scheduler
	appends    command.Queue[command.Target]
	flows      command.Flows
	triggered  command.Triggered
	units      []mcu
	pools      [2]pool
	shaper     *shaper.Shaper
	timers     agenda.Agenda // by initiator: its retry timer; last: the host's schedule
	schedule   []scheduled
	coming     []TargetConfig
	lists      lists
	memory     memory
	changed    bool // a queue or unit has changed, so that commands may advance
	flowsLast  bool // the latest packet was a flow's, not a command's
	sampled    shaperSample
	stats      EngineStats
}

// end is one end of a connection: an index into initiators or into targets.
type end struct {
	initiator bool
	index     int
}

// connection is the state common to both ends of a connection.
type connection struct {
	ConnectionConfig
	class            int // index of its ShapingClass
	sender, receiver int // halves: indices into NIC.senders and NIC.receivers
	unit             int // unit that serves it; -1 for none
	waiting          bool
	cutter           command.Cutter
}

// connect creates the engine and the halves of the connections, if there are any.
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

// newEngine returns an engine without connections.
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

// grow makes room for the timers of new initiators; initiators is the previous count. Existing timers keep their instants.
func (e *engine) grow(initiators int) {
	old := e.timers
	e.timers = agenda.New(len(e.initiators) + 1)
	for i := range initiators {
		e.timers.Set(i, old.At(i))
	}
	e.timers.Set(len(e.initiators), old.At(initiators))
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
	// A half has no messages: the engine builds its packets.
	s.packets, s.started = 0, true
	r := n.newReceiver(FlowConfig{ID: cfg.ID, From: peer, To: n.cfg.Host, Size: 1, Source: cfg.Source, DSCP: dscp, Baseline: cfg.Baseline})
	base := connection{
		ConnectionConfig: cfg, class: class, sender: len(n.senders), receiver: len(n.receivers), unit: -1,
		cutter: e.cutter(cfg.Payload),
	}
	if mine {
		r.qp = s.packet.BTH.DestQP
		r.notifyBy(r.mode, notify.ForResponses(r.mode, &n.cfg.CC, &n.cnpPort))
		e.ends = append(e.ends, end{true, len(e.initiators)})
		e.initiators = append(e.initiators, newInitiator(base, &e.EngineConfig))
	} else {
		s.packet.BTH.DestQP = r.qp
		e.ends = append(e.ends, end{false, len(e.targets)})
		e.targets = append(e.targets, target{connection: base, jobs: ring.WithLimit[job](maxJobs), found: ring.WithLimit[job](maxOutstanding + 1)})
	}
	for len(e.ofSender) < len(n.senders) {
		e.ofSender = append(e.ofSender, -1)
	}
	e.ofSender = append(e.ofSender, int32(len(e.ends)-1))
	n.senders, n.receivers = append(n.senders, s), append(n.receivers, r)
	return nil
}

// classOf returns the index of a shaping class, or -1 if there is none.
func (e *EngineConfig) classOf(class fabric.Priority) int {
	for i := range e.Classes {
		if e.Classes[i].Class == class {
			return i
		}
	}
	return -1
}

// shaper returns the configuration of the shaper's tree: per class a branch with a leaf
// for requests and one for responses.
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

// exchange passes a packet to the end of its connection. It discards packets from hosts
// other than the peer, and packets for the other end.
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

// engineTick handles due retry timers and the host's schedule.
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
