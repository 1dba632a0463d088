package switching

import (
	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

// sampler holds the end of the current sampling span.
//
// Invariant: at is not Never if a frame was queued since the last sample, unless
// sampling is off.
type sampler struct {
	fabric.Sampling
	at unit.Time
}

func newSampler(s fabric.Sampling) sampler { return sampler{s, unit.Never} }

// depth is the number of bytes queued at an egress port over all classes, and its
// maximum since the last sample.
type depth struct {
	bytes, peak unit.Bytes
}

func (d *depth) push(length unit.Bytes) {
	d.bytes += length
	d.peak = max(d.peak, d.bytes)
}

// counted is the traffic that a port has sent and marked, over all classes.
type counted struct {
	sent   unit.Bytes
	marked uint64
}

func (p *port) count() (c counted) {
	for class := range p.stats {
		c.sent += p.stats[class].SentBytes + p.stats[class].TelemetryBytes
		c.marked += p.stats[class].MarkedFrames
	}
	return c
}

func (d *depth) pop(length unit.Bytes) { d.bytes -= length }

// sample records the queue of every port that had a non-empty one since the last
// sample, and the traffic of the port. Every frame that a port sends passes its queue.
func (s *Switch) sample(now unit.Time, out *fabric.Out) {
	s.sampler.at = unit.Never
	for i := range s.ports {
		p := &s.ports[i]
		if p.depth.peak == 0 {
			continue
		}
		note(now, p.id, 0, fabric.NewQueueSampled(p.depth.peak, p.depth.bytes), out)
		is := p.count()
		note(now, p.id, 0, fabric.NewPortSampled(is.sent-p.sampled.sent, is.marked-p.sampled.marked), out)
		p.sampled = is
		if p.depth.peak = p.depth.bytes; p.depth.bytes > 0 {
			s.sampler.at = s.sampler.After(now + 1)
		}
	}
}
