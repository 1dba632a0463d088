package collector

import (
	"context"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/internal/vitals"
)

// vitals is a vitals.Source with the figures of GetCounters.
func (s *service) vitals(put func(id vitals.ID, value float64, labels ...string)) {
	c, err := s.GetCounters(context.Background(), &rackfabv1.GetCountersRequest{})
	if err != nil {
		return // the store is closed
	}
	for name, signal := range map[string]*rackfabv1.SignalCounters{"spans": c.GetSpans(), "points": c.GetPoints()} {
		put(vitals.CollectorReceived, float64(signal.GetReceived()), name)
		put(vitals.CollectorStored, float64(signal.GetStored()), name)
		put(vitals.CollectorRejected, float64(signal.GetRejected()), name)
	}
	put(vitals.CollectorQueued, float64(c.GetQueuedRequests()))
	put(vitals.CollectorRefused, float64(c.GetRefusedRequests()))
	put(vitals.CollectorForwardDropped, float64(c.GetForwardDroppedRequests()))
	put(vitals.CollectorDisk, float64(c.GetStoredBytes()))
	put(vitals.CollectorDamaged, float64(c.GetRunsDamaged()))
}
