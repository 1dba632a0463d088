package nic

import (
	"fmt"
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/nic/command"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Command is a command and its connection.
type Command struct {
	Connection fabric.FlowID
	command.Command
}

// PostConfig is a series of commands that the application posts: Count commands with
// ascending IDs from ID on, the first at At, one each Every. If the command queue is full,
// the command is posted when there is room.
type PostConfig struct {
	Command
	At, Every unit.Time
	Count     int
}

// TargetConfig is a series of Count target commands that the application posts at At,
// with ascending IDs from ID on.
type TargetConfig struct {
	command.Target
	At    unit.Time
	Count int
}

// scheduled is a PostConfig in progress.
type scheduled struct {
	PostConfig
	next int // number of commands posted
}

func (s *scheduled) due() unit.Time {
	if s.next == s.Count {
		return unit.Never
	}
	return s.At + unit.Time(s.next)*s.Every
}

// loadSchedule loads the schedule of commands from the configuration.
func (n *NIC) loadSchedule() error {
	n.engine.coming = slices.Clone(n.cfg.Appends)
	for _, p := range n.cfg.Posts {
		if fault := n.fault(&p.Command); fault != "" {
			return fmt.Errorf("command %d: %s", p.ID, fault)
		}
		n.engine.schedule = append(n.engine.schedule, scheduled{PostConfig: p})
	}
	n.planPosts()
	return nil
}

// planPosts sets the timer of the host's schedule.
func (n *NIC) planPosts() {
	at := unit.Never
	for _, c := range n.engine.coming {
		at = min(at, c.At)
	}
	for i := range n.engine.schedule {
		s := &n.engine.schedule[i]
		if n.queueOf(&s.Command).Free() > 0 {
			at = min(at, s.due())
		}
	}
	n.engine.timers.Set(len(n.engine.initiators), at)
}

// postDue posts the commands due by now, those of the target first.
func (n *NIC) postDue(now unit.Time, out *fabric.Out) {
	n.engine.coming = slices.DeleteFunc(n.engine.coming, func(c TargetConfig) bool {
		for i := 0; c.At <= now && i < c.Count; i++ {
			n.PostTarget(now, command.Target{ID: c.ID + uint32(i), Verb: c.Verb}, out)
		}
		return c.At <= now
	})
	for i := range n.engine.schedule {
		s := &n.engine.schedule[i]
		for s.due() <= now && n.queueOf(&s.Command).Free() > 0 {
			c := s.Command
			c.ID += uint32(s.next)
			s.next++
			n.write(now, c, out)
			n.advance(now, out)
		}
	}
	n.planPosts()
}

// fault describes the fault of a command; it returns "" for a valid command.
func (n *NIC) fault(c *Command) string {
	e := n.engine
	k := e.find(c.Connection)
	switch {
	case k < 0 || !e.ends[k].initiator:
		return fmt.Sprintf("host is not the initiator of connection %d", c.Connection)
	case !c.Verb.Known():
		return fmt.Sprintf("unknown verb %v", c.Verb)
	case c.Verb.Atomic() && c.Size != command.AtomicSize:
		return fmt.Sprintf("size %v of an atomic, want %v", c.Size, command.AtomicSize)
	case c.Size < 1 || c.Size > maxMessage:
		return fmt.Sprintf("size %v, want 1 byte to %v", c.Size, maxMessage)
	case int(c.Counter) >= e.Counters || c.After.Threshold > 0 && (c.After.Counter < 0 || int(c.After.Counter) >= e.Counters):
		return fmt.Sprintf("counter %d and trigger counter %d, want less than %d", c.Counter, c.After.Counter, e.Counters)
	}
	return ""
}

// find returns the index of this host's end of a connection, or -1 if it has none.
func (e *engine) find(id fabric.FlowID) int {
	if k, ok := e.index.find(id); ok {
		return k
	}
	return -1
}

// isHalf reports whether the queue pair of an ID belongs to a connection.
func (n *NIC) isHalf(id fabric.FlowID) bool { return n.engine != nil && n.engine.find(id) >= 0 }

// queueOf returns the command queue of a valid command: that of its class.
func (n *NIC) queueOf(c *Command) *command.Queue[command.Command] {
	e := n.engine
	return &e.queues[e.connection(e.find(c.Connection)).class]
}

// write appends a command to its queue, which must have room.
func (n *NIC) write(now unit.Time, c Command, out *fabric.Out) {
	c.Flow = int32(n.engine.ends[n.engine.find(c.Connection)].index)
	c.Posted = now
	n.queueOf(&c).Put(c.Command)
	n.engine.stats.Posted++
	n.engine.changed = true
	out.Note(fabric.Note{
		Event: fabric.NewCommandPosted(c.ID, c.Size), At: now,
		Flow: c.Connection, Trace: trace(c.Connection, int64(c.ID)),
	})
}

func (n *NIC) refuse(now unit.Time, kind fabric.Kind, connection fabric.FlowID, id uint32, out *fabric.Out) {
	if n.engine != nil && kind == fabric.CommandFailed {
		n.engine.stats.Failed++
	}
	out.Note(fabric.Note{Event: fabric.NewCommandLost(kind, id), At: now, Flow: connection, Trace: trace(connection, int64(id))})
}

// completed handles the completion of a command: a full event to the host, and a
// counting event that may trigger other commands.
func (n *NIC) completed(now unit.Time, c *initiator, done *command.Command, out *fabric.Out) {
	e := n.engine
	e.stats.Completed++
	e.triggered.Count(done.Counter)
	e.changed = true
	out.Note(fabric.Note{
		Event: fabric.NewCommandDone(done.ID, done.Posted), At: now,
		Flow: c.ID, Priority: c.Class, Trace: trace(c.ID, int64(done.ID)),
	})
	n.done(now, c.ID, trace(c.ID, int64(done.ID)), out)
}

// advance moves commands from the command queues to the flow queues, or to the commands
// waiting for their trigger, as far as there is room.
func (n *NIC) advance(now unit.Time, out *fabric.Out) {
	e := n.engine
	for e.changed {
		e.changed = false
		for moved := true; moved; {
			moved = n.dispatchDue(now, out)
			for range e.queues {
				moved = n.fetch(now, &e.queues[e.turn], out) || moved
				e.turn = (e.turn + 1) % len(e.queues)
			}
		}
		n.planPosts()
	}
}

// fetch moves the next command of a command queue on and reports whether there was room.
func (n *NIC) fetch(now unit.Time, q *command.Queue[command.Command], out *fabric.Out) bool {
	if q.Len() == 0 {
		return false
	}
	c := q.Head()
	if !n.engine.triggered.Met(c) {
		if !n.engine.triggered.Arm(*c) {
			return false
		}
	} else if !n.dispatch(now, c, out) {
		return false
	}
	q.Take()
	return true
}

// dispatchDue dispatches a triggered command and reports whether it did.
func (n *NIC) dispatchDue(now unit.Time, out *fabric.Out) bool {
	due := n.engine.triggered.Due()
	if due.Len() == 0 || !n.dispatch(now, due.Head(), out) {
		return false
	}
	due.Take()
	return true
}

// dispatch appends a command to the flow queue of its connection. It returns false if
// there is no room.
func (n *NIC) dispatch(now unit.Time, cmd *command.Command, out *fabric.Out) bool {
	e := n.engine
	c := &e.initiators[cmd.Flow]
	if c.failed {
		n.refuse(now, fabric.CommandFailed, c.ID, cmd.ID, out)
		return true
	}
	if c.queue < 0 {
		q, ok := e.flows.Assign(cmd.Flow, command.Hash(uint64(c.ID)))
		if !ok {
			return false
		}
		c.queue = q
	}
	if !e.flows.Queue(c.queue).Put(*cmd) {
		return false
	}
	c.backlog += cmd.Size
	k := e.find(c.ID)
	e.assignUnit(k)
	n.offer(k)
	return true
}
