package work

import (
	"slices"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Queues is the way of commands from the host to the units that execute them:
//
//	schedule -> command queues -> [trigger] -> flow queues -> Take
//	            by class                       by hash
//
// A command waits until there is room for it, and fails with its flow. Commands of the target
// go from the schedule to Lists.
type Queues struct {
	Lists

	schedule  schedule
	commands  []Queue[Command] // by class
	triggered triggered
	flows     flows
	due       unit.Time // when the host posts next
	changed   bool      // commands may advance
}

// Sizes are the sizes of Queues.
type Sizes struct {
	Classes      int // number of command queues of the initiator
	CommandSlots int // capacity of each command queue
	FlowQueues   int
	FlowSlots    int // capacity of each flow queue
	Counters     int // number of counters of completed commands
}

// NewQueues returns empty queues.
func NewQueues(s Sizes) Queues {
	q := Queues{
		Lists:     Lists{commands: NewQueue[Target](s.CommandSlots)},
		triggered: newTriggered(s.Counters, s.CommandSlots),
		flows:     newFlows(s.FlowQueues, s.FlowSlots),
		due:       unit.Never,
	}
	for range s.Classes {
		q.commands = append(q.commands, NewQueue[Command](s.CommandSlots))
	}
	return q
}

// AddFlow adds a flow of the given class and ID. It returns the index that its commands have
// in Command.Flow.
func (q *Queues) AddFlow(class int, id uint64) int32 { return q.flows.add(class, id) }

// Post adds a series of commands to the schedule of the host.
func (q *Queues) Post(s Series) {
	q.schedule.add(s)
	q.plan()
}

// PostTarget adds a series of commands of the target to the schedule of the host.
func (q *Queues) PostTarget(s TargetSeries) {
	q.schedule.targets = append(q.schedule.targets, s)
	q.plan()
}

// Due returns the instant at which the host posts next, Never if it has nothing to post or the
// command queues are full.
func (q *Queues) Due() unit.Time { return q.due }

func (q *Queues) plan() { q.due = q.schedule.next(q.room) }

// room reports whether there is room for a command in its command queue.
func (q *Queues) room(c *Command) bool { return q.queueOf(c).Free() > 0 }

// queueOf returns the command queue of a command.
func (q *Queues) queueOf(c *Command) *Queue[Command] { return &q.commands[q.flows.of[c.Flow].class] }

// WriteTargets writes the commands of the target that are due by now. It passes the result of
// each one to done.
func (q *Queues) WriteTargets(now unit.Time, done func(Searched)) {
	q.schedule.targets = slices.DeleteFunc(q.schedule.targets, func(s TargetSeries) bool {
		for i := 0; s.At <= now && i < s.Count; i++ {
			done(q.execute(Target{s.ID + uint32(i), s.Verb}))
		}
		return s.At <= now
	})
	q.plan()
}

// Write writes the commands that are due by now, as far as there is room. It passes each one to
// written, which may call Advance to make room for the next.
func (q *Queues) Write(now unit.Time, written func(Command)) {
	for i := range q.schedule.commands {
		s := &q.schedule.commands[i]
		for s.due() <= now && q.room(&s.Command) {
			c := s.take(now)
			q.queueOf(&c).Put(c)
			q.changed = true
			written(c)
		}
	}
	q.plan()
}

// Changed reports whether commands may advance.
func (q *Queues) Changed() bool { return q.changed }

// Advance moves commands on as far as there is room. It passes each command that leaves the
// command queues and the triggers to arrived, which may call Take. ok is false if the command
// fails with its flow; else it is in the queue of its flow.
func (q *Queues) Advance(arrived func(c Command, ok bool)) {
	for moved := true; moved; {
		moved = q.advance(q.triggered.ready(), arrived)
		for i := range q.commands {
			moved = q.advance(&q.commands[i], arrived) || moved
		}
	}
	q.changed = false
	q.plan()
}

// advance moves the first command of a queue on and reports whether there was room.
func (q *Queues) advance(from *Queue[Command], arrived func(c Command, ok bool)) bool {
	if from.Len() == 0 {
		return false
	}
	c := from.Head()
	failed := q.flows.of[c.Flow].failed
	switch met := q.triggered.met(c); {
	case !met && !q.triggered.arm(c), met && !failed && !q.flows.put(c):
		return false
	case met:
		arrived(*c, !failed)
	}
	from.Take()
	return true
}

// Len returns the number of commands in the queue of a flow.
func (q *Queues) Len(flow int32) int { return q.flows.len(flow) }

// Take removes and returns the first command in the queue of a flow, which must not be empty.
func (q *Queues) Take(flow int32) Command {
	q.changed = true
	return q.flows.of[flow].queue.Take()
}

// Release frees the queue of a flow, which must be empty.
func (q *Queues) Release(flow int32) {
	if q.flows.release(flow) {
		q.changed = true
	}
}

// Fail makes the future commands of a flow fail. It passes the commands in the queue of the
// flow to dropped.
func (q *Queues) Fail(flow int32, dropped func(Command)) {
	q.flows.of[flow].failed = true
	for q.Len(flow) > 0 {
		dropped(q.Take(flow))
	}
	q.changed = true
}

// Complete counts the completion of a command, which may trigger others.
func (q *Queues) Complete(c *Command) {
	q.triggered.count(c.Counter)
	q.changed = true
}

// Triggered returns the number of commands that wait for their trigger.
func (q *Queues) Triggered() int { return len(q.triggered.waiting) }
