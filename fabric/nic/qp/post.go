package qp

import (
	"fmt"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// PostConfig is a series of commands that the application posts on a connection.
type PostConfig struct {
	Connection fabric.FlowID
	work.Series
}

// Post adds a series of commands to the schedule of the host.
func (e *Engine) Post(p PostConfig) error {
	k, ok := e.index.Find(p.Connection)
	if !ok || e.connection(k).From != e.Host {
		return fmt.Errorf("command %d: host is not the initiator of connection %d", p.ID, p.Connection)
	}
	if err := e.check(e.connection(k), &p.Command); err != nil {
		return fmt.Errorf("command %d: %w", p.ID, err)
	}
	p.Flow = e.connection(k).flow
	e.queues.Post(p.Series)
	return nil
}

// check returns the fault of a command of a connection, or nil.
func (e *Engine) check(k *connection, c *work.Command) error {
	switch {
	case !c.Verb.Known():
		return fmt.Errorf("unknown verb %v", c.Verb)
	case k.Datagram && (c.Verb != work.Send || c.Size < 1 || c.Size > k.Payload):
		return fmt.Errorf("%v of %v on datagram connection %d, want %v of 1 byte to %v, one packet",
			c.Verb, c.Size, k.ID, work.Send, k.Payload)
	case c.Verb.Atomic() && c.Size != work.AtomicSize:
		return fmt.Errorf("size %v of an atomic, want %v", c.Size, work.AtomicSize)
	case c.Size < 1 || c.Size > work.MaxMessage:
		return fmt.Errorf("size %v, want 1 byte to %v", c.Size, work.MaxMessage)
	case int(c.Counter) >= e.Counters || c.After.Threshold > 0 && (c.After.Counter < 0 || int(c.After.Counter) >= e.Counters):
		return fmt.Errorf("counter %d and trigger counter %d, want less than %d", c.Counter, c.After.Counter, e.Counters)
	}
	return nil
}

// PostTarget adds a series of commands of the target to the schedule of the host.
func (e *Engine) PostTarget(s work.TargetSeries) { e.queues.PostTarget(s) }

// postDue writes the commands that are due by now, those of the target first.
func (e *Engine) postDue(now unit.Time, out *fabric.Out) {
	e.queues.WriteTargets(now, func(s work.Searched) {
		if s.Refused {
			e.refuse(now, fabric.CommandRefused, fabric.NoFlow, s.ID, out)
			return
		}
		out.Note(fabric.Note{Event: fabric.NewListSearched(s.ID, s.Found), At: now, Flow: fabric.NoFlow})
	})
	e.queues.Write(now, func(c work.Command) {
		e.stats.Posted++
		id := e.initiators[c.Flow].ID
		out.Note(fabric.Note{Event: fabric.NewCommandPosted(c.ID, c.Size), At: now, Flow: id, Trace: Trace(id, int64(c.ID))})
		e.Advance(now, out)
	})
}

// Advance moves commands to the queues of their connections, as far as there is room.
func (e *Engine) Advance(now unit.Time, out *fabric.Out) {
	if e.queues.Changed() {
		e.advance(now, out)
	}
}

func (e *Engine) advance(now unit.Time, out *fabric.Out) {
	e.queues.Advance(func(cmd work.Command, ok bool) {
		c := e.initiators[cmd.Flow]
		if !ok {
			e.refuse(now, fabric.CommandFailed, c.ID, cmd.ID, out)
			return
		}
		c.backlog += cmd.Size
		e.assignUnit(c.place)
		e.offer(c.place)
	})
}

// refuse notes that a command was refused or has failed.
func (e *Engine) refuse(now unit.Time, kind fabric.Kind, connection fabric.FlowID, id uint32, out *fabric.Out) {
	if kind == fabric.CommandFailed {
		e.stats.Failed++
	}
	out.Note(fabric.Note{Event: fabric.NewCommandLost(kind, id), At: now, Flow: connection, Trace: Trace(connection, int64(id))})
}
