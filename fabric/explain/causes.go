package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The text about PAUSE follows the order of causes: how the queue was filled, how PAUSE
// spread to the link, why the link stayed paused, and which victim flows lost goodput.

func (r *Report) causes(b *strings.Builder) {
	if r.First == nil {
		return
	}
	_, y, _ := strings.Cut(r.Link, "->")
	r.firstCause(b)
	r.path(b)
	fmt.Fprintf(b, "\n3. Why %s stayed paused: %s of %s, %d PAUSE frames\n", y, brief(r.Paused), r.To-r.From, r.Frames)
	for i := range r.Chain {
		r.Chain[i].kept(b, deadlockOf(r.Deadlocks, r.Chain[i].Link))
	}
	r.victims(b, y)
	if len(r.Spread) > 0 {
		fmt.Fprintf(b, "\nCongestion spreading: %s sent PAUSE itself\n", y)
	}
	for _, s := range r.Spread {
		fmt.Fprintf(b, "  %s: %d PAUSE frames\n", s.Link, s.Frames)
	}
}

// queue names the queue in the text.
func (f *Fill) queue() string {
	if f.Egress == "" {
		return "the receive buffer of " + f.Node
	}
	return "the egress queue of " + f.Node + " to " + f.Egress
}

// sentence describes in one sentence how the queue was filled.
func (f *Fill) sentence(kind Kind) string {
	switch kind {
	case SlowHost:
		return fmt.Sprintf("%s processes frames more slowly than they arrive: %s instead of %s", f.Node, gigabits(f.Rate), gigabits(f.Arrived))
	case Downstream:
		return fmt.Sprintf("%s could not send to %s, which had paused it before", f.Node, f.Egress)
	default:
		return fmt.Sprintf("%s grew to %s between %s and %s, as %s arrived for a link of %s",
			f.queue(), size(f.Most), brief(f.From), brief(f.To), gigabits(f.Arrived), gigabits(f.Rate))
	}
}

func (r *Report) firstCause(b *strings.Builder) {
	f := r.First
	limit := "a link of " + gigabits(f.Rate)
	if f.Egress == "" {
		limit = "a host that processes " + gigabits(f.Rate)
	}
	fmt.Fprintf(b, "\n1. First cause: %s\n", f.queue())
	fmt.Fprintf(b, "  From %s to %s it grew from %s to %s: %s arrived for %s.\n",
		brief(f.From), brief(f.To), size(f.Before), size(f.Most), gigabits(f.Arrived), limit)
	list(b, f.Sources, func(s *Source) {
		from := ""
		switch {
		case len(s.Senders) == 1 && s.Flows == 1:
			from = ", from " + s.Senders[0]
		case len(s.Senders) > 0:
			from = fmt.Sprintf(", %s from %s", unit.Counted(s.Flows, "flow"), unit.Counted(len(s.Senders), "NIC"))
		}
		fmt.Fprintf(b, "  %13s  %s%s\n", gigabits(s.Arrived), s.Name, from)
	})
}

// path writes the path from the first cause to the link, one PAUSE per line.
func (r *Report) path(b *strings.Builder) {
	fmt.Fprintf(b, "\n2. How PAUSE spread to %s\n", r.Link)
	for i := len(r.Chain) - 1; i >= 0; i-- {
		s := &r.Chain[i]
		x, y, _ := strings.Cut(s.Link, "->")
		fmt.Fprintf(b, "  %10s  %s paused %s: ", brief(s.At), x, y)
		c := &s.Cause
		if c.Kind == SlowHost {
			fmt.Fprintf(b, "%s in its receive buffer\n", size(s.Bytes))
			continue
		}
		part := size(c.Bytes)
		if part == size(s.Bytes) {
			part = "all"
		}
		fmt.Fprintf(b, "frames from %s occupied %s of its buffer, %s of it ", y, size(s.Bytes), part)
		if c.Kind == Downstream {
			fmt.Fprintf(b, "waiting for %s, which had paused %s\n", c.Egress, x)
		} else {
			fmt.Fprintf(b, "in the queue to %s (%s)\n", c.Egress, size(c.Queue))
		}
	}
}

