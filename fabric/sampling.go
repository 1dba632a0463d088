package fabric

import "github.com/rackfab/rackfab/fabric/unit"

// Sampling sets when a machine samples its state (QueueSampled, PortSampled,
// SentSampled, TokensSampled): at the end of each span of the run, counted from 0.
// The zero value disables sampling.
type Sampling struct {
	Every unit.Time // length of a span
	End   unit.Time // end of the run; it may shorten the last span
}

// After returns the last picosecond of the span that contains now, Never if there is
// none. Events at the next instant belong to the next span.
func (s Sampling) After(now unit.Time) unit.Time {
	if s.Every <= 0 || now >= s.End {
		return unit.Never
	}
	return min((now/s.Every+1)*s.Every, s.End) - 1
}
