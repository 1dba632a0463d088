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
// terminal, otherwise one line per tenth of the work. Work is measured in fabric time.
type Meter struct {
	bar    *progressbar.ProgressBar
	total  unit.Time
	start  time.Time
	tenths int64 // tenths already written
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
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionSetElapsedTime(true),
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
	text := strings.TrimSpace(fmt.Sprintf("%s  %.2f M frame-hops/s", what, float64(hops)/elapsed.Seconds()/1e6))
	if m.bar != nil {
		m.bar.Describe(text)
		_ = m.bar.Set64(int64(done / unit.Nanosecond)) // a failed update of the bar is harmless
		return
	}
	if tenths := int64(done) / max(int64(m.total)/10, 1); tenths > m.tenths && done < m.total {
		m.tenths = tenths
		left := time.Duration(float64(elapsed) * (float64(m.total)/float64(done) - 1))
		fmt.Fprintf(os.Stderr, "%s  %.1f s left\n", text, left.Seconds())
	}
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
