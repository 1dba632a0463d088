package work

import "slices"

// triggered holds commands that wait for a counter. It releases each of them when the counter
// reaches the command's threshold, in the order in which they were armed.
type triggered struct {
	counters []uint64
	waiting  []Command
	due      Queue[Command]
	limit    int
}

// newTriggered returns the given number of counters, all 0, with room for limit commands.
func newTriggered(counters, limit int) triggered {
	return triggered{counters: make([]uint64, counters), due: NewQueue[Command](limit), limit: limit}
}

// met reports whether the command's trigger is met.
func (t *triggered) met(c *Command) bool {
	return c.After.Threshold == 0 || t.counters[c.After.Counter] >= c.After.Threshold
}

// arm adds a command whose trigger is not met. It returns false if there is no room.
func (t *triggered) arm(c *Command) bool {
	if len(t.waiting)+t.due.Len() == t.limit {
		return false
	}
	t.waiting = append(t.waiting, *c)
	return true
}

// count increments a counter and makes the commands due whose thresholds it reaches. A counter
// below 0 is ignored.
func (t *triggered) count(counter int32) {
	if counter < 0 {
		return
	}
	t.counters[counter]++
	t.waiting = slices.DeleteFunc(t.waiting, func(c Command) bool {
		return t.met(&c) && t.due.Put(c)
	})
}

// ready returns the queue of commands whose triggers are met.
func (t *triggered) ready() *Queue[Command] { return &t.due }
