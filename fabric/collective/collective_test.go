package collective

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric/nic/program"
	"github.com/rackfab/rackfab/fabric/unit"
)

// drawn returns a valid collective.
func drawn(t *rapid.T) *Spec {
	c := &Spec{Kind: rapid.SampledFrom(Kinds()).Draw(t, "kind"), Channels: 1, Chunks: 1}
	c.Algorithm = rapid.SampledFrom(Algorithms(c.Kind)).Draw(t, "algorithm")
	c.Ranks = rapid.IntRange(2, 9).Draw(t, "ranks")
	if c.Algorithm == Ring && rapid.Bool().Draw(t, "rails") {
		c.Rails = rapid.IntRange(2, 4).Draw(t, "ranks per server")
		c.Ranks = c.Rails * rapid.IntRange(2, 4).Draw(t, "servers")
	}
	if c.Algorithm == HalvingDoubling {
		c.Ranks = 1 << rapid.IntRange(1, 3).Draw(t, "power")
	}
	if c.Kind != Barrier {
		c.Channels, c.Chunks = rapid.IntRange(1, 3).Draw(t, "channels"), rapid.IntRange(1, 3).Draw(t, "chunks")
		c.Size = unit.Bytes(c.pieces() + rapid.IntRange(0, 100).Draw(t, "more"))
	}
	if c.Kind == AllToAllV {
		c.Size, c.Sizes = 0, make(Sizes, c.Ranks)
		for from := range c.Sizes {
			for range c.Ranks {
				size := rapid.SampledFrom([]unit.Bytes{0, unit.Bytes(c.Channels * c.Chunks), 50}).Draw(t, "size")
				c.Sizes[from] = append(c.Sizes[from], size)
			}
		}
		c.Sizes[0][1] = 10 // at least one has some
	}
	return c
}

// COLL-7: Each pair of ranks of an all-to-allv exchanges its bytes, in as many messages as have some.
func TestBytesOfAllToAllV(t *testing.T) {
	c := &Spec{AllToAllV, Direct, 3, 0, 2, 2, Sizes{{9, 0, 1001}, {3, 5, 0}, {0, 0, 0}}, 0}
	if fault := c.Validate(); fault != nil {
		t.Fatal(fault)
	}
	sent, messages := Sizes{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}, 0
	for from, p := range c.Expand() {
		for i := range p.Len() {
			if s := p.At(i); s.Kind == program.Send {
				sent[from][s.Peer] += unit.Bytes(s.Amount)
				messages++
			}
		}
	}
	if got := fmt.Sprint(sent); got != "[[0B 0B 1.001KB] [3B 0B 0B] [0B 0B 0B]]" || messages != 4+3 || c.Messages() != messages {
		t.Errorf("%s in %d messages, Messages returns %d", got, messages, c.Messages())
	}
	// Rank 0 has the most for all ranks, 1,010 bytes, and sends the most, 1,001.
	if c.Data() != 1010 || c.BusShare() != 1001.0/1010 {
		t.Errorf("data %s, share %v", c.Data(), c.BusShare())
	}
	// Rank 1 gets the most: 12 bytes with its own, and 7 from others.
	c.Sizes = Sizes{{0, 4, 0}, {0, 5, 1}, {1, 3, 4}}
	if c.Data() != 12 || c.BusShare() != 7.0/12 {
		t.Errorf("data %s, share %v", c.Data(), c.BusShare())
	}
	// With equal sizes the figures are those of an all-to-all.
	equal, v := &Spec{AllToAll, Direct, 4, 400, 1, 1, nil, 0}, &Spec{Kind: AllToAllV, Ranks: 4}
	for range 4 {
		v.Sizes = append(v.Sizes, []unit.Bytes{100, 100, 100, 100})
	}
	if v.Data() != equal.Data() || v.BusShare() != equal.BusShare() {
		t.Errorf("data %s, share %v", v.Data(), v.BusShare())
	}
}

