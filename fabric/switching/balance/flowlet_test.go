package balance

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/splitmix"
	"github.com/rackfab/rackfab/fabric/unit"
)

// PATH-4: packets within the gap keep their port; the gap itself is still within.
func TestFlowletKeepsItsPortWithinTheGap(t *testing.T) {
	b := New(Default(), 1)
	now := unit.Time(0)
	port := b.Port(Flowlet, packet(0, now), nil)
	for range 200 {
		now += 100 * us
		if got := b.Port(Flowlet, packet(0, now), nil); got != port {
			t.Fatalf("moved from port %d to %d at %s", port, got, now)
		}
	}
}

// PATH-4: after the gap, a random port: three of four flowlets move.
func TestFlowletsTakeRandomPorts(t *testing.T) {
	b := New(Default(), 1)
	count, moved, last := map[fabric.Port]int{}, 0, fabric.Port(-1)
	for i := range 4000 {
		port := b.Port(Flowlet, packet(0, unit.Time(i)*(100*us+1)), nil)
		count[port]++
		if port != last {
			moved++
		}
		last = port
	}
	for _, port := range four {
		if n := count[port]; n < 880 || n > 1120 { // 4 sigma are 110
			t.Errorf("port %d has %d of 4000 flowlets", port, n)
		}
	}
	if moved < 2880 || moved > 3120 {
		t.Errorf("%d of 4000 flowlets moved", moved)
	}
}

// PATH-5: flows with one entry share its flowlets.
func TestFlowsShareAnEntry(t *testing.T) {
	p := Default()
	p.Entries = 1
	b := New(p, 1)
	port := b.Port(Flowlet, packet(0, 0), nil)
	for flow := range uint64(50) {
		if got := b.Port(Flowlet, packet(flow, 1), nil); got != port {
			t.Fatalf("flow %d takes port %d, not the %d of the entry", flow, got, port)
		}
	}
	if len(b.flowlets) != 1 {
		t.Errorf("%d entries", len(b.flowlets))
	}
}

// PATH-5: a flowlet whose port left the set goes by the hash, in order, until no packet has
// taken that port for the gap; packets by the hash do not count. Then it takes a random port.
func TestFlowletWithoutItsPort(t *testing.T) {
	moved := 0
	for seed := range uint64(60) {
		b := New(Default(), seed)
		port := b.Port(Flowlet, packet(0, 0), nil)
		b.Renumber()
		p := packet(0, 0)
		p.Ports = slices.DeleteFunc(slices.Clone(four), func(p fabric.Port) bool { return p == port })
		hash := p.Pick()
		at := func(now unit.Time) fabric.Port {
			p.Now = now
			return b.Port(Flowlet, p, nil)
		}
		for now := unit.Time(0); now <= 100*us; now += 10 * us {
			if got := at(now); got != hash {
				t.Fatalf("at %s it takes port %d, want %d by the hash", now, got, hash)
			}
		}
		next := at(101 * us)
		if next != hash {
			moved++
		}
		for now := 101 * us; now < 300*us; now += us {
			if got := at(now); got != next {
				t.Fatalf("the next flowlet moves from port %d to %d", next, got)
			}
		}
	}
	if moved < 25 || moved > 55 { // 40 by expectation; 4 sigma are 15
		t.Errorf("%d of 60 flowlets take another port than that of the hash", moved)
	}
}

// PATH-4: flows without common entries against a map of flowlets.
func TestFlowletsAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Default()
		p.Gap, p.Entries = 20, 1<<12 // the flows 0 to 4 have entries of their own
		b := New(p, 1)
		type state struct {
			last unit.Time
			port fabric.Port
		}
		twin, now := map[uint64]state{}, unit.Time(0)
		for range rapid.IntRange(1, 100).Draw(t, "packets") {
			now += unit.Time(rapid.IntRange(0, 15).Draw(t, "later"))
			flow := rapid.Uint64Range(0, 4).Draw(t, "flow")
			got := b.Port(Flowlet, &Packet{Now: now, Hash: splitmix.Mix(flow), Class: 3, Set: 1, Ports: four}, nil)
			was, ok := twin[flow]
			if ok && now-was.last <= 20 && got != was.port {
				t.Fatalf("flow %d moves from port %d to %d after %d ps", flow, was.port, got, now-was.last)
			}
			twin[flow] = state{now, got}
		}
	})
}
