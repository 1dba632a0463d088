package balance

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
)

// take returns the port of a packet of flow 0 in a set and class.
func (b *Balancer) take(c Choice, set int, class fabric.Priority, queues Queues) fabric.Port {
	p := packet(0, 0)
	p.Set, p.Class = set, class
	return b.Port(c, p, queues)
}

// PATH-2: each set and class has a turn of its own, and not all begin with the same port.
func TestTurnsOfSetsAndClasses(t *testing.T) {
	b := New(Default(), 1)
	sets, classes := map[fabric.Port]bool{}, map[fabric.Port]bool{}
	for set := range 40 {
		sets[b.take(Spray, set, 0, nil)] = true
	}
	for class := range fabric.Priority(fabric.Priorities) {
		classes[b.take(Spray, 50, class, nil)] = true
	}
	if len(sets) != 4 || len(classes) < 2 {
		t.Errorf("sets begin with ports %v, classes with %v", sets, classes)
	}
	for class := range fabric.Priority(2) {
		first, count := b.take(Spray, 60, class, nil), map[fabric.Port]int{}
		for range 8 {
			b.take(Spray, 60, 7, nil)
			count[b.take(Spray, 60, class, nil)]++
		}
		for _, port := range four {
			if count[port] != 2 {
				t.Errorf("class %d: packets by port %v after port %d", class, count, first)
			}
		}
	}
}

// The turns begin anew, and the best port is forgotten, once the sets have other ports.
func TestRenumber(t *testing.T) {
	b := New(Default(), 1)
	first := b.take(Spray, 1, 0, nil)
	b.Renumber()
	if got := b.take(Spray, 1, 0, nil); got != first {
		t.Errorf("begins with port %d, then with %d", first, got)
	}
	queues := depths(0, 9, 9, 9)
	for b.take(DRILL, 1, 0, queues) != 2 { // until port 2 is remembered
	}
	other := 0
	for range 100 {
		b.Renumber()
		if b.take(DRILL, 1, 0, queues) != 2 {
			other++
		}
	}
	if other < 20 { // 50 by expectation; 6 sigma are 30
		t.Errorf("%d of 100 packets do not take the port remembered before", other)
	}
}

// PATH-7: among equal queues the first sample wins: neither the second nor the memory.
func TestDRILLTies(t *testing.T) {
	b := New(Default(), 1)
	for range 100 {
		twin := b.random
		if got, want := b.take(DRILL, 1, 0, depths(5, 5, 5, 5)), four[scale(twin.Uint64(), 4)]; got != want {
			t.Fatalf("took port %d, want the first sample %d", got, want)
		}
	}
}

// PATH-10: choices by packet reorder packets of a flow; those by flow or flowlet do not.
func TestPerPacket(t *testing.T) {
	for c, want := range map[Choice]bool{ECMP: false, Flowlet: false, Spray: true, Random: true, Adaptive: true, DRILL: true} {
		if c.PerPacket() != want {
			t.Errorf("%s: %t, want %t", c, !want, want)
		}
	}
}
