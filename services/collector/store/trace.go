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

// put stores the record of a trace.
func (t *record) put(tx *bbolt.Tx, number uint32) error {
	b := append(make([]byte, 0, 64), t.id[:]...)
	if t.root != 0 {
		flags := byte(0)
		if t.dropped {
			flags = 1
		}
		b = t.appendTo(append(binary.BigEndian.AppendUint64(b, t.root), flags))
	}
	return tx.Bucket(bucketTraces).Put(key32(number), b)
}

// readRecord returns the record of a trace.
func readRecord(tx *bbolt.Tx, number uint32) (t record, err error) {
	b := tx.Bucket(bucketTraces).Get(key32(number))
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
	if v := w.bucket(bucketIDs).Get(id[:]); v != nil {
		w.recent[id] = number32(v)
		return number32(v), nil
	}
	w.counts.NextTrace++
	n := w.counts.NextTrace
	w.recent[id] = n
	if err := w.bucket(bucketIDs).Put(id[:], key32(n)); err != nil {
		return 0, err
	}
	return n, (&record{id: id}).put(w.tx, n)
}

// setRoot indexes a trace by the span root, instead of an earlier substitute for its
// root span. It does nothing if the trace has a root span. The index entries have the
// value mark.
func (w *writer) setRoot(number uint32, root uint64, c *columns, mark []byte) error {
	t, err := readRecord(w.tx, number)
	if err != nil || t.root != 0 && (t.parent == 0 || t.root == root) {
		return err
	}
	if t.root == 0 {
		w.counts.Traces++
	} else {
		for _, e := range t.index(number) {
			if err := w.bucket(e.bucket).Delete(e.key); err != nil {
				return err
			}
		}
	}
	t.root, t.columns = root, *c
	for _, e := range c.index(number) {
		if err := w.bucket(e.bucket).Put(e.key, mark); err != nil {
			return err
		}
	}
	return t.put(w.tx, number)
}

// entry is a key in a bucket.
type entry struct{ bucket, key []byte }

// index returns the index entries of a trace.
func (c *columns) index(number uint32) [3]entry {
	return [3]entry{
		{bucketSlow, indexKey(nil, c.duration, number)},
		{bucketFlow, indexKey(key32(c.flow), c.duration, number)},
		{bucketLate, indexKey(nil, c.start, number)},
	}
}

// localRoots indexes the traces that came without a root span, because their caller
// exports elsewhere or not at all. The earliest span whose parent is not stored takes
// the place of the root, until later data changes that.
func (w *writer) localRoots() error {
	for number := range w.rootless {
		id, c, err := w.topmost(number)
		if err == nil && id != 0 { // 0 means a cycle of parents
			err = w.setRoot(number, id, &c, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// topmost returns the earliest span of a trace whose parent is not stored, or 0 if every
// span has a stored parent.
func (w *writer) topmost(number uint32) (id uint64, found columns, err error) {
	spans := w.bucket(bucketSpans)
	for k, v := range withPrefix(spans, key32(number)) {
		c, _, err := parseColumns(v)
		if err != nil {
			return 0, found, err
		}
		if spans.Get(spanKey(number, c.parent)) == nil && (id == 0 || c.start < found.start) {
			id, found = binary.BigEndian.Uint64(k[4:]), c
		}
	}
	return id, found, nil
}