// deadlockOf returns the deadlock in which PAUSE on a link, "x->y", pauses the direction from y to x, nil if there is none.
func deadlockOf(all []measure.Deadlock, link string) *measure.Deadlock {
	x, y, _ := strings.Cut(link, "->")
	y, parallel, ok := strings.Cut(y, "#")
	if x = y + "->" + x; ok {
		x += "#" + parallel
	}
	for i := range all {
		if slices.Contains(all[i].Links, x) {
			return &all[i]
		}
	}
	return nil
}

// deadlocks writes the PFC deadlocks at the end of the range.
func (r *Report) deadlocks(b *strings.Builder) {
	for i := range r.Deadlocks {
		fmt.Fprintf(b, "\nPFC deadlock: %s\n  each is paused because frames that have passed it wait for the next one: no frame moves again\n", &r.Deadlocks[i])
	}
}

// kept writes why a link of the chain stayed paused. d is the deadlock that it is part of, or nil.
func (s *Step) kept(b *strings.Builder, d *measure.Deadlock) {
	x, y, _ := strings.Cut(s.Link, "->")
	c, k := &s.Cause, s.Kept
	if k == nil {
		fmt.Fprintf(b, "  %s paused %s for %s: its receive buffer drains at %s\n", x, y, brief(s.Paused), gigabits(c.Rate))
		return
	}
	fmt.Fprintf(b, "  %s paused %s %s, for %s:\n", x, y, unit.Counted(k.Pauses, "time"), brief(s.Paused))
	if k.Overload > 0 {
		fmt.Fprintf(b, "    %d by overload: more arrived for %s than the link carries\n", k.Overload, c.Egress)
	}
	if k.Standing > 0 {
		queue := size(k.Most)
		if least := size(k.Least); least != queue {
			queue = least + " to " + queue
		}
		fmt.Fprintf(b, "    %d by a standing queue: at least half of it is older than the previous RESUME\n    the queue to %s was %s long; at %s it takes up to %s to drain\n",
			k.Standing, c.Egress, queue, gigabits(c.Rate), brief(k.Drain))
	}
	if k.Downstream > 0 {
		fmt.Fprintf(b, "    %d by downstream PAUSE: %s had paused %s\n", k.Downstream, c.Egress, x)
	}
	if d != nil {
		fmt.Fprintf(b, "    the last one does not end, by the PFC deadlock since %s\n", brief(d.Since))
	}
	if k.Arrived > 0 {
		fmt.Fprintf(b, "    between a RESUME and the next PAUSE, frames from %s for %s arrived at %s and left at %s\n", y, c.Egress, gigabits(k.Arrived), gigabits(k.Left))
	}
}

func (r *Report) victims(b *strings.Builder, y string) {
	if len(r.Victims) > 0 {
		fmt.Fprintf(b, "\n4. Victim flows: paused although they do not pass %s\n", r.First.queue())
	}
	list(b, r.Victims, func(v *Victim) {
		ends, queued, before := "", "", ""
		if v.To != "" {
			ends = " from " + v.From + " to " + v.To
		}
		if v.Bytes > 0 {
			queued = fmt.Sprintf("; up to %s queued at %s", size(v.Bytes), y)
		}
		if v.Before > 0 {
			before = fmt.Sprintf(", %s before PAUSE began: %s less", gigabits(v.Before), size(v.Less))
		}
		fmt.Fprintf(b, "  %s%s: paused %s, for %s%s\n", v.Flow, ends, unit.Counted(v.Times, "time"), brief(v.Paused), queued)
		fmt.Fprintf(b, "    goodput %s from the first to the last of these pauses%s\n", gigabits(v.Goodput), before)
	})
}

// maxLines is the largest number of entries in a list of the text.
const maxLines = 8

// list writes the first entries of a list, and how many more there are.
func list[T any](b *strings.Builder, entries []T, write func(*T)) {
	for i := range entries[:min(len(entries), maxLines)] {
		write(&entries[i])
	}
	if more := len(entries) - maxLines; more > 0 {
		fmt.Fprintf(b, "  and %d more\n", more)
	}
}

// size formats a length with three significant digits.
func size(n unit.Bytes) string {
	switch {
	case n >= unit.Megabyte:
		return fmt.Sprintf("%.3gMB", float64(n)/float64(unit.Megabyte))
	case n >= unit.Kilobyte:
		return fmt.Sprintf("%.3gKB", float64(n)/float64(unit.Kilobyte))
	}
	return n.String()
}