// COLL-1, COLL-8: Each rank ends with what the collective promises, in whatever order messages arrive.
func TestRanksEndWithWhatIsPromised(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawn(t)
		if fault := c.Validate(); fault != nil {
			t.Fatal(fault)
		}
		programs := c.Expand()
		for r := range programs {
			if err := programs[r].Validate(); err != nil {
				t.Fatalf("rank %d: %v", r, err)
			}
		}
		w := newTwin(c)
		w.run(t, programs, func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "next") })
		w.check(t)
	})
}

// COLL-4, COLL-6: What a rank sends, by the closed forms, and the messages of all ranks.
func TestBytesSentByRanks(t *testing.T) {
	const size = 16 << 10
	tests := []struct {
		kind      Kind
		algorithm Algorithm
		ranks     int
		want      int64 // bytes sent by each rank
		steps     int   // sends of each rank for a chunk of a channel
	}{
		{AllReduce, Ring, 8, 2 * 7 * size / 8, 14},
		{AllReduce, Direct, 8, 2 * 7 * size / 8, 14},
		{AllReduce, HalvingDoubling, 8, 2 * 7 * size / 8, 6},
		{AllGather, Ring, 4, 3 * size / 4, 3},
		{AllGather, HalvingDoubling, 16, 15 * size / 16, 4},
		{ReduceScatter, Ring, 4, 3 * size / 4, 3},
		{ReduceScatter, HalvingDoubling, 2, size / 2, 1},
		{AllToAll, Direct, 16, 15 * size / 16, 15},
	}
	for _, tt := range tests {
		for _, parts := range [][2]int{{1, 1}, {2, 1}, {1, 4}, {2, 4}} {
			c := &Spec{tt.kind, tt.algorithm, tt.ranks, size, parts[0], parts[1], nil, 0}
			sends := 0
			for r, p := range c.Expand() {
				sum, n := int64(0), 0
				for i := range p.Len() {
					if s := p.At(i); s.Kind == program.Send {
						sum, n = sum+s.Amount, n+1
					}
				}
				if sends += n; sum != tt.want || n != tt.steps*parts[0]*parts[1] {
					t.Errorf("%+v: rank %d sends %d bytes in %d messages, want %d in %d", c, r, sum, n, tt.want, tt.steps*parts[0]*parts[1])
				}
			}
			if sends != c.Messages() {
				t.Errorf("%+v: %d messages, Messages returns %d", c, sends, c.Messages())
			}
		}
	}
}

// A broadcast sends the data once to each rank but the root.
func TestBytesOfBroadcasts(t *testing.T) {
	for _, algorithm := range Algorithms(Broadcast) {
		c := &Spec{Broadcast, algorithm, 5, 1003, 2, 3, nil, 0}
		got := make([]int64, c.Ranks)
		for _, p := range c.Expand() {
			for i := range p.Len() {
				if s := p.At(i); s.Kind == program.Send {
					got[s.Peer] += s.Amount
				}
			}
		}
		if fmt.Sprint(got) != "[0 1003 1003 1003 1003]" {
			t.Errorf("%s: ranks get %v bytes", algorithm, got)
		}
	}
}

// COLL-2, COLL-4: The longest chain of messages of a ring all-reduce has 2(n-1) messages, as many as its steps, and that of
// halving and doubling 2 log2(n).
func TestStepsOfRing(t *testing.T) {
	for n := 2; n < 10; n++ {
		c := &Spec{AllReduce, Ring, n, unit.Bytes(n), 1, 1, nil, 0}
		if got := longestChain(c.Expand()); got != 2*(n-1) {
			t.Errorf("%d ranks: %d messages one after the other, want %d", n, got, 2*(n-1))
		}
	}
	if got := longestChain((&Spec{AllReduce, HalvingDoubling, 16, 16, 1, 1, nil, 0}).Expand()); got != 8 {
		t.Errorf("halving and doubling among 16: %d messages one after the other, want 8", got)
	}
	if got := longestChain((&Spec{AllReduce, Direct, 16, 16, 1, 1, nil, 0}).Expand()); got != 2 {
		t.Errorf("direct: %d messages one after the other, want 2", got)
	}
	if got := longestChain((&Spec{Broadcast, Ring, 7, 16, 1, 1, nil, 0}).Expand()); got != 6 {
		t.Errorf("broadcast along a ring of 7: %d messages one after the other, want 6", got)
	}
}

