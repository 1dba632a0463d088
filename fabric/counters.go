package fabric

import (
	"iter"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Onset holds the instants at which congestion first showed in a traffic class of
// a port. 0 means not yet: no frame arrives anywhere at instant 0.
type Onset struct {
	CE            unit.Time `json:"first_ce_ps,omitempty"`             // the egress queue marked a frame with CE
	PauseSent     unit.Time `json:"first_pause_sent_ps,omitempty"`     // PAUSE to the peer
	PauseReceived unit.Time `json:"first_pause_received_ps,omitempty"` // PAUSE from the peer
}

// First sets an instant of an onset to now, unless it is already set.
func First(at *unit.Time, now unit.Time) {
	if *at == 0 {
		*at = now
	}
}

// ClassCounters are the counters of one traffic class of a port. Their names are
// those that this kind of device uses.
type ClassCounters struct {
	Class Priority
	Onset
	Counters iter.Seq2[string, uint64]
}

// NonZero returns the counters that are not 0, nil if all are 0.
func NonZero(counters iter.Seq2[string, uint64]) map[string]uint64 {
	var list map[string]uint64
	for name, value := range counters {
		if value == 0 {
			continue
		}
		if list == nil {
			list = map[string]uint64{}
		}
		list[name] += value
	}
	return list
}
