package explain

import (
	"fmt"
	"io"
	"strings"

	"github.com/rackfab/rackfab/fabric/unit"
)

// verdict is the answer in one sentence.
func (o *observer) verdict(r *Report) string {
	x, y := o.s.Nodes[o.X].Name, o.s.Nodes[o.Y].Name
	switch {
	case r.Limits.NeverPause && o.asked == nil:
		return fmt.Sprintf("no PAUSE: %s takes in at once whatever arrives, and never sends PAUSE", x)
	case r.Limits.NeverPause:
		return fmt.Sprintf("no PAUSE: class %d is not lossless at %s, which drops at its threshold instead", r.Class, x)
	case r.Frames == 0 && r.Held == 0:
		return fmt.Sprintf("no PAUSE: what came from %s held at most %s of the buffer of %s; the shared part stayed %s below its threshold of %s",
			y, r.Peak.Occupancy, x, r.Closest.Margin(), r.Closest.Threshold)
	}
	text := fmt.Sprintf("%s sent %d PAUSE frames and held %s for %s of %s", x, r.Frames, y, brief(r.Held), r.To-r.From)
	if len(r.Chain) > 0 {
		last := r.Chain[len(r.Chain)-1]
		text += ": " + last.why()
	}
	return text
}

// why says in words what a step of the chain is about.
func (s *Step) why() string {
	x, _, _ := strings.Cut(s.Link, "->")
	c := &s.Cause
	switch c.Kind {
	case SlowHost:
		return fmt.Sprintf("%s takes frames in more slowly than they come", x)
	case Held:
		return fmt.Sprintf("%s may not send to %s, which holds it (%.0f %% of the time in which the buffer filled)", x, c.Egress, 100*c.Held)
	default:
		return fmt.Sprintf("the port of %s to %s is overloaded: %s came for a link of %s, from %d ports",
			x, c.Egress, gigabits(c.Load), gigabits(c.Rate), c.Ports)
	}
}

func gigabits(r unit.Rate) string { return fmt.Sprintf("%.1f Gbit/s", float64(r)/1e9) }

// brief writes a span or an instant with as many digits as people read.
func brief(t unit.Time) string {
	for _, u := range []struct {
		name string
		of   unit.Time
	}{{"s", unit.Second}, {"ms", unit.Millisecond}, {"us", unit.Microsecond}, {"ns", unit.Nanosecond}} {
		if t >= u.of {
			return fmt.Sprintf("%.4g%s", float64(t)/float64(u.of), u.name)
		}
	}
	return fmt.Sprintf("%dps", int64(t))
}

