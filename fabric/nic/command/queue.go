package command

// Queue is a circular queue in the memory of the NIC. The host writes into its
// slots and then moves the write pointer, by which the NIC learns of what it
// wrote; the NIC takes from the read pointer on.
//
//	0 ..... read ......... write ........ next ..... read + slots
//	  taken      to take         unseen        free
//
// Invariant: read <= write <= next <= read + len(slots). The pointers count from
// the start and never wrap; the slot is what is left by the length.
type Queue[T any] struct {
	slots             []T
	read, write, next uint64
}

// NewQueue makes an empty queue of so many slots, at least 1.
func NewQueue[T any](slots int) Queue[T] { return Queue[T]{slots: make([]T, slots)} }

// Write puts a command into the next free slot, unseen by the NIC. It is false if
// no slot is free.
func (q *Queue[T]) Write(c T) bool {
	if q.next-q.read == uint64(len(q.slots)) {
		return false
	}
	q.slots[q.next%uint64(len(q.slots))] = c
	q.next++
	return true
}

// Ring moves the write pointer behind all that was written.
func (q *Queue[T]) Ring() { q.write = q.next }

// Put writes a command and moves the pointer. It is false if no slot is free.
func (q *Queue[T]) Put(c T) bool {
	if !q.Write(c) {
		return false
	}
	q.Ring()
	return true
}

// Len is how many commands the NIC can take.
func (q *Queue[T]) Len() int { return int(q.write - q.read) }

// Free is how many slots the host can write.
func (q *Queue[T]) Free() int { return len(q.slots) - int(q.next-q.read) }

// Head gives the oldest command that can be taken, in its slot; there must be one.
func (q *Queue[T]) Head() *T { return &q.slots[q.read%uint64(len(q.slots))] }

// Take takes the oldest command; there must be one.
func (q *Queue[T]) Take() T {
	c := *q.Head()
	q.read++
	return c
}
