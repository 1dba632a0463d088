package collective

// next returns the rank that is a number of places after r in the ring of a channel. It may be negative.
func (e *expansion) next(channel, r, places int) int {
	if len(e.rings) > 0 {
		ring := &e.rings[channel%len(e.rings)]
		return ring.order[((ring.place[r]+places)%e.Ranks+e.Ranks)%e.Ranks]
	}
	if channel%2 != 0 {
		places = -places
	}
	n := e.Ranks
	return ((r+places)%n + n) % n
}

// reduceScatter sums segment i at rank i, or both halves of a double binary tree at rank 0.
func (e *expansion) reduceScatter(channel int) {
	switch e.Algorithm {
	case Ring:
		for k := range e.Ranks - 1 {
			e.shift(channel, -1-k, true)
		}
	case Direct:
		e.exchange(channel, func(_, to int) int { return to }, true)
	case HalvingDoubling:
		for d := e.Ranks / 2; d > 0; d /= 2 {
			e.swap(channel, d, true)
		}
	case DoubleBinaryTree:
		e.reduceTrees(channel)
	}
}

// allGather copies segment i from rank i to all others, or both halves from rank 0.
func (e *expansion) allGather(channel int) {
	switch e.Algorithm {
	case Ring:
		for k := range e.Ranks - 1 {
			e.shift(channel, -k, false)
		}
	case Direct:
		e.exchange(channel, func(from, _ int) int { return from }, false)
	case HalvingDoubling:
		for d := 1; d < e.Ranks; d *= 2 {
			e.swap(channel, d, false)
		}
	case DoubleBinaryTree:
		e.broadcastTrees(channel)
	}
}

// shift lets each rank of a ring send to the next one the segment of the rank at a distance.
func (e *expansion) shift(channel, distance int, sum bool) {
	moves := make([]move, e.Ranks)
	for r := range moves {
		segment := e.next(channel, r, distance)
		moves[r] = move{r, e.next(channel, r, 1), segment, segment + 1, sum}
	}
	e.round(channel, moves)
}

// exchange lets each rank send a segment to each other one, beginning with the next one, so that the
// first messages do not all go to one rank.
func (e *expansion) exchange(channel int, segment func(from, to int) int, sum bool) {
	var moves []move
	for places := 1; places < e.Ranks; places++ {
		for r := range e.Ranks {
			to := e.next(channel, r, places)
			s := segment(r, to)
			moves = append(moves, move{r, to, s, s + 1, sum})
		}
	}
	e.round(channel, moves)
}

// swap lets the ranks at a distance of d, a power of two, exchange d segments, whose numbers differ in the
// bits below d alone: those around the receiver's own segment to add to a sum, else those around the
// sender's.
func (e *expansion) swap(channel, d int, sum bool) {
	moves := make([]move, e.Ranks)
	for r := range moves {
		to := r ^ d
		lo := r &^ (d - 1)
		if sum {
			lo = to &^ (d - 1)
		}
		moves[r] = move{r, to, lo, lo + d, sum}
	}
	e.round(channel, moves)
}

func (e *expansion) allToAll(channel int) {
	e.exchange(channel, func(_, to int) int { return to }, false)
}

// broadcast copies the data of rank 0, along the trees or the ring, or directly.
func (e *expansion) broadcast(channel int) {
	if e.Algorithm == DoubleBinaryTree {
		e.broadcastTrees(channel)
		return
	}
	for places := 1; places < e.Ranks; places++ {
		m := move{from: 0, to: e.next(channel, 0, places), hi: 1}
		if e.Algorithm == Ring {
			m.from = e.next(channel, 0, places-1)
		}
		e.round(channel, []move{m})
	}
}

// barrier lets each rank hear of all others, directly or by those that it has heard of.
func (e *expansion) barrier() {
	if e.Algorithm == Direct {
		e.exchange(0, func(int, int) int { return 0 }, true)
		return
	}
	for d := 1; d < e.Ranks; d *= 2 {
		moves := make([]move, e.Ranks)
		for r := range moves {
			moves[r] = move{r, r ^ d, 0, 1, true}
		}
		e.round(0, moves)
	}
}
