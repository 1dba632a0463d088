package telemetry

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// Totals accumulates the counts of exported and dropped telemetry. It is safe for
// concurrent use.
type Totals struct {
	mu   sync.Mutex
	runs []string
	sum  rackfabv1.TelemetryCounts
}

// Add adds the counts of a run's spans and points at some nodes.
func (l *Totals) Add(c *rackfabv1.TelemetryCounts) {
	if c == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sum.Made += c.GetMade()
	l.sum.Sent += c.GetSent()
	l.sum.Cut += c.GetCut()
	l.sum.PointsMade += c.GetPointsMade()
	l.sum.PointsSent += c.GetPointsSent()
	l.sum.Dropped = addCounts(l.sum.GetDropped(), c.GetDropped())
	l.sum.PointsDropped = addCounts(l.sum.GetPointsDropped(), c.GetPointsDropped())
}

func addCounts(sum, more map[string]int64) map[string]int64 {
	if sum == nil {
		sum = map[string]int64{}
	}
	for why, n := range more {
		sum[why] += n
	}
	return sum
}

// WriteSummary writes the summary of the export: one line, and one line per kind of loss.
func (t *Flags) WriteSummary(w io.Writer) error {
	if t.Address == "" {
		return nil
	}
	t.Totals.mu.Lock()
	defer t.Totals.mu.Unlock()
	c := &t.Totals.sum
	_, err := fmt.Fprintf(w, "telemetry: %d spans and %d points to %s, runs %s\n%s%s%s", c.GetSent(), c.GetPointsSent(), t.where(),
		strings.Join(t.Totals.runs, " "), lossText("spans", c.GetMade(), c.GetDropped()), lossText("points", c.GetPointsMade(), c.GetPointsDropped()), cutText(c.GetCut()))
	return err
}

// where returns the address of the collector, or the folder of its data.
func (t *Flags) where() string {
	if t.Address == Own {
		return t.Folder
	}
	return t.Address
}

// lossText returns a line on the dropped items, or "" if none were dropped.
func lossText(what string, made int64, by map[string]int64) string {
	sum := int64(0)
	for _, n := range by {
		sum += n
	}
	if sum == 0 {
		return ""
	}
	return fmt.Sprintf("telemetry: %d of %d %s were dropped: %s\n", sum, made, what, Losses(by))
}

func cutText(cut int64) string {
	if cut == 0 {
		return ""
	}
	return fmt.Sprintf("telemetry: %d spans were ended before their time: too many messages were under way\n", cut)
}

// ForRun returns the telemetry settings of one run, with a unique run name.
func (t *Flags) ForRun(parts ...string) *rackfabv1.Telemetry {
	out := t.message()
	if out == nil {
		return nil
	}
	t.Totals.mu.Lock()
	defer t.Totals.mu.Unlock()
	parts = append(parts, time.Now().Format("20060102-150405.000"))
	if n := len(t.Totals.runs); n > 0 {
		parts = append(parts, strconv.Itoa(n+1))
	}
	out.Run = strings.Join(parts, "-")
	t.Totals.runs = append(t.Totals.runs, out.GetRun())
	return out
}

// Losses formats losses by reason, or "0" if there are none.
func Losses(by map[string]int64) string {
	var words []string
	for _, why := range slices.Sorted(maps.Keys(by)) {
		words = append(words, fmt.Sprintf("%s %d", why, by[why]))
	}
	if len(words) == 0 {
		return "0"
	}
	return strings.Join(words, ", ")
}
