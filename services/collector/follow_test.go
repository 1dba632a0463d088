package collector

import (
	"testing"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/collector/store"
)

// A slow follower misses responses and learns how many.
func TestSlowFollowerMissesEvents(t *testing.T) {
	h := newHub()
	f := &follower{q: &rackfabv1.FollowRequest{Traces: true}, out: make(chan *rackfabv1.FollowResponse, 1)}
	h.followers[f] = true
	d := []*store.Delivery{{Run: store.RunInfo{Run: "a"}, Spans: []store.Span{{ID: 1}}}}
	for range 3 {
		h.publish(d)
	}
	<-f.out
	h.publish(d)
	if out := <-f.out; out.GetMissed() != 2 || h.missed.Load() != 2 {
		t.Errorf("missed %d, %d in total", out.GetMissed(), h.missed.Load())
	}
}
