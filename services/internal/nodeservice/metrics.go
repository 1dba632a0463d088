package nodeservice

import (
	"github.com/rackfab/rackfab/services/health"
	"github.com/rackfab/rackfab/services/internal/runner"
)

// metrics is a health.Source of the counters of the run.
func (r *run) metrics(put health.Put) {
	var p runner.Result
	if len(r.nodes) > 0 {
		p = r.nodes[0].latest.Load().result
	}
	put(health.FrameHops, float64(p.FrameHops))
	put(health.Wakeups, float64(p.Wakeups))
	put(health.EnvelopesSent, float64(p.Envelopes))
	put(health.EnvelopesResent, float64(p.Resent))
	put(health.EnvelopesMissed, float64(p.Missed))
	put(health.EnvelopesStray, float64(p.Foreign+p.Malformed+p.OtherVersion+p.Oversized))
	c := r.export.counts()
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
