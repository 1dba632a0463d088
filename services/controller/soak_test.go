package controller

import (
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// mostPerBurst bounds the memory of a burst of 300 flows in a rack of 8 nodes and a controller, in bytes:
// the change, in each process and in the journal, and the receiver's list of ended flows, together 9,000 to 11,000
// bytes. 30 bytes more that stay per flow, in a single process, exceed it.
const mostPerBurst = 16_000

// TRUST-6: A live rack keeps the changes that were made to it, but nothing for each flow that has ended.
func TestEndedFlowsCostNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("160 bursts of 300 flows")
	}
	r := started(t, Options{Journal: t.TempDir() + "/journal.yaml"})
	change := func(c *rackfabv1.Change) {
		if _, err := r.API().Apply(t.Context(), &rackfabv1.ApplyRequest{Change: c}); err != nil {
			t.Fatal(err)
		}
	}
	change(&rackfabv1.Change{Verb: &rackfabv1.Change_StopFlow{StopFlow: "F0"}})
	bursts := 0
	after := func(n int) uint64 { // the least of the last bursts: buffers are in use for a while, on a busy machine longer
		least := uint64(math.MaxUint64)
		for ; bursts < n; bursts++ {
			change(&rackfabv1.Change{Verb: &rackfabv1.Change_Burst{Burst: &rackfabv1.Burst{
				Name: fmt.Sprint("b", bursts), From: "h0..h2", To: "r0", FlowsPerSender: 100, Volume: &rackfabv1.Burst_SizeBytes{SizeBytes: 1000},
			}}})
			r.step(t, 300*unit.Microsecond)
			if n-bursts <= 10 {
				least = min(least, heapInUse())
			}
		}
		return least
	}
	after(40) // buffers have their size
	first := after(80)
	second := after(160)
	each := (int64(second) - int64(first)) / 80
	t.Logf("%d bytes per burst of 300 flows", each)
	if each > mostPerBurst {
		t.Errorf("%d bytes per burst stay in memory, want at most %d", each, mostPerBurst)
	}
	replayed(t, r.journal(t))
}

// heapInUse returns the heap in use after a garbage collection, in bytes.
func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // the second run empties pools
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