// A receive waits for others only if it adds to what they received. The messages of a barrier have one byte.
func TestConditionsOfReceives(t *testing.T) {
	for r, p := range (&Spec{AllReduce, Ring, 4, 16, 1, 1, nil, 0}).Expand() {
		receives, waiting := 0, 0
		for i := range p.Len() {
			if p.At(i).Kind == program.Receive {
				receives++
				waiting += len(p.Conditions(i))
			}
		}
		if receives != 6 || waiting != 0 { // each adds to another segment, or copies one
			t.Errorf("rank %d: %d receives wait for %d steps, want 6 that wait for none", r, receives, waiting)
		}
	}
	for _, algorithm := range Algorithms(Barrier) {
		for r, p := range (&Spec{Barrier, algorithm, 4, 0, 1, 1, nil, 0}).Expand() {
			for i := range p.Len() {
				if s := p.At(i); s.Kind == program.Send && s.Amount != 1 {
					t.Errorf("%s: rank %d sends %d bytes, want 1", algorithm, r, s.Amount)
				}
			}
		}
	}
}

// The longest chain of a double binary tree goes once up a tree and once down, or down alone.
func TestStepsOfDoubleBinaryTree(t *testing.T) {
	for n, depth := range map[int]int{2: 1, 3: 2, 4: 2, 5: 3, 8: 3, 9: 4, 16: 4, 17: 5, 100: 7, 128: 7, 129: 8} {
		if got := longestChain((&Spec{AllReduce, DoubleBinaryTree, n, 2, 1, 1, nil, 0}).Expand()); got != 2*depth {
			t.Errorf("all-reduce of %d: %d messages one after the other, want %d", n, got, 2*depth)
		}
		if got := longestChain((&Spec{Broadcast, DoubleBinaryTree, n, 2, 1, 1, nil, 0}).Expand()); got != depth {
			t.Errorf("broadcast to %d: %d messages one after the other, want %d", n, got, depth)
		}
	}
}

// COLL-5: Each tree spans the ranks below rank 0, with one child of rank 0 and at most two of others, and no other
// rank has children in both. So each rank sends and receives at most twice the data of an all-reduce.
func TestTwoTrees(t *testing.T) {
	for n := 2; n < 140; n++ {
		trees := twoTrees{n}
		inner := make([]int, n) // trees in which a rank has children
		for tree := range halves {
			children := make([]int, n)
			for _, level := range trees.levels(tree) {
				for _, r := range level {
					if at := trees.position(tree, r); at < 1 || at >= n || trees.rank(tree, at) != r {
						t.Fatalf("%d ranks, tree %d: rank %d is at position %d, which has rank %d", n, tree, r, at, trees.rank(tree, at))
					}
					children[trees.parent(tree, r)]++
				}
			}
			sum := 0
			for r, k := range children {
				sum += k
				if k > 2 || r == 0 && k != 1 {
					t.Errorf("%d ranks, tree %d: rank %d has %d children", n, tree, r, k)
				}
				if k > 0 {
					inner[r]++
				}
			}
			if sum != n-1 {
				t.Errorf("%d ranks, tree %d: %d ranks have a parent", n, tree, sum)
			}
		}
		for r := 1; r < n; r++ {
			if inner[r] > 1 {
				t.Errorf("%d ranks: rank %d has children in both trees", n, r)
			}
		}
	}
}

