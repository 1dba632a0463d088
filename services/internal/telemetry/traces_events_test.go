package telemetry

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/tracing"
)

// The reason of a request that waits names the bound that its response exceeds, and the room below it.
func TestReasonNamesTheBound(t *testing.T) {
	for bound, want := range map[fabric.Bound]string{
		fabric.BoundLeaf:   "response of 2KB exceeds the IN tokens of the leaf: 500B",
		fabric.BoundBranch: "response of 2KB exceeds the IN tokens of the branch: 500B",
		fabric.BoundHead:   "response of 2KB exceeds the IN tokens of the head: 500B",
		fabric.BoundOpen:   "response of 2KB exceeds the room for outstanding bytes: 500B",
		fabric.BoundPeriod: "response of 2KB exceeds the room for requests in the period: 500B",
	} {
		for _, kind := range []fabric.Kind{fabric.PassedOver, fabric.TokensAwaited} {
			_, about := event(&tracing.Event{Event: fabric.NewRoomExceeded(kind, 2000, 500, bound)})
			got := map[string]string{}
			for _, a := range about {
				got[string(a.Key)] = a.Value.String()
			}
			if got["rackfab.reason"] != want || got["rackfab.response_bytes"] != "2000" || got["rackfab.room_bytes"] != "500" {
				t.Errorf("%v: %v, want %s", kind, got, want)
			}
		}
	}
}
