package nodeservice

import (
	"github.com/rackfab/rackfab/fabric/unit"
	"github.com/rackfab/rackfab/services/health"
	"github.com/rackfab/rackfab/services/internal/runner"
)

// count updates the metrics of the run.
func (p *part) count(at unit.Time, r *runner.Result) {
	p.counted.Store(r)
	p.runs.Reach(at)
}

// metrics is a health.Source of the counters of the run.
func (p *part) metrics(put func(id health.ID, value float64, labels ...string)) {
	r := p.counted.Load()
	if r == nil {
		r = &runner.Result{}
	}
	put(health.FrameHops, float64(r.FrameHops))
	put(health.Wakeups, float64(r.Wakeups))
	put(health.EnvelopesSent, float64(r.Envelopes))
	put(health.EnvelopesResent, float64(r.Resent))
	put(health.EnvelopesMissed, float64(r.Missed))
	put(health.EnvelopesStray, float64(r.Foreign+r.Malformed+r.OtherVersion+r.Oversized))
	c := p.tell.counts()
	signal := func(name string, made, sent int64, dropped map[string]int64) {
		queued := made - sent
		for reason, n := range dropped {
			queued -= n
			put(health.TelemetryDropped, float64(n), name, reason)
		}
		put(health.TelemetrySent, float64(sent), name)
		put(health.TelemetryQueued, float64(queued), name)
	}
	signal("spans", c.GetMade(), c.GetSent(), c.GetDropped())
	signal("points", c.GetPointsMade(), c.GetPointsSent(), c.GetPointsDropped())
}
