package command

import "slices"

// Triggered holds the commands that wait for a counter, and dispatches them once
// it has come to their threshold, in the order in which they were armed.
type Triggered struct {
	counters []uint64
	waiting  []Command
	due      Queue[Command]
	limit    int
}

// NewTriggered makes so many counters at 0, and room for so many commands.
func NewTriggered(counters, limit int) Triggered {
	return Triggered{counters: make([]uint64, counters), due: NewQueue[Command](limit), limit: limit}
}

// Met tells whether nothing holds the command back.
func (t *Triggered) Met(c *Command) bool {
	return c.After.Threshold == 0 || t.counters[c.After.Counter] >= c.After.Threshold
}

// Arm takes a command that is held back. It is false if there is no room.
func (t *Triggered) Arm(c Command) bool {
	if len(t.waiting)+t.due.Len() == t.limit {
		return false
	}
	t.waiting = append(t.waiting, c)
	return true
}

// Count adds one to a counter, and makes the commands due that waited for it. A
// counter below 0 counts nothing.
func (t *Triggered) Count(counter int32) {
	if counter < 0 {
		return
	}
	t.counters[counter]++
	t.waiting = slices.DeleteFunc(t.waiting, func(c Command) bool {
		return t.Met(&c) && t.due.Put(c)
	})
}

// Due gives the commands whose trigger has come.
func (t *Triggered) Due() *Queue[Command] { return &t.due }

// Waiting is how many commands are held back.
func (t *Triggered) Waiting() int { return len(t.waiting) }
