package balance

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/splitmix"
	"github.com/rackfab/rackfab/fabric/unit"
)

const us = unit.Microsecond

var four = []fabric.Port{2, 3, 5, 7}

// packet is packet i of the flow with that number, to the ports of four.
func packet(flow uint64, now unit.Time) *Packet {
	return &Packet{Now: now, Hash: splitmix.Mix(flow), Class: 3, Set: 1, Ports: four}
}

// depths returns queues with that many bytes, for the ports of four.
func depths(bytes ...unit.Bytes) Queues {
	return func(p fabric.Port, _ fabric.Priority) unit.Bytes { return bytes[slices.Index(four, p)] }
}

func TestNames(t *testing.T) {
	for i, name := range Names {
		if c, ok := Named(name); c != Choice(i) || !ok || c.String() != name {
			t.Errorf("%s is %v, %v", name, c, ok)
		}
	}
	if c, ok := Named("conga"); c != ECMP || ok {
		t.Errorf("conga is %v", c)
	}
	if got := Choice(99).String(); got != "choice(99)" {
		t.Error(got)
	}
}

// PATH-2: each port in turn, independently of the flow; each class and each set of ports has
// its own turn.
func TestSprayTakesPortsInTurn(t *testing.T) {
	b := New(Default(), 1)
	first := slices.Index(four, b.Port(Spray, packet(0, 0), nil))
	for i := 1; i < 9; i++ {
		other := packet(0, 0)
		other.Class, other.Set = 4, 2 // leaves the turn of class 3 alone
		b.Port(Spray, other, nil)
		if got, want := b.Port(Spray, packet(uint64(i), 0), nil), four[(first+i)%4]; got != want {
			t.Errorf("packet %d takes port %d, want %d", i, got, want)
		}
	}
}

// PATH-2: switches do not all begin with the same port.
func TestSprayBeginsAnywhere(t *testing.T) {
	count := map[fabric.Port]int{}
	for seed := range uint64(400) {
		b := New(Default(), seed)
		count[b.Port(Spray, packet(0, 0), nil)]++
	}
	for _, port := range four {
		if n := count[port]; n < 60 || n > 140 { // 100 by expectation; 4 sigma are 35
			t.Errorf("%d of 400 switches begin with port %d", n, port)
		}
	}
}

// PATH-3: a port for each packet, all of them equally often, whatever the queues are.
func TestRandomIsUniform(t *testing.T) {
	b, count := New(Default(), 1), map[fabric.Port]int{}
	for range 4000 {
		count[b.Port(Random, packet(0, 0), nil)]++
	}
	for _, port := range four {
		if n := count[port]; n < 880 || n > 1120 { // 4 sigma are 110
			t.Errorf("port %d has %d of 4000 packets", port, n)
		}
	}
}

// PATH-6: levels 0 to 3 begin at 0, 1, 2 and 4 steps.
func TestLevels(t *testing.T) {
	p := Default()
	for _, c := range []struct {
		depth unit.Bytes
		want  int
	}{{0, 0}, {4999, 0}, {5000, 1}, {9999, 1}, {10000, 2}, {19999, 2}, {20000, 3}, {1 << 40, 3}} {
		if got := p.Level(c.depth); got != c.want {
			t.Errorf("a queue of %d bytes has level %d, want %d", c.depth, got, c.want)
		}
	}
}

// PATH-6: the lowest level wins, however little the queues differ within it. Among equal
// ones the flow keeps its port, and all flows together use all of the ports.
func TestAdaptive(t *testing.T) {
	b := New(Default(), 1)
	if got := b.Port(Adaptive, packet(0, 0), depths(5000, 10000, 4999, 20000)); got != 5 {
		t.Errorf("took port %d, want the only one below a step", got)
	}
	count := map[fabric.Port]int{}
	for flow := range uint64(400) {
		a := b.Port(Adaptive, packet(flow, 0), depths(4000, 9000, 0, 4999))
		if z := b.Port(Adaptive, packet(flow, 0), depths(0, 9000, 4000, 1)); z != a {
			t.Fatalf("flow %d moves from port %d to %d within a level", flow, a, z)
		}
		count[a]++
	}
	if count[3] != 0 || count[2] < 90 || count[5] < 90 || count[7] < 90 { // 133 by expectation; 4 sigma are 38
		t.Errorf("flows by port: %v", count)
	}
}

// PATH-7: among two samples and the memory the shortest wins: with three of four ports
// compared, the longest queue is never taken, and after the first packets the shortest is
// found and kept.
func TestDRILLKeepsTheShortest(t *testing.T) {
	b := New(Default(), 1)
	found := false
	for range 1000 {
		got := b.Port(DRILL, packet(0, 0), depths(10, 40, 30, 20))
		if found && got != 2 || got == 3 {
			t.Fatalf("took port %d, found: %v", got, found)
		}
		found = found || got == 2
	}
	if !found {
		t.Error("the shortest queue is never taken")
	}
}

