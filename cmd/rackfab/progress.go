package main

import (
	"fmt"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// advance is how far a run has come.
type advance struct {
	fabric unit.Time
	hops   int64
}

// progress draws a bar on standard error where that is a terminal, and writes a
// line per tenth of the run where it is not.
type progress struct {
	bar      *progressbar.ProgressBar
	scheme   string
	duration unit.Time
	start    time.Time
	tenths   int64 // written
}

func newProgress(s *topology.Scenario) *progress {
	p := &progress{scheme: s.Scheme, duration: s.Duration, start: time.Now()}
	if !term.IsTerminal(int(os.Stderr.Fd())) {
		return p
	}
	p.bar = progressbar.NewOptions64(int64(s.Duration/unit.Nanosecond),
		progressbar.OptionSetWriter(os.Stderr),
		progressbar.OptionSetWidth(30),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionSetElapsedTime(true),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetDescription(s.Scheme))
	return p
}

// show moves the bar to a.
func (p *progress) show(a advance) {
	elapsed := time.Since(p.start)
	text := fmt.Sprintf("%-6s %7.3f of %.3f ms  %5.2f M frame-hops/s", p.scheme,
		a.fabric.Seconds()*1e3, p.duration.Seconds()*1e3, float64(a.hops)/elapsed.Seconds()/1e6)
	if p.bar != nil {
		p.bar.Describe(text)
		_ = p.bar.Set64(int64(min(a.fabric, p.duration) / unit.Nanosecond)) // a bar that cannot be drawn stops nothing
		return
	}
	if tenths := int64(a.fabric) / max(int64(p.duration)/10, 1); tenths > p.tenths && a.fabric < p.duration {
		p.tenths = tenths
		left := time.Duration(float64(elapsed) * (float64(p.duration)/float64(a.fabric) - 1))
		fmt.Fprintf(os.Stderr, "%s  %.1f s left\n", text, left.Seconds())
	}
}

// finish takes the bar away.
func (p *progress) finish() {
	if p.bar != nil {
		_ = p.bar.Finish() // as in show
	}
}
