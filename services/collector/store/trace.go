package store

import (
	"encoding/binary"

	"go.etcd.io/bbolt"
)

// record is what is kept of a trace: its id and, once that has come, its root span,
// or what stands for it.
type record struct {
	id      [16]byte
	root    uint64 // the root span's id; 0 if none has come
	dropped bool   // whether the details left
	columns
}

// appendTo writes the record.
func (t *record) appendTo(b []byte) []byte {
	b = append(b, t.id[:]...)
	if t.root == 0 {
		return b
	}
	b = binary.BigEndian.AppendUint64(b, t.root)
	flags := byte(0)
	if t.dropped {
		flags = 1
	}
	return t.columns.appendTo(append(b, flags))
}

// parseRecord reads what appendTo wrote.
func parseRecord(b []byte) (t record, err error) {
	if len(b) < 16 {
		return t, errDamaged
	}
	copy(t.id[:], b)
	if b = b[16:]; len(b) == 0 {
		return t, nil
	}
	if len(b) < 9 {
		return t, errDamaged
	}
	t.root, t.dropped = binary.BigEndian.Uint64(b), b[8] == 1
	t.columns, _, err = parseColumns(b[9:])
	return t, err
}

// trace gives the number of a trace, and a new one to a trace that has none. They
// count up, so that the spans of traces of the same time lie together on disk
// though ids are random.
func (w *writer) trace(id [16]byte) (uint32, error) {
	if n, ok := w.recent[id]; ok {
		return n, nil
	}
	if v := w.ids.Get(id[:]); v != nil {
		w.recent[id] = number32(v)
		return number32(v), nil
	}
	w.counts.NextTrace++
	n := w.counts.NextTrace
	w.recent[id] = n
	if err := w.ids.Put(id[:], key32(n)); err != nil {
		return 0, err
	}
	t := record{id: id}
	return n, w.traces.Put(key32(n), t.appendTo(nil))
}

// root puts down the root span of a trace, unless it has one.
func (w *writer) root(number uint32, s *Span, c *columns) error {
	t, err := parseRecord(w.traces.Get(key32(number)))
	if err != nil || t.root != 0 && t.parent == 0 {
		return err
	}
	return w.list(number, &t, s.ID, c)
}

// localRoots lists the traces that came without a root span, because their caller
// tells somebody else or nobody, by the earliest span whose parent is not held. What
// comes later may change that.
func (w *writer) localRoots() error {
	for number := range w.rootless {
		t, err := parseRecord(w.traces.Get(key32(number)))
		if err != nil {
			return err
		}
		if t.root != 0 && t.parent == 0 {
			continue
		}
		id, c, err := w.topmost(number)
		if err != nil {
			return err
		}
		if id == 0 || id == t.root { // a ring stays where it is listed
			continue
		}
		if err := w.list(number, &t, id, &c); err != nil {
			return err
		}
	}
	return nil
}

// topmost gives the earliest span of a trace whose parent is not held, 0 if each is
// the child of another.
func (w *writer) topmost(number uint32) (id uint64, found columns, err error) {
	err = eachSpan(w.ids.Tx(), number, func(k, v []byte) error {
		c, _, err := parseColumns(v)
		if err != nil || w.spans.Get(spanKey(number, c.parent)) != nil {
			return err
		}
		if id == 0 || c.start < found.start {
			id, found = binary.BigEndian.Uint64(k[4:]), c
		}
		return nil
	})
	return id, found, err
}

// list puts a trace into the indices by a span, and takes it out where it was by
// another.
func (w *writer) list(number uint32, t *record, root uint64, c *columns) error {
	if t.root == 0 {
		w.counts.Traces++
	} else if err := w.eachIndex(number, &t.columns, (*bbolt.Bucket).Delete); err != nil {
		return err
	}
	t.root, t.columns = root, *c
	if err := w.traces.Put(key32(number), t.appendTo(nil)); err != nil {
		return err
	}
	return w.eachIndex(number, c, func(b *bbolt.Bucket, key []byte) error { return b.Put(key, nil) })
}

// eachIndex calls do with each index of traces and the key that a trace has in it.
func (w *writer) eachIndex(number uint32, c *columns, do func(b *bbolt.Bucket, key []byte) error) error {
	if err := do(w.slow, slowKey(c.duration, number)); err != nil {
		return err
	}
	if err := do(w.flow, append(key32(c.flow), slowKey(c.duration, number)...)); err != nil {
		return err
	}
	return do(w.late, slowKey(c.start, number))
}

// slowKey is a span of time or an instant, and the trace's number.
func slowKey(v int64, number uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(make([]byte, 0, 16), sortable(v)), number)
}

// ordered reads the end of such a key.
func ordered(key []byte) (v int64, number uint32) {
	key = key[len(key)-12:]
	return unsortable(binary.BigEndian.Uint64(key)), number32(key[8:])
}
