package tracing

// table holds open entries, ordered from the least to the most recently used.
//
// Invariant: the list from first to last has the values of index, each once.
type table[K comparable, V any] struct {
	index       map[K]*entry[K, V]
	first, last *entry[K, V]
}

type entry[K comparable, V any] struct {
	key        K
	value      V
	prev, next *entry[K, V]
}

func newTable[K comparable, V any]() table[K, V] { return table[K, V]{index: map[K]*entry[K, V]{}} }

// find returns the value under key and marks it as the most recently used. It returns
// nil if there is none.
func (t *table[K, V]) find(key K) *V {
	if t.last != nil && t.last.key == key { // consecutive frames often belong to one message
		return &t.last.value
	}
	e := t.index[key]
	if e == nil {
		return nil
	}
	t.unlink(e)
	t.link(e)
	return &e.value
}

// add adds a value under a new key.
func (t *table[K, V]) add(key K, value V) *V {
	e := &entry[K, V]{key: key, value: value}
	t.index[key] = e
	t.link(e)
	return &e.value
}

func (t *table[K, V]) remove(key K) {
	if e := t.index[key]; e != nil {
		t.unlink(e)
		delete(t.index, key)
	}
}

// oldest returns the least recently used entry, or nil if the table is empty.
func (t *table[K, V]) oldest() *entry[K, V] { return t.first }

func (t *table[K, V]) link(e *entry[K, V]) {
	e.prev, e.next = t.last, nil
	if t.last == nil {
		t.first = e
	} else {
		t.last.next = e
	}
	t.last = e
}

func (t *table[K, V]) unlink(e *entry[K, V]) {
	if e.prev == nil {
		t.first = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		t.last = e.prev
	} else {
		e.next.prev = e.prev
	}
}
