package store

import (
	"encoding/binary"

	"go.etcd.io/bbolt"
)

// record is the stored record of a trace: its ID and, once received, its root span or a
// substitute for it (see localRoots).
type record struct {
	id      [16]byte
	root    uint64 // the root span's ID; 0 if none was received
	dropped bool   // whether the details were deleted
	columns
}

// appendTo appends the encoded record.
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

// parseRecord decodes a record.
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

// trace returns the number of a trace, and assigns one to a new trace. Numbers increase,
// so that the spans of concurrent traces lie together on disk although trace IDs are
// random.
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

// root records the root span of a trace, unless the trace has one.
func (w *writer) root(number uint32, s *Span, c *columns) error {
	t, err := parseRecord(w.traces.Get(key32(number)))
	if err != nil || t.root != 0 && t.parent == 0 {
		return err
	}
	return w.list(number, &t, s.ID, c)
}

// localRoots indexes the traces that came without a root span, because their caller
// exports elsewhere or not at all. The earliest span whose parent is not stored takes
// the place of the root, until later data changes that.
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
		if id == 0 || id == t.root { // unchanged, or a cycle of parents
			continue
		}
		if err := w.list(number, &t, id, &c); err != nil {
			return err
		}
	}
	return nil
}

// topmost returns the earliest span of a trace whose parent is not stored, or 0 if every
// span has a stored parent.
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

// list indexes a trace by the span root, and removes its previous index entries.
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

// eachIndex calls do with each index of traces and the trace's key in it.
func (w *writer) eachIndex(number uint32, c *columns, do func(b *bbolt.Bucket, key []byte) error) error {
	if err := do(w.slow, slowKey(c.duration, number)); err != nil {
		return err
	}
	if err := do(w.flow, append(key32(c.flow), slowKey(c.duration, number)...)); err != nil {
		return err
	}
	return do(w.late, slowKey(c.start, number))
}

// slowKey returns an index key: a duration or an instant, then the trace's number.
func slowKey(v int64, number uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(make([]byte, 0, 16), sortable(v)), number)
}

// ordered decodes the end of a key that slowKey made.
func ordered(key []byte) (v int64, number uint32) {
	key = key[len(key)-12:]
	return unsortable(binary.BigEndian.Uint64(key)), number32(key[8:])
}
