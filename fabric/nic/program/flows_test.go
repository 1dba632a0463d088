package program

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric/unit"
)

// A Transfer begins its flow when the step is ready, and is done when the flow is complete. An Arrival is done when
// the flow has arrived whole, whichever of the two comes first.
func TestTransfersAndArrivals(t *testing.T) {
	var p Program
	early := p.Add(Step{Kind: Arrival, Peer: 1, Flow: 4})
	ask := p.Add(Step{Kind: Transfer, Peer: 1, Flow: 9}, Done(early))
	late := p.Add(Step{Kind: Arrival, Peer: 1, Flow: 5}, Done(ask))
	p.Add(calc(0, 0), Done(late))
	h := newHost(t, &p)
	h.until(0)
	h.Arrived(1*us, 7, &h.out) // no step waits for it
	h.Arrived(2*us, 5, &h.out) // its step has not begun
	if len(h.posted) != 0 {
		t.Fatalf("began %v before flow 4 had arrived", h.posted)
	}
	h.Arrived(3*us, 4, &h.out)
	if !slices.Equal(h.posted, []int{ask}) {
		t.Fatalf("began %v, want %d", h.posted, ask)
	}
	h.drain()
	if d := cmp.Diff([]string{"0@0ps-3us"}, h.log); d != "" {
		t.Fatal(d)
	}
	h.Sent(8*us, ask, &h.out)
	h.drain()
	if d := cmp.Diff([]string{"0@0ps-3us", "1@3us-8us", "2@8us-8us", "3@8us-8us"}, h.log); d != "" {
		t.Error(d)
	}
}

// The Transfer of an endless flow is done when the flow has begun.
func TestEndlessTransfer(t *testing.T) {
	var p Program
	c := p.Add(calc(2*us, 0))
	e := p.Add(Step{Kind: Transfer, Peer: 1, Flow: 1, Amount: Endless}, Done(c))
	p.Add(Step{Kind: Transfer, Peer: 1, Flow: 2}, Done(e))
	h := newHost(t, &p)
	h.until(5 * us)
	if d := cmp.Diff([]string{"0@0ps-2us", "1@2us-2us"}, h.log); d != "" || !slices.Equal(h.posted, []int{1, 2}) {
		t.Errorf("began %v\n%s", h.posted, d)
	}
}

func TestAFlowHasOneStepOfAKind(t *testing.T) {
	of := func(kinds ...Kind) error {
		var p Program
		for _, k := range kinds {
			p.Add(Step{Kind: k, Flow: 3})
		}
		return p.Validate()
	}
	if err := of(Transfer, Arrival); err != nil {
		t.Error(err)
	}
	for _, k := range []Kind{Transfer, Arrival} {
		if err := of(k, k); err == nil || !strings.Contains(err.Error(), "step 1: flow 3 is that of step 0") {
			t.Errorf("kind %d: %v", k, err)
		}
	}
	var p Program
	p.Add(Step{Kind: Transfer, Amount: -2})
	if err := p.Validate(); err == nil {
		t.Error("a Transfer of -2 bytes is valid")
	}
}

// PROG-8: A step of a program that runs takes less than 200 bytes, with a condition.
func TestBytesPerStep(t *testing.T) {
	const n = 200_000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	p := &Program{}
	p.Add(calc(us, 0))
	for i := range n - 1 {
		s := Step{Kind: Kind(i % 3), Peer: 1, Amount: int64(i%3 + 1)}
		p.Add(s, Done(i))
	}
	r := New(p, nil)
	runtime.GC()
	runtime.ReadMemStats(&after)
	bytes := float64(after.HeapAlloc-before.HeapAlloc) / n
	runtime.KeepAlive(r)
	t.Logf("%.0f bytes per step", bytes)
	if bytes >= 200 {
		t.Errorf("%.0f bytes per step, want less than 200", bytes)
	}
}

// PROG-7: A step that waits is not looked at: an idle one whose conditions are overwritten as if they were met does not
// begin while others run.
func TestIdleStepsAreNotLookedAt(t *testing.T) {
	var p Program
	never := p.Add(Step{Kind: Receive, Peer: 1})
	for range 1000 {
		p.Add(calc(us, 1), Done(never))
	}
	last := p.Add(calc(us, 0))
	for range 9 {
		last = p.Add(calc(us, 0), Done(last))
	}
	h := newHost(t, &p)
	h.until(0)
	for i := 1; i <= 1000; i++ {
		h.waiting[i] = 0
	}
	h.until(unit.Second)
	if len(h.log) != 10 || h.log[9] != "1010@9us-10us" {
		t.Errorf("%d steps are done, want those of the chain alone: %v", len(h.log), h.log)
	}
}
