package work

import "github.com/rackfab/rackfab/fabric/ring"

// Queue is a circular queue in the memory of the NIC. The host writes commands into
// free slots and then moves the write pointer, which announces them to the NIC. The NIC
// takes commands at the read pointer.
//
//	read ......... write ........ next ..... read + slots
//	     announced       unseen        free
type Queue[T any] struct {
	commands ring.Ring[T] // announced and unseen
	slots    int
	unseen   int
}

// NewQueue returns an empty queue with the given number of slots, at least 1.
func NewQueue[T any](slots int) Queue[T] { return Queue[T]{slots: slots} }

// Write writes a command into the next free slot without announcing it to the
// NIC. It returns false if no slot is free.
func (q *Queue[T]) Write(c T) bool {
	if q.Free() == 0 {
		return false
	}
	q.commands.Push(c)
	q.unseen++
	return true
}

// Ring moves the write pointer past all written commands.
func (q *Queue[T]) Ring() { q.unseen = 0 }

// Put writes a command and moves the write pointer. It returns false if no slot
// is free.
func (q *Queue[T]) Put(c T) bool {
	ok := q.Write(c)
	q.Ring()
	return ok
}

// Len returns the number of commands that the NIC can take.
func (q *Queue[T]) Len() int { return q.commands.Len() - q.unseen }

// Free returns the number of slots that the host can write.
func (q *Queue[T]) Free() int { return q.slots - q.commands.Len() }

// Head returns the oldest announced command. The queue must not be empty.
func (q *Queue[T]) Head() *T { return q.commands.Front() }

// Take removes and returns the oldest command. The queue must not be empty.
func (q *Queue[T]) Take() T { return q.commands.Pop() }
