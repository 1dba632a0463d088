package nodeservice

import (
	"sync"

	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/runner"
	"github.com/rackfab/rackfab/services/internal/vitals"
)

// pulse holds the node's counters over all of its runs. The loop of a run updates it
// several times a second; the metrics endpoint reads it.
type pulse struct {
	mu      sync.Mutex
	runs    int64
	grants  int64
	fabric  unit.Time
	before  tallied // of earlier runs
	present tallied
	tell    *teller // of the current run
}

// tallied holds the counters of one or several runs.
type tallied struct {
	hops, wakeups, sent, resent, missed, stray int64
	told                                       map[string]signal
}

// signal counts the spans, or the points, that were queued, sent and dropped.
type signal struct {
	queued, sent int64
	dropped      map[string]int64
}

// begin counts a run and makes it the current one.
func (p *pulse) begin(tell *teller) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs++
	p.fabric, p.present, p.tell = 0, tallied{}, tell
}

// beat updates the counters of the current run.
func (p *pulse) beat(at unit.Time, r *runner.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fabric = at
	p.present = tallied{
		hops: r.FrameHops, wakeups: r.Wakeups, sent: r.Envelopes, resent: r.Resent, missed: r.Missed,
		stray: r.Foreign + r.Malformed + r.OtherVersion + r.Oversized,
	}
}

// granted counts a grant.
func (p *pulse) granted() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.grants++
}

// end adds the counters of the current run to those of earlier runs.
func (p *pulse) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.before = p.sum()
	for name, s := range p.before.told {
		s.queued = 0
		p.before.told[name] = s
	}
	p.present, p.tell = tallied{}, nil
}

// sum returns the counters of the current run and all earlier ones.
func (p *pulse) sum() tallied {
	a, b := p.before, p.present
	total := tallied{
		hops: a.hops + b.hops, wakeups: a.wakeups + b.wakeups, sent: a.sent + b.sent,
		resent: a.resent + b.resent, missed: a.missed + b.missed, stray: a.stray + b.stray, told: map[string]signal{},
	}
	for name, s := range signals(p.tell.counts()) {
		was := a.told[name]
		for reason, n := range was.dropped {
			s.dropped[reason] += n
		}
		s.sent += was.sent
		total.told[name] = s
	}
	return total
}

// signals returns the counters of spans and of points.
func signals(c *rackfabv1.TelemetryCounts) map[string]signal {
	one := func(made, sent int64, dropped map[string]int64) signal {
		s := signal{queued: made - sent, sent: sent, dropped: map[string]int64{}}
		for reason, n := range dropped {
			s.dropped[reason] = n
			s.queued -= n
		}
		return s
	}
	return map[string]signal{
		"spans":  one(c.GetMade(), c.GetSent(), c.GetDropped()),
		"points": one(c.GetPointsMade(), c.GetPointsSent(), c.GetPointsDropped()),
	}
}

// tellVitals exports the counters; it is a vitals.Source.
func (p *pulse) tellVitals(put func(id vitals.ID, value float64, labels ...string)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	sum := p.sum()
	for _, v := range []struct {
		id    vitals.ID
		value int64
	}{
		{vitals.Runs, p.runs},
		{vitals.Grants, p.grants},
		{vitals.FrameHops, sum.hops},
		{vitals.Wakeups, sum.wakeups},
		{vitals.EnvelopesSent, sum.sent},
		{vitals.EnvelopesResent, sum.resent},
		{vitals.EnvelopesMissed, sum.missed},
		{vitals.EnvelopesStray, sum.stray},
	} {
		put(v.id, float64(v.value))
	}
	put(vitals.FabricTime, float64(p.fabric)/float64(unit.Second))
	for name, s := range sum.told {
		put(vitals.TelemetryQueued, float64(s.queued), name)
		put(vitals.TelemetrySent, float64(s.sent), name)
		for reason, n := range s.dropped {
			put(vitals.TelemetryDropped, float64(n), name, reason)
		}
	}
}
