package fabric

import "github.com/rackfab/rackfab/fabric/unit"

// Sampling says when a machine notes how things stand (QueueSampled, PortSampled,
// SentSampled, TokensSampled): at the end of each span of the run, counted from 0. The zero
// value is never.
type Sampling struct {
	Every unit.Time // length of a span
	End   unit.Time // of the run; it cuts the last span short
}

// After gives the last picosecond of the span that holds now, Never if there is
// none. What happens at the next instant belongs to the next span.
func (s Sampling) After(now unit.Time) unit.Time {
	if s.Every <= 0 || now >= s.End {
		return unit.Never
	}
	return min((now/s.Every+1)*s.Every, s.End) - 1
}