// PATH-7: the memory is of one packet: it is compared by its present queue.
func TestDRILLComparesPresentQueues(t *testing.T) {
	b := New(Default(), 1)
	for b.Port(DRILL, packet(0, 0), depths(0, 9, 9, 9)) != 2 { // until port 2 is remembered
	}
	for range 100 {
		if got := b.Port(DRILL, packet(0, 0), depths(9, 0, 0, 0)); got == 2 {
			t.Fatal("took the remembered port, now the longest")
		}
	}
}

// PATH-7: two samples without memory differ, so that of two ports the shorter is taken.
func TestDRILLSamplesDiffer(t *testing.T) {
	for seed := range uint64(100) {
		b := New(Default(), seed)
		p := packet(0, 0)
		p.Ports = four[:2]
		if got := b.Port(DRILL, p, depths(1, 0, 0, 0)); got != 3 {
			t.Fatalf("seed %d: took port %d", seed, got)
		}
	}
}

// PATH-1: a choice takes only ports of the set, and the same seed gives the same ports.
func TestChoicesStayInTheSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Params{
			Gap: unit.Time(rapid.IntRange(0, 50).Draw(t, "gap")), Entries: rapid.IntRange(1, 8).Draw(t, "entries"),
			Levels: rapid.IntRange(2, MaxLevels).Draw(t, "levels"), Step: unit.Bytes(rapid.IntRange(1, 100).Draw(t, "step")),
		}
		seed := rapid.Uint64().Draw(t, "seed")
		a, z := New(p, seed), New(p, seed)
		now := unit.Time(0)
		for range rapid.IntRange(1, 60).Draw(t, "packets") {
			now += unit.Time(rapid.IntRange(0, 40).Draw(t, "later"))
			if rapid.IntRange(0, 20).Draw(t, "renumber") == 0 {
				a.Renumber()
				z.Renumber()
			}
			first, n := rapid.IntRange(0, 3).Draw(t, "first"), rapid.IntRange(2, 5).Draw(t, "ports")
			in := Packet{Now: now, Hash: splitmix.Mix(uint64(rapid.IntRange(0, 5).Draw(t, "flow"))), Class: fabric.Priority(rapid.IntRange(0, 7).Draw(t, "class")), Set: 1 + rapid.IntRange(0, 4).Draw(t, "set")}
			for i := range n {
				in.Ports = append(in.Ports, fabric.Port(first+i))
			}
			queues := func(port fabric.Port, _ fabric.Priority) unit.Bytes { return unit.Bytes(port*port) * 37 % 101 }
			c := Choice(rapid.IntRange(0, len(Names)-1).Draw(t, "choice"))
			got := a.Port(c, &in, queues)
			if !slices.Contains(in.Ports, got) {
				t.Fatalf("%v took port %d out of %v", c, got, in.Ports)
			}
			if again := z.Port(c, &in, queues); again != got {
				t.Fatalf("%v took port %d, and port %d with the same seed", c, got, again)
			}
		}
	})
}

// PATH-6: adaptive against a list of the ports with the lowest level.
func TestAdaptiveAgainstList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := New(Params{Entries: 1, Levels: rapid.IntRange(2, 6).Draw(t, "levels"), Step: 10}, 1)
		bytes := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 400), func(n int) unit.Bytes { return unit.Bytes(n) }), 4, 4).Draw(t, "bytes")
		level := func(n unit.Bytes) (k int) {
			for n >= 10<<k && k < b.Levels-1 {
				k++
			}
			return k
		}
		lowest := b.Levels
		for _, n := range bytes {
			lowest = min(lowest, level(n))
		}
		var best []fabric.Port
		for i, n := range bytes {
			if level(n) == lowest {
				best = append(best, four[i])
			}
		}
		p := packet(rapid.Uint64().Draw(t, "flow"), 0)
		if got, want := b.Port(Adaptive, p, depths(bytes...)), best[scale(p.Hash, len(best))]; got != want {
			t.Fatalf("took port %d, want %d of %v", got, want, best)
		}
	})
}

func TestSet(t *testing.T) {
	p := Default()
	for _, c := range []struct {
		key   fabric.Key
		value int64
		want  bool
	}{
		{fabric.KeyFlowletGap, 7, true},
		{fabric.KeyAdaptiveLevels, 5, true},
		{fabric.KeyAdaptiveStep, 9, true},
		{fabric.KeyFlowletGap, -1, false},
		{fabric.KeyAdaptiveLevels, 1, false},
		{fabric.KeyAdaptiveLevels, 17, false},
		{fabric.KeyAdaptiveStep, 0, false},
		{fabric.KeyXOFF, 1, false},
	} {
		if got := p.Set(c.key, c.value); got != c.want {
			t.Errorf("key %d to %d: %v", c.key, c.value, got)
		}
	}
	if want := (Params{Gap: 7, Entries: Default().Entries, Levels: 5, Step: 9}); p != want {
		t.Errorf("%+v, want %+v", p, want)
	}
	for _, entries := range []int{0, MaxEntries + 1} {
		wrong := Default()
		if wrong.Entries = entries; wrong.Validate() == nil {
			t.Errorf("%d entries are valid", entries)
		}
	}
}
