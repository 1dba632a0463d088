package work

import "slices"

// Triggered holds commands that wait for a counter. It releases each of them
// when the counter reaches the command's threshold, in the order in which they
// were armed.
type Triggered struct {
	counters []uint64
	waiting  []Command
	due      Queue[Command]
	limit    int
}

// NewTriggered returns the given number of counters, all 0, with room for limit
// commands.
func NewTriggered(counters, limit int) Triggered {
	return Triggered{counters: make([]uint64, counters), due: NewQueue[Command](limit), limit: limit}
}

// Met reports whether the command's trigger is met.
func (t *Triggered) Met(c *Command) bool {
	return c.After.Threshold == 0 || t.counters[c.After.Counter] >= c.After.Threshold
}

// Arm adds a command whose trigger is not met. It returns false if there is no
// room.
func (t *Triggered) Arm(c Command) bool {
	if len(t.waiting)+t.due.Len() == t.limit {
		return false
	}
	t.waiting = append(t.waiting, c)
	return true
}

// Count increments a counter and makes the commands due whose thresholds it
// reaches. A counter below 0 is ignored.
func (t *Triggered) Count(counter int32) {
	if counter < 0 {
		return
	}
	t.counters[counter]++
	t.waiting = slices.DeleteFunc(t.waiting, func(c Command) bool {
		return t.Met(&c) && t.due.Put(c)
	})
}

// Due returns the queue of commands whose triggers are met.
func (t *Triggered) Due() *Queue[Command] { return &t.due }

// Waiting returns the number of commands whose triggers are not met.
func (t *Triggered) Waiting() int { return len(t.waiting) }