// Text writes the report for people.
func (r *Report) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "PAUSE on %s, class %d, from %s to %s, of %s under %s\n\n%s\n", r.Link, r.Class, r.From, r.To, r.Scenario, r.Scheme, r.Verdict)
	if !r.Limits.NeverPause {
		r.limits(&b)
		r.timeline(&b)
		r.pauses(&b)
		r.reasons(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) limits(b *strings.Builder) {
	l := &r.Limits
	kind := "static"
	if l.Dynamic {
		kind = fmt.Sprintf("at most, alpha %g of the free pool", l.Alpha)
	}
	fmt.Fprintf(b, "\nthreshold  %s (%s), RESUME %s below it; reserve %s, headroom %s, pool %s\n", l.Threshold, kind, l.XON, l.Reserve, l.Headroom, l.Pool)
	fmt.Fprintf(b, "peak       %s at %s: shared %s of %s, headroom %s%s\n",
		r.Peak.Occupancy, brief(r.Peak.At), r.Peak.Shared, r.Peak.Threshold, r.Peak.Headroom, filled(r.Peak.Flows))
	if m := r.Closest.Margin(); m >= 0 {
		fmt.Fprintf(b, "closest    %s below the threshold at %s\n", m, brief(r.Closest.At))
	} else {
		fmt.Fprintf(b, "furthest   %s beyond the threshold at %s\n", -m, brief(r.Closest.At))
	}
}

// mostNamed is how many flows a line of the text names.
const mostNamed = 4

// filled lists who holds the buffer.
func filled(flows []Holding) string {
	if len(flows) == 0 {
		return ""
	}
	var list []string
	var rest unit.Bytes
	for i, h := range flows {
		if i < mostNamed && h.Egress != "" {
			list = append(list, fmt.Sprintf("%s %s to %s", h.Flow, h.Bytes, h.Egress))
		} else {
			rest += h.Bytes
		}
	}
	if rest > 0 {
		list = append(list, fmt.Sprintf("%s %s", others, rest))
	}
	return "; " + strings.Join(list, ", ")
}

// barWidth is how many characters stand for the threshold.
const barWidth = 30

func (r *Report) timeline(b *strings.Builder) {
	if len(r.Timeline) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%10s %11s %11s %11s %10s  %s\n", "from", "shared", "threshold", "headroom", "held", "shared, | is the threshold")
	for i := range r.Timeline {
		bin := &r.Timeline[i]
		bar := []byte(strings.Repeat(" ", barWidth) + "|")
		if bin.Threshold > 0 {
			n := int(min(bin.Shared*barWidth/bin.Threshold, 2*barWidth))
			bar = append(bar, strings.Repeat(" ", max(n-barWidth, 0))...)
			for j := range n {
				if j != barWidth {
					bar[j] = '#'
				}
			}
		}
		fmt.Fprintf(b, "%10s %11s %11s %11s %10s  %s\n", brief(bin.From), bin.Shared, bin.Threshold, bin.Headroom, brief(bin.Held), strings.TrimRight(string(bar), " "))
	}
}

// mostLines is how many entries a list of the text has.
const mostLines = 8

func (r *Report) pauses(b *strings.Builder) {
	if len(r.Pauses) == 0 {
		return
	}
	fmt.Fprintf(b, "\nwho filled the buffer, at each PAUSE\n")
	for i := range r.Pauses[:min(len(r.Pauses), mostLines)] {
		p := &r.Pauses[i]
		until := "the end"
		if p.Until >= 0 {
			until = brief(p.Until)
		}
		fmt.Fprintf(b, "  %s to %s: %s, headroom %s%s\n", brief(p.At), until, p.Occupancy, p.Headroom, filled(p.Flows))
	}
	if more := len(r.Pauses) - mostLines; more > 0 {
		fmt.Fprintf(b, "  and %d more\n", more)
	}
}

func (r *Report) reasons(b *strings.Builder) {
	if len(r.Chain) > 0 {
		fmt.Fprintf(b, "\nwhy\n")
	}
	for i := range r.Chain {
		fmt.Fprintf(b, "  %s: %s\n", r.Chain[i].Link, r.Chain[i].why())
	}
	if len(r.Victims) > 0 {
		last := r.Chain[len(r.Chain)-1].Cause
		fmt.Fprintf(b, "\nvictims: held, though they do not go to %s\n", last.Egress)
		for _, v := range r.Victims[:min(len(r.Victims), mostLines)] {
			fmt.Fprintf(b, "  %s to %s: behind %d holds, with up to %s waiting\n", v.Flow, v.To, v.Times, v.Bytes)
		}
	}
	if len(r.Spread) > 0 {
		fmt.Fprintf(b, "\nspread\n")
	}
	for _, s := range r.Spread {
		fmt.Fprintf(b, "  %s: %d PAUSE frames\n", s.Link, s.Frames)
	}
	if len(r.Rates) > 0 {
		fmt.Fprintf(b, "\nwhat %s allowed the flows that came over the link: first, least, last\n", r.Scheme)
	}
	for _, v := range r.Rates[:min(len(r.Rates), mostLines)] {
		fmt.Fprintf(b, "  %s: %s, %s, %s\n", v.Flow, gigabits(v.First), gigabits(v.Least), gigabits(v.Last))
	}
	if more := len(r.Rates) - mostLines; more > 0 {
		fmt.Fprintf(b, "  and %d more\n", more)
	}
}
