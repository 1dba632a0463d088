package collective

import "math/bits"

// twoTrees are the two binary trees of a double-binary-tree, below rank 0, which is the root of both
// and has one child in each. The ranks of a tree are its positions 1 to n-1 from left to right. An odd
// position is a leaf. The second tree is the first one mirrored or, if the mirror would leave the leaves
// as they are, shifted by one, so that no rank has children in both (Sanders, Speck and Träff, §3).
type twoTrees struct{ ranks int }

// depth returns the number of links from rank 0 to the deepest leaf of a tree.
func (t twoTrees) depth() int { return bits.Len(uint(t.ranks - 1)) }

// position returns the position of a rank, other than 0, in tree 0 or 1. Each of the two maps is its own
// inverse, except the shift, which rank undoes.
func (t twoTrees) position(tree, rank int) int {
	switch {
	case tree == 0:
		return rank
	case t.ranks%2 != 0:
		return t.ranks - rank
	default:
		return rank%(t.ranks-1) + 1
	}
}

// rank returns the rank at a position of a tree; 0 is at position 0.
func (t twoTrees) rank(tree, position int) int {
	switch {
	case tree == 0 || position == 0:
		return position
	case t.ranks%2 != 0:
		return t.ranks - position
	default:
		return (position+t.ranks-3)%(t.ranks-1) + 1
	}
}

// parent returns the parent of a rank other than 0. A position whose lowest bit is b has its parent at
// a distance of b, to the side at which that is a multiple of 2b but not of 4b. Where there are too few
// positions, it is on the other side.
func (t twoTrees) parent(tree, rank int) int {
	p := t.position(tree, rank)
	b := p & -p
	up := (p ^ b) | 2*b
	if up >= t.ranks {
		up = p ^ b
	}
	return t.rank(tree, up)
}

// levels returns the ranks of a tree, other than 0, by their distance from rank 0 minus 1, each level in
// ascending order.
func (t twoTrees) levels(tree int) [][]int {
	list := make([][]int, t.depth())
	for r := 1; r < t.ranks; r++ {
		d := 0
		for at := t.parent(tree, r); at != 0; at = t.parent(tree, at) {
			d++
		}
		list[d] = append(list[d], r)
	}
	return list
}

// halves are the parts of the data of a double-binary-tree, one per tree.
const halves = 2

// reduceTrees sums each half of the data at rank 0, level by level from the leaves.
func (e *expansion) reduceTrees(channel int) {
	t := twoTrees{e.Ranks}
	levels := [halves][][]int{t.levels(0), t.levels(1)}
	for d := t.depth() - 1; d >= 0; d-- {
		var moves []move
		for tree := range halves {
			for _, r := range levels[tree][d] {
				moves = append(moves, move{r, t.parent(tree, r), tree, tree + 1, true})
			}
		}
		e.round(channel, moves)
	}
}

// broadcastTrees copies each half of the data from rank 0 to all others.
func (e *expansion) broadcastTrees(channel int) {
	t := twoTrees{e.Ranks}
	levels := [halves][][]int{t.levels(0), t.levels(1)}
	for d := range t.depth() {
		var moves []move
		for tree := range halves {
			for _, r := range levels[tree][d] {
				moves = append(moves, move{t.parent(tree, r), r, tree, tree + 1, false})
			}
		}
		e.round(channel, moves)
	}
}
