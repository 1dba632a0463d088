package credit

// ring is a queue of senders that contains each at most once.
type ring struct {
	slots []int
	first int
	count int
}

func newRing(n int) ring { return ring{slots: make([]int, n)} }

// grow makes room for one more sender.
func (r *ring) grow() {
	slots := make([]int, len(r.slots)+1)
	n := copy(slots, r.slots[r.first:])
	copy(slots[n:], r.slots[:r.first])
	r.slots, r.first = slots, 0
}

func (r *ring) push(sender int) {
	r.slots[(r.first+r.count)%len(r.slots)] = sender
	r.count++
}

func (r *ring) pop() int {
	sender := r.slots[r.first]
	r.first = (r.first + 1) % len(r.slots)
	r.count--
	return sender
}

// remove removes the sender from any position by rotating the queue once.
func (r *ring) remove(sender int) {
	for range r.count {
		if s := r.pop(); s != sender {
			r.push(s)
		}
	}
}
