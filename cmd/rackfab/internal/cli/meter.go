package cli

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/report/table"
)

// Meter shows progress on standard error: a bar with the remaining time if that is a
// terminal, otherwise a line at the first progress and then every few seconds. Work is
// measured in fabric time.
type Meter struct {
	bar   *progressbar.ProgressBar
	total unit.Time
	start time.Time
	lines pace
}

// pace spaces lines in time.
type pace struct{ next time.Duration } // 0 before the first line

// LineEvery is the minimum time between two lines of progress where there is no terminal.
const LineEvery = 5 * time.Second

// due reports whether a line may be written after that time since the start, and notes it.
func (p *pace) due(elapsed time.Duration) bool {
	if elapsed < p.next {
		return false
	}
	p.next = elapsed + LineEvery
	return true
}

// redraw is the minimum time between two updates of a bar, so that a slow connection
// can keep up.
const redraw = 100 * time.Millisecond

// NewMeter returns a meter of the given amount of fabric time.
func NewMeter(total unit.Time) *Meter {
	m := &Meter{total: total, start: time.Now()}
	if table.IsTerminal(os.Stderr) {
		m.bar = progressbar.NewOptions64(int64(total/unit.Nanosecond),
			progressbar.OptionSetWriter(os.Stderr),
			progressbar.OptionSetWidth(barWidth(table.Width(os.Stderr))),
			progressbar.OptionSetPredictTime(false),
			progressbar.OptionSetElapsedTime(false),
			progressbar.OptionThrottle(redraw),
			progressbar.OptionClearOnFinish())
	}
	return m
}

// barWidth returns the width of a bar that leaves room for two runs side by side on a
// terminal of 80 columns.
func barWidth(terminal int) int { return min(max(terminal-75, 5), 30) }

// Show updates the work done, the number of frame-hops, and the description.
func (m *Meter) Show(done unit.Time, hops int64, what string) {
	elapsed := time.Since(m.start)
	share := float64(done) / float64(m.total)
	text := description(share, elapsed, hops, what)
	if m.bar != nil {
		m.bar.Describe(text)
		_ = m.bar.Set64(int64(done / unit.Nanosecond)) // a failed update of the bar is harmless
		return
	}
	if done > 0 && done < m.total && m.lines.due(elapsed) {
		fmt.Fprintf(os.Stderr, "%3.0f %%  %s\n", 100*share, text)
	}
}

// description returns what runs, the frame-hops per second, and the time that is left, which is
// unknown before some progress.
func description(share float64, elapsed time.Duration, hops int64, what string) string {
	text := strings.TrimSpace(fmt.Sprintf("%s  %.2f M frame-hops/s", what, float64(hops)/elapsed.Seconds()/1e6))
	if share < 0.01 {
		return text
	}
	return fmt.Sprintf("%s  %.0f s left", text, elapsed.Seconds()*(1/share-1))
}

// Announce shows what is done before the first progress: as the description of the bar,
// or as a line.
func (m *Meter) Announce(what string) {
	if m.bar == nil {
		fmt.Fprintln(os.Stderr, what)
		return
	}
	m.bar.Describe(what)
	_ = m.bar.Set64(0) // as in Show
}

// Finish removes the bar.
func (m *Meter) Finish() {
	if m.bar != nil {
		_ = m.bar.Finish() // as in show
	}
}

// Spinner shows progress of work of unknown length, on standard error if that is a
// terminal.
type Spinner struct{ bar *progressbar.ProgressBar }

// NewSpinner returns a spinner that shows nothing yet.
func NewSpinner() Spinner {
	return Spinner{progressbar.NewOptions(-1,
		progressbar.OptionSetWriter(os.Stderr),
		progressbar.OptionSetVisibility(table.IsTerminal(os.Stderr)),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionThrottle(redraw),
		progressbar.OptionClearOnFinish())}
}

// Show replaces the text.
func (c Spinner) Show(text string) {
	c.bar.Describe(text)
	_ = c.bar.Add(1) // a failed update of the line is harmless
}

// Finish removes the line.
func (c Spinner) Finish() { _ = c.bar.Finish() } // as in show
