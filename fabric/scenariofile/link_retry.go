package scenariofile

import (
	"github.com/rackfab/rackfab/fabric/llr"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// retryFields are the settings of link-layer retry. They are the same at both ends of a link and
// cannot change while the rack runs.
var retryFields = []field[topology.Link]{
	of("llr", "link-layer retry: both ends number their frames, and replay those that the link lost or damaged", boolean.omit(isZero), func(l *topology.Link) *bool { return &l.Retry.On }),
	cite("own: covers the time until the ACK of a frame", of("llr_buffer", "replay buffer of each end: bytes without an ACK; 0 for as much as the link needs at its rate", sizes.from(0, llr.MaxBuffer).omit(isZero), func(l *topology.Link) *unit.Bytes { return &l.Retry.Buffer })),
	cite("HPE's Slingshot driver", of("llr_timeout", "time without an ACK after which an end replays; 0 for three times the time from a frame to its ACK", times.from(0, longest).omit(isZero), func(l *topology.Link) *unit.Time { return &l.Retry.Timeout })),
	cite("SONiC LLR design, sample profiles", of("llr_retries", "replays of a frame after which an end drops what it holds and initialises the link", integer[int](1, llr.MaxRetries).omit(equals(defaultRetry.Retries)), func(l *topology.Link) *int { return &l.Retry.Retries })),
	cite("SAI, LLR profile", of("llr_spacing", "least distance between two ACKs, in bytes of link time", sizes.from(0, largest).omit(equals(defaultRetry.Spacing)), func(l *topology.Link) *unit.Bytes { return &l.Retry.Spacing })),
	of("llr_latency", "time from the arrival of a frame to its ACK or NACK", times.from(0, unit.Millisecond).omit(isZero), func(l *topology.Link) *unit.Time { return &l.Retry.Latency }),
}

var defaultRetry = llr.DefaultSettings()

// checkRetry checks that the settings of link-layer retry fit the links.
func (b *builder) checkRetry() {
	for i := range b.s.Links {
		l := &b.s.Links[i]
		if !l.Retry.On {
			continue
		}
		if _, err := l.CompleteRetry(); !b.accept(err, b.links[i].of("llr")) {
			return
		}
	}
}
