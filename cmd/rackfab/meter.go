package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/rackfab/rackfab/fabric/unit"
)

// meter draws a bar with the time left on standard error where that is a
// terminal, and writes a line per tenth of the work where it is not. The work is
// measured in fabric time.
type meter struct {
	bar    *progressbar.ProgressBar
	total  unit.Time
	start  time.Time
	tenths int64 // written
}

// redraw is how long a bar stands at least: a slow line carries no more.
const redraw = 100 * time.Millisecond

func newMeter(total unit.Time) *meter {
	m := &meter{total: total, start: time.Now()}
	if isTerminal(os.Stderr) {
		m.bar = progressbar.NewOptions64(int64(total/unit.Nanosecond),
			progressbar.OptionSetWriter(os.Stderr),
			progressbar.OptionSetWidth(barWidth(terminalWidth(os.Stderr))),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionSetElapsedTime(true),
			progressbar.OptionThrottle(redraw),
			progressbar.OptionClearOnFinish())
	}
	return m
}

// barWidth leaves room for two runs side by side on a terminal of 80 columns.
func barWidth(terminal int) int { return min(max(terminal-75, 5), 30) }

// show says how much of the work is done, with how many frame-hops, and what is
// going on.
func (m *meter) show(done unit.Time, hops int64, what string) {
	elapsed := time.Since(m.start)
	text := strings.TrimSpace(fmt.Sprintf("%s  %.2f M frame-hops/s", what, float64(hops)/elapsed.Seconds()/1e6))
	if m.bar != nil {
		m.bar.Describe(text)
		_ = m.bar.Set64(int64(done / unit.Nanosecond)) // a bar that cannot be drawn stops nothing
		return
	}
	if tenths := int64(done) / max(int64(m.total)/10, 1); tenths > m.tenths && done < m.total {
		m.tenths = tenths
		left := time.Duration(float64(elapsed) * (float64(m.total)/float64(done) - 1))
		fmt.Fprintf(os.Stderr, "%s  %.1f s left\n", text, left.Seconds())
	}
}

// finish takes the bar away.
func (m *meter) finish() {
	if m.bar != nil {
		_ = m.bar.Finish() // as in show
	}
}

// tally shows on standard error, where that is a terminal, how far work has come
// whose end is not known.
type tally struct{ bar *progressbar.ProgressBar }

func newTally() tally {
	return tally{progressbar.NewOptions(-1,
		progressbar.OptionSetWriter(os.Stderr),
		progressbar.OptionSetVisibility(isTerminal(os.Stderr)),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionThrottle(redraw),
		progressbar.OptionClearOnFinish())}
}

func (c tally) show(text string) {
	c.bar.Describe(text)
	_ = c.bar.Add(1) // a line that cannot be drawn stops nothing
}

// finish takes the line away.
func (c tally) finish() { _ = c.bar.Finish() } // as in show