// A double binary tree sends all data once to each rank of a broadcast, twice that in an all-reduce, and a
// rank at most twice its data, in messages of half a chunk.
func TestBytesOfDoubleBinaryTrees(t *testing.T) {
	for _, n := range []int{2, 3, 8, 13} {
		for kind, times := range map[Kind]int64{Broadcast: 1, AllReduce: 2} {
			c := &Spec{kind, DoubleBinaryTree, n, 1 << 12, 2, 4, nil, 0}
			total, messages := int64(0), 0
			for r, p := range c.Expand() {
				sent := int64(0)
				for i := range p.Len() {
					if s := p.At(i); s.Kind == program.Send {
						if sent, messages = sent+s.Amount, messages+1; s.Amount != 1<<12/16 {
							t.Errorf("%+v: a message of %d bytes", c, s.Amount)
						}
					}
				}
				if total += sent; sent > 2<<12 {
					t.Errorf("%+v: rank %d sends %d bytes", c, r, sent)
				}
			}
			if total != times*int64(n-1)<<12 || messages != c.Messages() {
				t.Errorf("%+v: %d bytes in %d messages, Messages returns %d", c, total, messages, c.Messages())
			}
		}
	}
}

// longestChain returns the largest number of messages each of which waits for the one before.
func longestChain(programs []program.Program) int {
	sender := map[uint32][2]int{}
	for r := range programs {
		for i := range programs[r].Len() {
			if s := programs[r].At(i); s.Kind == program.Send {
				sender[s.Tag] = [2]int{r, i}
			}
		}
	}
	known := map[[2]int]int{}
	var depth func(r, i int) int
	depth = func(r, i int) int {
		if d, ok := known[[2]int{r, i}]; ok {
			return d
		}
		d := 0
		for _, c := range programs[r].Conditions(i) {
			d = max(d, depth(r, c.Step()))
		}
		if s := programs[r].At(i); s.Kind == program.Send {
			d++
		} else {
			from := sender[s.Tag]
			d = max(d, depth(from[0], from[1]))
		}
		known[[2]int{r, i}] = d
		return d
	}
	most := 0
	for r := range programs {
		for i := range programs[r].Len() {
			most = max(most, depth(r, i))
		}
	}
	return most
}

// vary returns a collective as an all-to-allv.
func vary(c *Spec, sizes Sizes) Spec {
	v := *c
	v.Kind, v.Algorithm, v.Size, v.Sizes = AllToAllV, Direct, 0, sizes
	return v
}

