package nic

// table stores rows in the order in which they were added. The number of a row never
// changes. A table grows up to its limit and does not shrink.
//
// Invariant: the rows are numbered first to end-1, and end-first <= limit.
type table[T any] struct {
	rows       []T
	first, end uint64
	limit      int
}

func newTable[T any](limit int) table[T] { return table[T]{limit: limit} }

func (t *table[T]) len() int   { return int(t.end - t.first) }
func (t *table[T]) full() bool { return t.len() == t.limit }

// at returns row i, which must be in the table.
func (t *table[T]) at(i uint64) *T { return &t.rows[i%uint64(len(t.rows))] }

// add appends a row to a table that is not full.
func (t *table[T]) add(row T) {
	if t.len() == len(t.rows) {
		t.grow()
	}
	t.end++
	*t.at(t.end - 1) = row
}

func (t *table[T]) grow() {
	rows := make([]T, min(t.limit, max(8, 2*len(t.rows))))
	for i := t.first; i < t.end; i++ {
		rows[i%uint64(len(rows))] = *t.at(i)
	}
	t.rows = rows
}

// drop removes the oldest row of a table that is not empty.
func (t *table[T]) drop() { t.first++ }
