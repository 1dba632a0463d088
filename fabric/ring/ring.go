// Package ring implements a FIFO queue. It does not know its items.
package ring

// Ring is a FIFO queue in a circular buffer. The buffer grows with its content. It is
// halved after patience busy periods in a row, from one empty instant to the next, with
// few items each: a burst gives its memory back, and a ring that is long now and then does
// not allocate. The zero Ring is empty, ready to use and unlimited.
//
// Invariant: len(items) is 0 or a power of two.
type Ring[T any] struct {
	items       []T
	head, count int
	limit       int
	short       int // busy periods in a row that needed at most a quarter of items
}

const (
	initial  = 16 // initial capacity of a ring in items
	patience = 1000
)

// WithLimit returns an empty ring that is full at limit items.
func WithLimit[T any](limit int) Ring[T] { return Ring[T]{limit: limit} }

// Len returns the number of items.
func (r *Ring[T]) Len() int { return r.count }

// Full reports whether the ring contains as many items as its limit permits. The caller
// must not push to a full ring. A ring without a limit is never full.
func (r *Ring[T]) Full() bool { return r.limit > 0 && r.count >= r.limit }

// Next appends an item and returns it for the caller to fill. Its content is undefined.
func (r *Ring[T]) Next() *T {
	if r.count == len(r.items) {
		r.grow()
	}
	item := &r.items[(r.head+r.count)&(len(r.items)-1)]
	r.count++
	return item
}

// Push appends a copy of item. In a hot loop, *Next() = item spares a copy.
func (r *Ring[T]) Push(item T) { *r.Next() = item }

// Front returns the first item. The ring must not be empty.
func (r *Ring[T]) Front() *T { return &r.items[r.head] }

// Back returns the last item. The ring must not be empty.
func (r *Ring[T]) Back() *T { return r.At(r.count - 1) }

// At returns item i, counted from 0 at the front. It must be in the ring.
func (r *Ring[T]) At(i int) *T { return &r.items[(r.head+i)&(len(r.items)-1)] }

// Drop removes the first n items, at most Len. They remain readable until the next push.
func (r *Ring[T]) Drop(n int) {
	r.count -= n
	if r.count == 0 {
		if len(r.items) > initial {
			r.drained(r.head + n)
		}
		r.head = 0 // stay in the part of the buffer that the cache holds
		return
	}
	r.head = (r.head + n) & (len(r.items) - 1)
}

// Pop removes and returns the first item. The ring must not be empty.
func (r *Ring[T]) Pop() T {
	item := *r.Front()
	r.Drop(1)
	return item
}

// drained ends a busy period, in which the head reached the given index.
func (r *Ring[T]) drained(head int) {
	if r.short++; head > len(r.items)/4 {
		r.short = 0
	} else if r.short == patience {
		r.items, r.short = make([]T, len(r.items)/2), 0
	}
}

func (r *Ring[T]) grow() {
	items := make([]T, max(2*len(r.items), initial))
	n := copy(items, r.items[r.head:])
	copy(items[n:], r.items[:r.head])
	r.items, r.head = items, 0
}
