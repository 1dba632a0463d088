package explain

import (
	"fmt"
	"strings"

	"github.com/rackfab/rackfab/fabric/unit"
)

// The text about a PAUSE follows the order of causes: how the queue was filled, how
// PAUSE reached the link, what kept the link paused, and which victim flows lost
// goodput.

func (r *Report) story(b *strings.Builder) {
	if r.First == nil {
		return
	}
	r.firstCause(b)
	r.path(b)
	r.keeping(b)
	r.victims(b)
	if len(r.Spread) > 0 {
		_, y, _ := strings.Cut(r.Link, "->")
		fmt.Fprintf(b, "\nPAUSE spread: %s sent PAUSE itself\n", y)
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
		return fmt.Sprintf("%s takes frames in more slowly than they arrive: %s for %s", f.Node, gigabits(f.Rate), gigabits(f.Arrived))
	case Downstream:
		return fmt.Sprintf("%s may not send to %s, which had paused it before", f.Node, f.Egress)
	case Overload, Standing:
	}
	return fmt.Sprintf("%s grew to %s between %s and %s, as %s arrived for egress to a link of %s",
		f.queue(), size(f.Most), brief(f.From), brief(f.To), gigabits(f.Arrived), gigabits(f.Rate))
}

func (r *Report) firstCause(b *strings.Builder) {
	f := r.First
	what := fmt.Sprintf("%s arrived for egress, the link carries %s", gigabits(f.Arrived), gigabits(f.Rate))
	if f.Egress == "" {
		what = fmt.Sprintf("%s arrived, and the host takes in %s", gigabits(f.Arrived), gigabits(f.Rate))
	}
	fmt.Fprintf(b, "\n1. What filled %s\n", f.queue())
	fmt.Fprintf(b, "  From %s to %s it grew from %s to %s: %s.\n", brief(f.From), brief(f.To), size(f.Before), size(f.Most), what)
	for _, s := range f.Sources[:min(len(f.Sources), mostLines)] {
		who := ""
		switch {
		case len(s.Senders) == 1 && s.Flows == 1:
			who = ", from " + s.Senders[0]
		case len(s.Senders) > 0:
			who = fmt.Sprintf(", %d flows from %d NICs", s.Flows, len(s.Senders))
		}
		fmt.Fprintf(b, "  %13s  %s%s\n", gigabits(s.Arrived), s.Name, who)
	}
	if more := len(f.Sources) - mostLines; more > 0 {
		fmt.Fprintf(b, "  and %d more\n", more)
	}
}

// path writes the path from the first cause to the link, one PAUSE per line.
func (r *Report) path(b *strings.Builder) {
	fmt.Fprintf(b, "\n2. How PAUSE came to %s\n", r.Link)
	for i := len(r.Chain) - 1; i >= 0; i-- {
		s := &r.Chain[i]
		x, y, _ := strings.Cut(s.Link, "->")
		switch c := &s.Cause; c.Kind {
		case SlowHost:
			fmt.Fprintf(b, "  %10s  %s paused %s: its receive buffer held %s\n", brief(s.At), x, y, size(s.Bytes))
		case Downstream:
			fmt.Fprintf(b, "  %10s  %s paused %s: frames from %s held %s of its buffer, %s for %s, which had paused %s\n",
				brief(s.At), x, y, y, size(s.Bytes), share(c.Bytes, s.Bytes), c.Egress, x)
		default:
			fmt.Fprintf(b, "  %10s  %s paused %s: frames from %s held %s of its buffer, %s in the queue of %s to %s\n",
				brief(s.At), x, y, y, size(s.Bytes), share(c.Bytes, s.Bytes), size(c.Queue), c.Egress)
		}
	}
}

// keeping writes why the PAUSE lasted or recurred, at the link and at the other links
// of the chain.
func (r *Report) keeping(b *strings.Builder) {
	_, y, _ := strings.Cut(r.Link, "->")
	fmt.Fprintf(b, "\n3. What kept %s paused: %s of %s, %d PAUSE frames\n", y, brief(r.Held), r.To-r.From, r.Frames)
	for i := range r.Chain {
		r.Chain[i].keeping(b)
	}
}

func (s *Step) keeping(b *strings.Builder) {
	x, y, _ := strings.Cut(s.Link, "->")
	c, k := &s.Cause, s.Kept
	fmt.Fprintf(b, "  %s paused %s for %s", x, y, brief(s.Paused))
	if k == nil {
		fmt.Fprintf(b, ": its receive buffer empties at %s\n", gigabits(c.Rate))
		return
	}
	fmt.Fprintf(b, " by %d PAUSEs:\n", k.Pauses)
	if k.Overload > 0 {
		fmt.Fprintf(b, "    %d because more arrived for egress to %s than the link carries\n", k.Overload, c.Egress)
	}
	if k.Standing > 0 {
		fmt.Fprintf(b, "    %d because of a standing queue: at least half of it had been there since the RESUME before\n    the queue to %s was %s long; at %s it takes up to %s to drain\n",
			k.Standing, c.Egress, between(k.Least, k.Most), gigabits(c.Rate), brief(k.Drain))
	}
	if k.Held > 0 {
		fmt.Fprintf(b, "    %d because of downstream PAUSE: %s had paused %s\n", k.Held, c.Egress, x)
	}
	if k.Arrived > 0 {
		fmt.Fprintf(b, "    between a RESUME and the next PAUSE, frames from %s for %s arrived at %s and left at %s\n", y, c.Egress, gigabits(k.Arrived), gigabits(k.Left))
	}
}

func (r *Report) victims(b *strings.Builder) {
	if len(r.Victims) == 0 {
		return
	}
	fmt.Fprintf(b, "\n4. Victim flows: paused here, though they do not pass %s\n", r.First.queue())
	for _, v := range r.Victims[:min(len(r.Victims), mostLines)] {
		fmt.Fprintf(b, "  %s%s: paused %d times, %s in all", v.Flow, v.ends(), v.Times, brief(v.Paused))
		if v.Bytes > 0 {
			_, y, _ := strings.Cut(r.Link, "->")
			fmt.Fprintf(b, "; up to %s of it waited at %s", size(v.Bytes), y)
		}
		fmt.Fprintf(b, "\n    goodput %s from the first of these pauses to the last", gigabits(v.Goodput))
		if v.Before > 0 {
			fmt.Fprintf(b, ", %s before PAUSE began: %s less", gigabits(v.Before), size(v.Less))
		}
		fmt.Fprintln(b)
	}
	if more := len(r.Victims) - mostLines; more > 0 {
		fmt.Fprintf(b, "  and %d more\n", more)
	}
}

// ends names the NICs of a victim, if they are known.
func (v *Victim) ends() string {
	if v.To == "" {
		return ""
	}
	return " from " + v.From + " to " + v.To
}

// share formats a part of a total.
func share(part, all unit.Bytes) string {
	if size(part) == size(all) {
		return "all of it"
	}
	return size(part) + " of it"
}

// between formats a range of lengths.
func between(least, most unit.Bytes) string {
	if size(least) == size(most) {
		return size(most)
	}
	return size(least) + " to " + size(most)
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
