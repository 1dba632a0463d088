package explain

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rackfab/rackfab/fabric/unit"
)

// verdict summarizes the report in one sentence.
func (r *CollectiveReport) verdict() string {
	text := fmt.Sprintf("%s took %s", r.Name, brief(r.Time))
	if !r.Finished() {
		text = fmt.Sprintf("%s is not done: %d of %d steps", r.Name, r.Done, r.Steps)
	}
	switch {
	case len(r.Path) == 0:
		return text
	case r.Late > r.Delays && (len(r.Links) == 0 || r.Late > r.Links[0].Total()):
		return fmt.Sprintf("%s: %s", text, r.late())
	case len(r.Links) == 0 || r.Delays > r.Links[0].Total():
		return fmt.Sprintf("%s: delays took the most, %s", text, brief(r.Delays))
	}
	l := &r.Links[0]
	return fmt.Sprintf("%s: link %s took the most, %s%s: %s", text, l.Link, brief(l.Total()), r.slow(l), l.parts(r.Name))
}

// late says when the first rank of the critical path began.
func (r *CollectiveReport) late() string {
	return fmt.Sprintf("rank %d (%s) began %s after the first rank", r.Path[0].From, r.Path[0].FromHost, brief(r.Late))
}

// slow says that a link is slower than others of the critical path.
func (r *CollectiveReport) slow(l *LinkCost) string {
	fastest := l.Rate
	for i := range r.Links {
		fastest = max(fastest, r.Links[i].Rate)
	}
	if l.Rate == fastest {
		return ""
	}
	return fmt.Sprintf(", at %s of %s", gigabits(l.Rate), gigabits(fastest))
}

// parts says what a link spent its time on, without parts below a hundredth.
func (c *LinkCost) parts(collective string) string {
	var list []string
	add := func(t unit.Time, format string, args ...any) {
		if t > 0 && t >= c.Total()/100 {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	add(c.Data, "%s for data of %s", brief(c.Data), collective)
	add(c.Shared, "%s for %s", brief(c.Shared), times(c.Others))
	add(c.Paused, "%s paused because of %s", brief(c.Paused), times(c.Pausers))
	add(c.Recovery, "%s to recover %s", brief(c.Recovery), c.missing())
	return strings.Join(list, ", ")
}

// missing counts the frames that were lost, and those that were trimmed.
func (t *LinkTime) missing() string {
	var list []string
	if t.Lost > 0 {
		list = append(list, unit.Counted(t.Lost, "lost frame"))
	}
	if t.Trimmed > 0 {
		list = append(list, unit.Counted(t.Trimmed, "trimmed frame"))
	}
	return strings.Join(list, " and ")
}

// times names causes, each with its time if there are several.
func times(of []TimeOf) string {
	if len(of) == 1 {
		return of[0].Name
	}
	var names []string
	for i, t := range of {
		if i == maxNamed {
			names = append(names, fmt.Sprintf("%d more", len(of)-maxNamed))
			break
		}
		names = append(names, fmt.Sprintf("%s (%s)", t.Name, brief(t.Time)))
	}
	return strings.Join(names, ", ")
}

// Text writes the report as plain text.
func (r *CollectiveReport) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s by %s of %d ranks, of %s under %s\n\n%s\n", r.Name, r.Kind, r.Manner, r.Ranks, r.Scenario, r.Scheme, r.Verdict)
	if r.Done > 0 {
		fmt.Fprintf(&b, "\ntime       %s from %s on; rank %d (%s) ended last\n", brief(r.Time), brief(r.Begin), r.Slowest, r.SlowestHost)
	}
	if r.BusBW > 0 {
		fmt.Fprintf(&b, "bandwidth  algorithm %s, bus %s\n", gigabits(r.AlgBW), gigabits(r.BusBW))
	}
	for _, v := range r.Waiting {
		fmt.Fprintf(&b, "waiting    %s: %s, for %s\n", v.Host, v.Step, v.For)
	}
	if len(r.Path) > 0 {
		r.links(&b)
		r.messages(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// links lists the busiest links of the critical path.
func (r *CollectiveReport) links(b *strings.Builder) {
	b.WriteString("\n1. Links of the critical path that were busy or paused for the longest time\n")
	list(b, r.Links, func(c *LinkCost) {
		fmt.Fprintf(b, "  %10s  %s, %s, %s: %s\n", brief(c.Total()), c.Link, gigabits(c.Rate), unit.Counted(c.Messages, "message"), c.parts(r.Name))
	})
	fmt.Fprintf(b, "  %10s  delays\n", brief(r.Delays))
}

// messages lists the critical path.
func (r *CollectiveReport) messages(b *strings.Builder) {
	fmt.Fprintf(b, "\n2. The critical path: %s, each sent when the one before it had arrived\n", unit.Counted(len(r.Path), "message"))
	if r.Late > 0 {
		fmt.Fprintf(b, "  %s\n", r.late())
	}
	shown := longest(r.Path)
	rows := [][]string{{"begin", "time", "ranks", "size", "busiest link", "data", "shared", "paused", "recovery", "delays"}}
	for i := range shown {
		m := &shown[i]
		l := &m.Busiest
		rows = append(rows, []string{
			brief(m.Begin), brief(m.End - m.Begin), fmt.Sprintf("%d -> %d", m.From, m.To), size(m.Size), l.Link,
			brief(l.Data), brief(l.Shared), brief(l.Paused), brief(l.Recovery), brief(m.End - m.Begin - l.Total()),
		})
	}
	columns(b, rows, linkColumn+1)
	if more := len(r.Path) - len(shown); more > 0 {
		fmt.Fprintf(b, "  and %d that took less time\n", more)
	}
}

// Columns of text in the critical path. Times follow.
const ranksColumn, linkColumn = 2, 4

// columns writes rows of text, the first of which has the headings, in columns as wide as their texts. Columns from
// times on are left out if all their times are 0.
func columns(b *strings.Builder, rows [][]string, times int) {
	for k := len(rows[0]) - 1; k >= times; k-- {
		if !slices.ContainsFunc(rows[1:], func(row []string) bool { return row[k] != brief(0) }) {
			for i := range rows {
				rows[i] = slices.Delete(rows[i], k, k+1)
			}
		}
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for k, text := range row {
			widths[k] = max(widths[k], len(text))
		}
	}
	for _, row := range rows {
		for k, text := range row {
			width := widths[k]
			if k == ranksColumn || k == linkColumn {
				width = -width // aligned to the left
			}
			fmt.Fprintf(b, "  %*s", width, text)
		}
		b.WriteString("\n")
	}
}

// maxMessages is the largest number of messages that the text has.
const maxMessages = 16

// longest returns the messages that took the most time, in the order of the path.
func longest(path []PathMessage) []PathMessage {
	shown := slices.Clone(path)
	slices.SortStableFunc(shown, func(a, b PathMessage) int { return cmp.Compare(b.End-b.Begin, a.End-a.Begin) })
	shown = shown[:min(len(shown), maxMessages)]
	slices.SortFunc(shown, func(a, b PathMessage) int { return cmp.Compare(a.Begin, b.Begin) })
	return shown
}
