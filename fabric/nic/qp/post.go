package qp

import (
	"fmt"
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Load adds series of commands to the schedule of the host.
func (e *Engine) Load(posts []PostConfig, appends []TargetConfig) error {
	e.coming = append(e.coming, appends...)
	for _, p := range posts {
		if err := e.Check(&p.Command); err != nil {
			return fmt.Errorf("command %d: %w", p.ID, err)
		}
		e.schedule = append(e.schedule, scheduled{PostConfig: p})
	}
	e.planPosts()
	return nil
}

// AddWorks adds commands that the host posts from now on. It reports whether all of them are
// valid.
func (e *Engine) AddWorks(now unit.Time, works []fabric.Work) bool {
	e.schedule = slices.DeleteFunc(e.schedule, func(s scheduled) bool { return s.next == s.Count })
	fits := true
	for _, w := range works {
		p := PostConfig{At: now, Every: w.Every, Count: w.Count, Command: Command{
			Connection: w.Connection,
			Command:    work.Command{ID: w.ID, Verb: work.Verb(w.Verb), Size: w.Size, Counter: -1},
		}}
		if e.Check(&p.Command) != nil {
			fits = false
			continue
		}
		e.schedule = append(e.schedule, scheduled{PostConfig: p})
	}
	e.planPosts()
	return fits
}

// planPosts sets the instant of the next command of the host's schedule.
func (e *Engine) planPosts() {
	at := unit.Never
	for _, c := range e.coming {
		at = min(at, c.At)
	}
	for i := range e.schedule {
		s := &e.schedule[i]
		if e.queueOf(&s.Command).Free() > 0 {
			at = min(at, s.due())
		}
	}
	e.postAt = at
}

// postDue posts the commands due by now, those of the target first.
func (e *Engine) postDue(now unit.Time, out *fabric.Out) {
	e.coming = slices.DeleteFunc(e.coming, func(c TargetConfig) bool {
		for i := 0; c.At <= now && i < c.Count; i++ {
			e.PostTarget(now, work.Target{ID: c.ID + uint32(i), Verb: c.Verb}, out)
		}
		return c.At <= now
	})
	for i := range e.schedule {
		s := &e.schedule[i]
		for s.due() <= now && e.queueOf(&s.Command).Free() > 0 {
			c := s.Command
			c.ID += uint32(s.next)
			s.next++
			e.write(now, c, out)
			e.advance(now, out)
		}
	}
	e.planPosts()
}

// Check returns the fault of a command, or nil.
func (e *Engine) Check(c *Command) error {
	k := e.find(c.Connection)
	switch {
	case k < 0 || e.connection(k).From != e.Host:
		return fmt.Errorf("host is not the initiator of connection %d", c.Connection)
	case !c.Verb.Known():
		return fmt.Errorf("unknown verb %v", c.Verb)
	case e.connection(k).Datagram && (c.Verb != work.Send || c.Size < 1 || c.Size > e.connection(k).Payload):
		return fmt.Errorf("%v of %v on datagram connection %d, want %v of 1 byte to %v, one packet",
			c.Verb, c.Size, c.Connection, work.Send, e.connection(k).Payload)
	case c.Verb.Atomic() && c.Size != work.AtomicSize:
		return fmt.Errorf("size %v of an atomic, want %v", c.Size, work.AtomicSize)
	case c.Size < 1 || c.Size > work.MaxMessage:
		return fmt.Errorf("size %v, want 1 byte to %v", c.Size, work.MaxMessage)
	case int(c.Counter) >= e.Counters || c.After.Threshold > 0 && (c.After.Counter < 0 || int(c.After.Counter) >= e.Counters):
		return fmt.Errorf("counter %d and trigger counter %d, want less than %d", c.Counter, c.After.Counter, e.Counters)
	}
	return nil
}

// find returns the index of this host's end of a connection, or -1 if it has none.
func (e *Engine) find(id fabric.FlowID) int {
	if k, ok := e.index.Find(id); ok {
		return k
	}
	return -1
}

// queueOf returns the command queue of a valid command: that of its class.
func (e *Engine) queueOf(c *Command) *work.Queue[work.Command] {
	return &e.queues[e.connection(e.find(c.Connection)).class]
}

// write appends a command to its queue, which must have room.
func (e *Engine) write(now unit.Time, c Command, out *fabric.Out) {
	c.Flow = int32(e.find(c.Connection))
	c.Posted = now
	e.queueOf(&c).Put(c.Command)
	e.stats.Posted++
	e.changed = true
	out.Note(fabric.Note{
		Event: fabric.NewCommandPosted(c.ID, c.Size), At: now,
		Flow: c.Connection, Trace: Trace(c.Connection, int64(c.ID)),
	})
}

func (e *Engine) refuse(now unit.Time, kind fabric.Kind, connection fabric.FlowID, id uint32, out *fabric.Out) {
	if kind == fabric.CommandFailed {
		e.stats.Failed++
	}
	out.Note(fabric.Note{Event: fabric.NewCommandLost(kind, id), At: now, Flow: connection, Trace: Trace(connection, int64(id))})
}

// completed handles the completion of a command: a full event to the host, and a
// counting event that may trigger other commands.
func (c *initiator) completed(now unit.Time, done *work.Command, out *fabric.Out) {
	e := c.engine
	e.stats.Completed++
	e.triggered.Count(done.Counter)
	e.changed = true
	out.Note(fabric.Note{
		Event: fabric.NewCommandDone(done.ID, done.Posted), At: now,
		Flow: c.ID, Priority: c.Class, Trace: Trace(c.ID, int64(done.ID)),
	})
	if c.Datagram {
		e.Arrival, e.Cause = unit.Never, 0 // no packet completes it
	}
	e.Completed(now, c.ID, Trace(c.ID, int64(done.ID)), out)
}

// Advance moves commands from the command queues to the flow queues, or to the commands
// waiting for their trigger, as far as there is room.
func (e *Engine) Advance(now unit.Time, out *fabric.Out) {
	if e.changed {
		e.advance(now, out)
	}
}

func (e *Engine) advance(now unit.Time, out *fabric.Out) {
	for e.changed {
		e.changed = false
		for moved := true; moved; {
			moved = e.dispatchDue(now, out)
			for range e.queues {
				moved = e.fetch(now, &e.queues[e.turn], out) || moved
				e.turn = (e.turn + 1) % len(e.queues)
			}
		}
		e.planPosts()
	}
}

// fetch moves the next command of a command queue on and reports whether there was room.
func (e *Engine) fetch(now unit.Time, q *work.Queue[work.Command], out *fabric.Out) bool {
	if q.Len() == 0 {
		return false
	}
	c := q.Head()
	if !e.triggered.Met(c) {
		if !e.triggered.Arm(*c) {
			return false
		}
	} else if !e.dispatch(now, c, out) {
		return false
	}
	q.Take()
	return true
}

// dispatchDue dispatches a triggered command and reports whether it did.
func (e *Engine) dispatchDue(now unit.Time, out *fabric.Out) bool {
	due := e.triggered.Due()
	if due.Len() == 0 || !e.dispatch(now, due.Head(), out) {
		return false
	}
	due.Take()
	return true
}

// dispatch appends a command to the flow queue of its connection. It returns false if
// there is no room.
func (e *Engine) dispatch(now unit.Time, cmd *work.Command, out *fabric.Out) bool {
	c := e.ends[cmd.Flow].(*initiator)
	if c.failed {
		e.refuse(now, fabric.CommandFailed, c.ID, cmd.ID, out)
		return true
	}
	if c.queue < 0 {
		q, ok := e.flows.Assign(cmd.Flow, work.Hash(uint64(c.ID)))
		if !ok {
			return false
		}
		c.queue = q
	}
	if !e.flows.Queue(c.queue).Put(*cmd) {
		return false
	}
	c.backlog += cmd.Size
	e.assignUnit(c.place)
	e.offer(c.place)
	return true
}
