package command

// Queue is a circular queue in the memory of the NIC. The host writes into free
// slots and then moves the write pointer, which announces the commands to the
// NIC. The NIC takes commands at the read pointer.
//
//	0 ..... read ......... write ........ next ..... read + slots
//	  taken      to take         unseen        free
//
// Invariant: read <= write <= next <= read + len(slots). The pointers count
// from the start and never wrap; the slot is the pointer modulo the length.
type Queue[T any] struct {
	slots             []T
	read, write, next uint64
}

// NewQueue returns an empty queue with the given number of slots, at least 1.
func NewQueue[T any](slots int) Queue[T] { return Queue[T]{slots: make([]T, slots)} }

// Write writes a command into the next free slot without announcing it to the
// NIC. It returns false if no slot is free.
func (q *Queue[T]) Write(c T) bool {
	if q.next-q.read == uint64(len(q.slots)) {
		return false
	}
	q.slots[q.next%uint64(len(q.slots))] = c
	q.next++
	return true
}

// Ring moves the write pointer past all written commands.
func (q *Queue[T]) Ring() { q.write = q.next }

// Put writes a command and moves the write pointer. It returns false if no slot
// is free.
func (q *Queue[T]) Put(c T) bool {
	if !q.Write(c) {
		return false
	}
	q.Ring()
	return true
}

// Len returns the number of commands that the NIC can take.
func (q *Queue[T]) Len() int { return int(q.write - q.read) }

// Free returns the number of slots that the host can write.
func (q *Queue[T]) Free() int { return len(q.slots) - int(q.next-q.read) }

// Head returns the oldest announced command, in its slot. The queue must not be
// empty.
func (q *Queue[T]) Head() *T { return &q.slots[q.read%uint64(len(q.slots))] }

// Take removes and returns the oldest command. The queue must not be empty.
func (q *Queue[T]) Take() T {
	c := *q.Head()
	q.read++
	return c
}
