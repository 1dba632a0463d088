package nic

// fifo is a queue of fixed capacity. It never allocates after newFIFO.
//
// Invariant: 0 <= count <= len(items), and the oldest item is items[head].
type fifo[T any] struct {
	items       []T
	head, count int
}

func newFIFO[T any](limit int) fifo[T] { return fifo[T]{items: make([]T, limit)} }

func (q *fifo[T]) full() bool { return q.count == len(q.items) }

// push appends an item to a queue that is not full.
func (q *fifo[T]) push(item T) {
	tail := q.head + q.count
	if tail >= len(q.items) {
		tail -= len(q.items)
	}
	q.items[tail] = item
	q.count++
}

// pop removes and returns the oldest item of a queue that is not empty.
func (q *fifo[T]) pop() T {
	item := q.items[q.head]
	if q.head++; q.head == len(q.items) {
		q.head = 0
	}
	q.count--
	return item
}
