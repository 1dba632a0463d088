package collector

import (
	"context"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/health"
)

// metrics is a health.Source with the figures of GetCounters.
func (s *service) metrics(put health.Put) {
	c, err := s.GetCounters(context.Background(), &rackfabv1.GetCountersRequest{})
	if err != nil {
		return // the store is closed
	}
	for name, signal := range map[string]*rackfabv1.SignalCounters{"spans": c.GetSpans(), "points": c.GetPoints()} {
		put(health.CollectorReceived, float64(signal.GetReceived()), name)
		put(health.CollectorStored, float64(signal.GetStored()), name)
		put(health.CollectorRejected, float64(signal.GetRejected()), name)
	}
	put(health.CollectorQueued, float64(c.GetQueuedRequests()))
	put(health.CollectorRefused, float64(c.GetRefusedRequests()))
	put(health.CollectorForwardDropped, float64(c.GetForwardDroppedRequests()))
	put(health.CollectorDisk, float64(c.GetStoredBytes()))
	put(health.CollectorDamaged, float64(c.GetRunsDamaged()))
}
