package collective

import (
	"math/bits"
	"slices"

	"github.com/rackfab/rackfab/fabric/nic/program"
)

// value is the data of one piece at a rank: by rank, how often its contribution was added. A value that is
// added to a sum twice shows up as a 2.
type value map[int]int

// twin carries values through the messages of a collective, in an order that a test draws. It knows which
// pieces a message has only from the algorithm's promise: all messages of a rank's program run, each when
// its conditions are met, and its pieces are found again by its tag.
type twin struct {
	*Spec
	data  []map[int]value // by rank and piece
	moves map[uint32]carried
}

// carried is what a message with a tag has.
type carried struct {
	pieces []int
	sum    bool
}

// carriedBy repeats the order of tags: those of a round count over its messages and chunks.
func carriedBy(c *Spec) map[uint32]carried {
	all := map[uint32]carried{}
	tag := uint32(0)
	add := func(channel, lo, hi int, sum bool) {
		for chunk := range c.Chunks {
			var pieces []int
			for s := lo; s < hi; s++ {
				pieces = append(pieces, (s*c.Channels+channel)*c.Chunks+chunk)
			}
			all[tag] = carried{pieces, sum}
			tag++
		}
	}
	for channel := range c.Channels {
		way := 1 - 2*(channel%2)
		at := func(r int) int { return ((r*way)%c.Ranks + c.Ranks) % c.Ranks }
		near := func(r, places int) int { return (r + at(places) + c.Ranks) % c.Ranks }
		parts := []Kind{c.Kind}
		if c.Kind == AllReduce {
			parts = []Kind{ReduceScatter, AllGather}
		}
		for _, half := range parts {
			switch sum := half == ReduceScatter; {
			case c.Algorithm == DoubleBinaryTree:
				for _, tree := range levelsOfTrees(c.Ranks, sum) {
					add(channel, tree, tree+1, sum)
				}
			case half == Broadcast:
				for range c.Ranks - 1 {
					add(channel, 0, 1, false)
				}
			case half == Barrier && c.Algorithm == Direct:
				for range c.Ranks * (c.Ranks - 1) {
					add(channel, 0, 1, true)
				}
			case half == Barrier:
				for range c.Ranks * (bits.Len(uint(c.Ranks)) - 1) {
					add(channel, 0, 1, true)
				}
			case c.Algorithm == Ring:
				for k := range c.Ranks - 1 {
					for r := range c.Ranks {
						back := k
						if sum {
							back++
						}
						s := near(r, -back)
						if c.Rails > 1 {
							s = upstream(c, channel, r, back)
						}
						add(channel, s, s+1, sum)
					}
				}
			case c.Algorithm == Direct:
				for k := 1; k < c.Ranks; k++ {
					for r := range c.Ranks {
						s := near(r, k)
						if half == AllToAllV && c.Sizes[r][s] == 0 {
							continue
						}
						if half == AllGather {
							s = r
						}
						add(channel, s, s+1, sum)
					}
				}
			case sum:
				for d := c.Ranks / 2; d > 0; d /= 2 {
					for r := range c.Ranks {
						lo := (r ^ d) / d * d
						add(channel, lo, lo+d, true)
					}
				}
			default:
				for d := 1; d < c.Ranks; d *= 2 {
					for r := range c.Ranks {
						add(channel, r/d*d, r/d*d+d, false)
					}
				}
			}
		}
	}
	return all
}

// upstream returns the rank that is a number of places before r in the ring of a channel, by the hops of the ring.
func upstream(c *Spec, channel, r, places int) int {
	before := map[int]int{}
	for _, hop := range hopsOf(c, channel) {
		before[hop[1]] = hop[0]
	}
	for range places {
		r = before[r]
	}
	return r
}

