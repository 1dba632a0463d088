package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
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

// progress draws a bar over several runs on standard error where that is a
// terminal, and writes a line per tenth of them where it is not. Runs may
// advance at the same time.
type progress struct {
	mu     sync.Mutex
	bar    *progressbar.ProgressBar
	runs   []*topology.Scenario
	at     []advance // of each run
	start  time.Time
	tenths int64 // written
}

func newProgress(runs []*topology.Scenario) *progress {
	p := &progress{runs: runs, at: make([]advance, len(runs)), start: time.Now()}
	if term.IsTerminal(int(os.Stderr.Fd())) {
		p.bar = newBar(int64(p.total() / unit.Nanosecond))
	}
	return p
}

// newBar makes a bar on standard error that predicts the time left.
func newBar(steps int64) *progressbar.ProgressBar {
	return progressbar.NewOptions64(steps,
		progressbar.OptionSetWriter(os.Stderr),
		progressbar.OptionSetWidth(30),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionSetElapsedTime(true),
		progressbar.OptionClearOnFinish())
}

// total is the fabric time of all runs together.
func (p *progress) total() (sum unit.Time) {
	for _, s := range p.runs {
		sum += s.Duration
	}
	return sum
}

// show notes that a run has come to a.
func (p *progress) show(run int, a advance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at[run] = a
	done, hops := unit.Time(0), int64(0)
	for i, a := range p.at {
		done += min(a.fabric, p.runs[i].Duration)
		hops += a.hops
	}
	elapsed := time.Since(p.start)
	text := fmt.Sprintf("%s  %5.2f M frame-hops/s", p.running(), float64(hops)/elapsed.Seconds()/1e6)
	if p.bar != nil {
		p.bar.Describe(text)
		_ = p.bar.Set64(int64(done / unit.Nanosecond)) // a bar that cannot be drawn stops nothing
		return
	}
	if tenths := int64(done) / max(int64(p.total())/10, 1); tenths > p.tenths && done < p.total() {
		p.tenths = tenths
		left := time.Duration(float64(elapsed) * (float64(p.total())/float64(done) - 1))
		fmt.Fprintf(os.Stderr, "%s  %.1f s left\n", text, left.Seconds())
	}
}

// running lists how far the runs under way have come.
func (p *progress) running() string {
	var parts []string
	for i, a := range p.at {
		if s := p.runs[i]; a.fabric > 0 && a.fabric < s.Duration {
			parts = append(parts, fmt.Sprintf("%s %.3f of %.3f ms", s.Scheme, a.fabric.Seconds()*1e3, s.Duration.Seconds()*1e3))
		}
	}
	return strings.Join(parts, ", ")
}

// finish takes the bar away.
func (p *progress) finish() {
	if p.bar != nil {
		_ = p.bar.Finish() // as in show
	}
}
