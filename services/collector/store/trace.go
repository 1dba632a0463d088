package store

import "encoding/binary"

// record is what is kept of a trace: its id and, once that has come, its root span.
type record struct {
	id      [16]byte
	root    uint64 // the root span's id; 0 if it has not come
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
	key := key32(number)
	t, err := parseRecord(w.traces.Get(key))
	if err != nil || t.root != 0 {
		return err
	}
	t.root, t.columns = s.ID, *c
	if err := w.traces.Put(key, t.appendTo(nil)); err != nil {
		return err
	}
	w.counts.Traces++
	if err := w.slow.Put(slowKey(c.duration, number), nil); err != nil {
		return err
	}
	if err := w.flow.Put(append(key32(c.flow), slowKey(c.duration, number)...), nil); err != nil {
		return err
	}
	return w.late.Put(slowKey(c.start, number), nil)
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