// levelsOfTrees returns the tree of each message: by level, from the leaves or from the root, then by tree.
func levelsOfTrees(ranks int, fromLeaves bool) (list []int) {
	levels := map[int]int{} // positions by level
	var split func(lo, hi, level int)
	split = func(lo, hi, level int) {
		if lo > hi {
			return
		}
		levels[level]++
		half := 1
		for 2*half <= hi-lo+1 {
			half *= 2
		}
		split(lo, lo+half-2, level+1)
		split(lo+half, hi, level+1)
	}
	split(1, ranks-1, 0)
	for i := range len(levels) {
		at := i
		if fromLeaves {
			at = len(levels) - 1 - i
		}
		for tree := range 2 {
			list = append(list, slices.Repeat([]int{tree}, levels[at])...)
		}
	}
	return list
}

// fataler is a test, with rapid or without.
type fataler interface {
	Fatalf(format string, args ...any)
}

func newTwin(c *Spec) *twin {
	w := &twin{Spec: c, data: make([]map[int]value, c.Ranks), moves: carriedBy(c)}
	for r := range w.data {
		w.data[r] = map[int]value{}
		for p := range c.pieces() {
			segment := p / (c.Channels * c.Chunks)
			own := c.Kind != AllGather && c.Kind != Broadcast || c.Kind == AllGather && segment == r || c.Kind == Broadcast && r == 0
			if own {
				w.data[r][p] = value{r: 1}
			}
		}
	}
	return w
}

// run runs the programs. Of the messages that may go, pick chooses one.
func (w *twin) run(t fataler, programs []program.Program, pick func(n int) int) {
	type at struct{ rank, step int }
	done := map[at]bool{}
	flying := map[uint32]map[int]value{}
	ready := func(r, i int) bool {
		p := &programs[r]
		for _, c := range p.Conditions(i) {
			if !done[at{r, c.Step()}] {
				return false
			}
		}
		s := p.At(i)
		_, sent := flying[s.Tag]
		return s.Kind == program.Send || sent
	}
	for {
		var list []at
		left := 0
		for r := range programs {
			for i := range programs[r].Len() {
				if done[at{r, i}] {
					continue
				}
				left++
				if ready(r, i) {
					list = append(list, at{r, i})
				}
			}
		}
		if len(list) == 0 {
			if left > 0 {
				t.Fatalf("%d steps wait for ever", left)
			}
			return
		}
		next := list[pick(len(list))]
		done[next] = true
		s := programs[next.rank].At(next.step)
		m := w.moves[s.Tag]
		if s.Kind == program.Send {
			flying[s.Tag] = map[int]value{}
			for _, p := range m.pieces {
				copied := value{}
				for r, n := range w.data[next.rank][p] {
					copied[r] = n
				}
				flying[s.Tag][p] = copied
			}
			continue
		}
		w.deliver(next.rank, m, flying[s.Tag])
	}
}

func (w *twin) deliver(rank int, m carried, data map[int]value) {
	for _, p := range m.pieces {
		if !m.sum && w.Kind != AllToAll && w.Kind != AllToAllV {
			w.data[rank][p] = data[p]
			continue
		}
		for r, n := range data[p] { // the segments of an all-to-all are collected like those of a sum
			w.data[rank][p][r] += n
		}
	}
}

// check compares what each rank has with what the collective promises.
func (w *twin) check(t fataler) {
	all := w.Ranks
	for r := range w.data {
		for p := range w.pieces() {
			segment := p / (w.Channels * w.Chunks)
			want := map[Kind]int{AllReduce: all, ReduceScatter: all, AllToAll: all, AllGather: 1, Broadcast: 1, Barrier: all}[w.Kind]
			if (w.Kind == ReduceScatter || w.Kind == AllToAll || w.Kind == AllToAllV) && segment != r {
				continue
			}
			if w.Kind == AllToAllV {
				for from, row := range w.Sizes {
					if from == r || row[r] > 0 {
						want++
					}
				}
			}
			got := w.data[r][p]
			if len(got) != want {
				t.Fatalf("rank %d, piece %d: has data of %d ranks, want %d: %v", r, p, len(got), want, got)
			}
			for of, n := range got {
				if n != 1 && w.Kind != Barrier || w.Kind == AllGather && of != segment || w.Kind == Broadcast && of != 0 {
					t.Fatalf("rank %d, piece %d: %v", r, p, got)
				}
			}
		}
	}
}
