package explain

import (
	"fmt"
	"io"
	"strings"

	"github.com/rackfab/rackfab/fabric/unit"
)

// verdict summarizes the report in one sentence.
func (o *observer) verdict(r *Report) string {
	x, y := o.s.Nodes[o.X].Name, o.s.Nodes[o.Y].Name
	switch {
	case r.Limits.NeverPause && o.history == nil:
		return fmt.Sprintf("no PAUSE: %s processes frames as they arrive, and never sends PAUSE", x)
	case r.Limits.NeverPause:
		return fmt.Sprintf("no PAUSE: class %d is not lossless at %s, which drops frames at the threshold instead", r.Class, x)
	case r.Frames == 0 && r.Paused == 0:
		return fmt.Sprintf("no PAUSE: frames from %s occupied at most %s of the buffer of %s; the shared part stayed %s below its threshold of %s",
			y, r.Peak.Occupancy, x, r.Closest.Margin(), r.Closest.Threshold)
	}
	text := fmt.Sprintf("%s sent %s and paused %s for %s of %s", x, unit.Counted(r.Frames, "PAUSE frame"), y, brief(r.Paused), r.To-r.From)
	if r.First != nil {
		text += ": " + r.First.sentence(r.Chain[len(r.Chain)-1].Cause.Kind)
	}
	if d := deadlockOf(r.Deadlocks, r.Link); d != nil {
		text += "; since " + brief(d.Since) + " it is part of a PFC deadlock"
	}
	return text
}

func gigabits(r unit.Rate) string { return gigabitsAlone(r) + " Gbit/s" }

// gigabitsAlone formats a rate in Gbit/s without the unit.
func gigabitsAlone(r unit.Rate) string { return fmt.Sprintf("%.1f", float64(r)/1e9) }

// brief formats a duration or an instant with four significant digits.
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

// Text writes the report as plain text.
func (r *Report) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "PAUSE on %s, class %d, from %s to %s, of %s under %s\n\n%s\n", r.Link, r.Class, r.From, r.To, r.Scenario, r.Scheme, r.Verdict)
	if !r.Limits.NeverPause {
		r.causes(&b)
		r.deadlocks(&b)
		r.limits(&b)
		r.timeline(&b)
		r.pauses(&b)
		r.rates(&b)
	}
	for _, e := range r.Errors {
		fmt.Fprintf(&b, "\nlink errors on %s: %s lost, %d damaged; %d of them PAUSE or RESUME\n", e.Link, unit.Counted(e.Lost, "frame"), e.Damaged, e.PFC)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) limits(b *strings.Builder) {
	l := &r.Limits
	kind := "static"
	if l.Dynamic {
		kind = fmt.Sprintf("maximum, dynamic: alpha %g of the free pool", l.Alpha)
	}
	fmt.Fprintf(b, "\nthreshold  %s (%s), RESUME %s below it; reserve %s, headroom %s, pool %s\n", l.Threshold, kind, l.XON, l.Reserve, l.Headroom, l.Pool)
	fmt.Fprintf(b, "peak       %s at %s: shared %s of %s, headroom %s%s\n",
		r.Peak.Occupancy, brief(r.Peak.At), r.Peak.Shared, r.Peak.Threshold, r.Peak.Headroom, occupants(r.Peak.Flows, unit.Bytes.String))
	if m := r.Closest.Margin(); m >= 0 {
		fmt.Fprintf(b, "closest    %s below the threshold at %s\n", m, brief(r.Closest.At))
	} else {
		fmt.Fprintf(b, "furthest   %s beyond the threshold at %s\n", -m, brief(r.Closest.At))
	}
}

// maxNamed is the largest number of flows that a line of the text names.
const maxNamed = 4

// occupants lists the flows that occupy the buffer.
func occupants(flows []Holding, format func(unit.Bytes) string) string {
	if len(flows) == 0 {
		return ""
	}
	var list []string
	var rest unit.Bytes
	for i, h := range flows {
		if i < maxNamed && h.Egress != "" {
			list = append(list, fmt.Sprintf("%s %s to %s", h.Flow, format(h.Bytes), h.Egress))
		} else {
			rest += h.Bytes
		}
	}
	if rest > 0 {
		list = append(list, fmt.Sprintf("%s %s", others, format(rest)))
	}
	return "; " + strings.Join(list, ", ")
}

// barWidth is the number of characters from 0 to the threshold. A row has 80 with it.
const barWidth = 20

func (r *Report) timeline(b *strings.Builder) {
	if len(r.Timeline) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%10s %11s %11s %11s %10s  %s\n", "from", "shared", "threshold", "headroom", "paused", "shared, | threshold")
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
		fmt.Fprintf(b, "%10s %11s %11s %11s %10s  %s\n", brief(bin.From), bin.Shared, bin.Threshold, bin.Headroom, brief(bin.Paused), strings.TrimRight(string(bar), " "))
	}
}

// pauseRow is the format of a row of the table of PAUSE frames. It has 56 characters, and those of a flow. The next flow
// is on the next line, below the first one.
const pauseRow, pauseFlows = "%9s %9s %8s %6s %8s  %-9s %s\n", 56

func (r *Report) pauses(b *strings.Builder) {
	if len(r.Pauses) == 0 || len(r.Timeline) == 0 {
		return
	}
	_, y, _ := strings.Cut(r.Link, "->")
	fmt.Fprintf(b, "\neach PAUSE, and the rates in Gbit/s at which frames from %s for the congested port arrived and left since the RESUME before, or since the buffer was empty\n", y)
	fmt.Fprintf(b, pauseRow, "from", "until", "arrived", "left", "queue", "cause", "in the buffer")
	list(b, r.Pauses, func(p *Pause) {
		until := "the end"
		if p.Until >= 0 {
			until = brief(p.Until)
		}
		fmt.Fprintf(b, pauseRow,
			brief(p.At), until, gigabitsAlone(p.Arrived), gigabitsAlone(p.Left), size(p.Cause.Queue), p.Cause.Kind,
			strings.ReplaceAll(strings.TrimPrefix(occupants(p.Flows, size), "; "), ", ", ",\n"+strings.Repeat(" ", pauseFlows)))
	})
}

func (r *Report) rates(b *strings.Builder) {
	if len(r.Rates) > 0 {
		fmt.Fprintf(b, "\nCC rate limits (%s) of the flows on the link: first, lowest, last\n", r.Scheme)
	}
	list(b, r.Rates, func(v *Rate) {
		fmt.Fprintf(b, "  %s: %s, %s, %s\n", v.Flow, gigabits(v.First), gigabits(v.Least), gigabits(v.Last))
	})
}