func TestFaultsOfCollectives(t *testing.T) {
	valid := Spec{AllReduce, Ring, 4, 1000, 1, 1, nil, 0}
	tests := []struct {
		change func(*Spec)
		want   string
	}{
		{func(c *Spec) { c.Kind = "reduce" }, `kind: "reduce" is unknown, want one of [all-reduce`},
		{func(c *Spec) { c.Kind = AllToAll }, `algorithm: "ring" is not for all-to-all, want one of [direct]`},
		{func(c *Spec) { c.Ranks = 1 }, "ranks: 1 ranks, want 2 to 4096"},
		{func(c *Spec) { c.Ranks = 4097 }, "ranks: 4097 ranks, want 2 to 4096"},
		{func(c *Spec) { c.Ranks, c.Algorithm = 6, HalvingDoubling }, "ranks: 6 ranks, want a power of two"},
		{func(c *Spec) { c.Rails = 3 }, "rails: 3, want 1, or the number of ranks of each of several servers, which divides 4"},
		{func(c *Spec) { c.Rails = 4 }, "rails: 4, want 1, or"},
		{func(c *Spec) { c.Rails = -1 }, "rails: -1, want 1, or"},
		{func(c *Spec) { c.Rails, c.Algorithm = 2, Direct }, "rails: 2, want 1 for direct"},
		{func(c *Spec) { c.Channels = 33 }, "channels: 33, want 1 to 32"},
		{func(c *Spec) { c.Chunks = 0 }, "chunks: 0, want 1 to 1024"},
		{func(c *Spec) { c.Chunks = 251 }, "size: 1KB, want 1.004KB to"},
		{func(c *Spec) { c.Size = MaxSize + 1 }, "want 4B to"},
		{func(c *Spec) { c.Size = 4*program.MaxMessage + 1 }, "size: messages of 2.147483649GB, want at most"},
		{func(c *Spec) { c.Size, c.Algorithm = 2*program.MaxMessage+2, HalvingDoubling }, "size: messages of"},
		{func(c *Spec) { c.Ranks, c.Size = 4096, 1e6 }, "ranks: 33546240 messages, want at most 4194304"},
		{func(c *Spec) { c.Ranks, c.Size = 2048, 1e6 }, "ranks: 8384512 messages, want at most 4194304"},
		{func(c *Spec) { c.Kind, c.Algorithm = Barrier, Direct }, "size: 1KB, want none for a barrier"},
		{func(c *Spec) { c.Kind, c.Algorithm, c.Size, c.Channels = Barrier, Direct, 0, 2 }, "channels: 2, want 1 for a barrier"},
		{func(c *Spec) { c.Kind, c.Algorithm, c.Size, c.Chunks = Barrier, Direct, 0, 2 }, "chunks: 2, want 1 for a barrier"},
		{func(c *Spec) { c.Sizes = Sizes{{1}} }, "sizes: only an all-to-allv has sizes, want none for all-reduce"},
		{func(c *Spec) { *c = vary(c, nil) }, "sizes: 0 rows, want one of each of the 4 ranks"},
		{func(c *Spec) { *c = vary(c, Sizes{{0, 1, 2, 3}, {1}, {}, {}}) }, "sizes: 1 sizes in the row of rank 1, want one for each of the 4 ranks"},
		{func(c *Spec) { *c = vary(c, Sizes{{5, 0}, {0, 5}}); c.Ranks = 2 }, "sizes: no rank has data for another one"},
		{func(c *Spec) { *c = vary(c, Sizes{{0, 0}, {-1, 5}}); c.Ranks = 2 }, "sizes: -1B from rank 1 to rank 0, want 0B to"},
		{func(c *Spec) { *c = vary(c, Sizes{{0, 5 << 30}, {0, 5}}); c.Ranks, c.Chunks = 2, 2 }, "from rank 0 to rank 1, want at most 2.147483648GB: more channels or chunks"},
		{func(c *Spec) { *c = vary(c, Sizes{{0, 1}, {0, 5}}); c.Ranks, c.Size = 2, 7 }, "size: 7B, want none for an all-to-allv"},
	}
	for _, tt := range tests {
		c := valid
		tt.change(&c)
		if fault := c.Validate(); fault == nil || !strings.Contains(fault.Error(), tt.want) {
			t.Errorf("%+v: got %v, want %q", c, fault, tt.want)
		}
	}
	own := vary(&Spec{Ranks: 2, Channels: 1, Chunks: 1}, Sizes{{5 << 30, 1}, {1, 0}}) // its own data is no message
	for _, c := range []Spec{valid, own} {
		if fault := c.Validate(); fault != nil {
			t.Error(fault)
		}
	}
}

// COLL-9: Factors of nccl-tests for 8 ranks, doc/PERFORMANCE.md.
func TestBusShares(t *testing.T) {
	want := map[Kind]float64{AllReduce: 1.75, AllGather: 0.875, ReduceScatter: 0.875, AllToAll: 0.875, Broadcast: 1, Barrier: 0}
	for kind, share := range want {
		if got := (&Spec{Kind: kind, Ranks: 8}).BusShare(); got != share {
			t.Errorf("%s: %v, want %v", kind, got, share)
		}
	}
}
