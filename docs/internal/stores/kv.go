package main

import (
	"bytes"
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"
	"go.etcd.io/bbolt"
)

// Keys of both key-value stores:
//
//	T trace            -> no, flow, start, duration
//	N no               -> trace
//	S no span          -> columns, body
//	D duration no      (roots, all flows)
//	F flow duration no
//	L start no
func u64(b []byte, v uint64) []byte { return binary.BigEndian.AppendUint64(b, v) }

func value(r *row) []byte {
	b := make([]byte, 0, 64+len(r.body))
	b = binary.AppendUvarint(b, r.parent)
	b = binary.AppendUvarint(b, uint64(r.name))
	b = binary.AppendUvarint(b, uint64(r.node))
	b = binary.AppendUvarint(b, uint64(r.flow))
	b = binary.AppendUvarint(b, uint64(r.start))
	b = binary.AppendUvarint(b, uint64(r.duration))
	return append(b, r.body...)
}

func nodeOf(v []byte) int {
	for range 2 {
		_, n := binary.Uvarint(v)
		v = v[n:]
	}
	x, _ := binary.Uvarint(v)
	return int(x)
}

// keyvalue is what both offer.
type keyvalue interface {
	update(func(get func([]byte) []byte, put func(k, v []byte) error) error) error
	view(func(get func([]byte) []byte, walk func(prefix []byte, back bool, do func(k, v []byte) bool)) error) error
	close() error
}

type kvStore struct {
	kv   keyvalue
	next uint64
}

func (s *kvStore) write(batch []row) error {
	return s.kv.update(func(get func([]byte) []byte, put func(k, v []byte) error) error {
		for i := range batch {
			r := &batch[i]
			tk := append([]byte{'T'}, r.trace[:]...)
			var no uint64
			if v := get(tk); v != nil {
				no = binary.BigEndian.Uint64(v)
			} else {
				s.next++
				no = s.next
				if err := put(tk, u64(nil, no)); err != nil {
					return err
				}
				if err := put(u64([]byte{'N'}, no), bytes.Clone(r.trace[:])); err != nil {
					return err
				}
			}
			sk := u64(u64([]byte{'S'}, no), r.span)
			if get(sk) != nil {
				continue
			}
			if err := put(sk, value(r)); err != nil {
				return err
			}
			if r.parent == 0 {
				d, st := uint64(r.duration), uint64(r.start)
				for _, k := range [][]byte{u64(u64([]byte{'D'}, d), no), u64(u64(u64([]byte{'F'}, uint64(r.flow)), d), no), u64(u64([]byte{'L'}, st), no)} {
					if err := put(k, []byte{1}); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
}

func (s *kvStore) roots(prefix []byte, keep func(k []byte, no uint64, walk func([]byte, bool, func(k, v []byte) bool)) (use, more bool)) (n int, err error) {
	err = s.kv.view(func(get func([]byte) []byte, walk func(prefix []byte, back bool, do func(k, v []byte) bool)) error {
		walk(prefix, true, func(k, _ []byte) bool {
			no := binary.BigEndian.Uint64(k[len(k)-8:])
			use, more := keep(k, no, walk)
			if use {
				_ = get(u64([]byte{'N'}, no))
				n++
			}
			return more && n < 20
		})
		return nil
	})
	return n, err
}

func all([]byte, uint64, func([]byte, bool, func(k, v []byte) bool)) (bool, bool) { return true, true }

func (s *kvStore) slowest(flow int) (int, error) { return s.roots(u64([]byte{'F'}, uint64(flow)), all) }
func (s *kvStore) latest() (int, error)          { return s.roots([]byte{'L'}, all) }

func (s *kvStore) atNode(node int, low, high int64) (int, error) {
	return s.roots([]byte{'D'}, func(k []byte, no uint64, walk func([]byte, bool, func(k, v []byte) bool)) (use, more bool) {
		d := int64(binary.BigEndian.Uint64(k[1:]))
		if d > high {
			return false, true
		}
		if d < low {
			return false, false
		}
		walk(u64([]byte{'S'}, no), false, func(_, v []byte) bool {
			use = nodeOf(v) == node
			return !use
		})
		return use, true
	})
}

func (s *kvStore) get(id [16]byte) (n int, err error) {
	err = s.kv.view(func(get func([]byte) []byte, walk func(prefix []byte, back bool, do func(k, v []byte) bool)) error {
		v := get(append([]byte{'T'}, id[:]...))
		walk(append([]byte{'S'}, v...), false, func(_, v []byte) bool { _ = bytes.Clone(v); n++; return true })
		return nil
	})
	return n, err
}

func (s *kvStore) percentiles() (int, error) {
	by := map[uint64][]uint64{}
	err := s.kv.view(func(_ func([]byte) []byte, walk func(prefix []byte, back bool, do func(k, v []byte) bool)) error {
		walk([]byte{'F'}, false, func(k, _ []byte) bool {
			f := binary.BigEndian.Uint64(k[1:])
			by[f] = append(by[f], binary.BigEndian.Uint64(k[9:]))
			return true
		})
		return nil
	})
	for _, d := range by {
		_ = d[rank(len(d), 0.99)]
	}
	return len(by), err
}

func (s *kvStore) close() error { return s.kv.close() }

type bolt struct{ db *bbolt.DB }

var bucket = []byte("b")

func openBolt(path string) (*kvStore, error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: true, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return nil, err
	}
	err = db.Update(func(tx *bbolt.Tx) error { _, err := tx.CreateBucketIfNotExists(bucket); return err })
	return &kvStore{kv: bolt{db}}, err
}

func (b bolt) update(do func(get func([]byte) []byte, put func(k, v []byte) error) error) error {
	return b.db.Update(func(tx *bbolt.Tx) error { k := tx.Bucket(bucket); return do(k.Get, k.Put) })
}

func (b bolt) view(do func(get func([]byte) []byte, walk func(prefix []byte, back bool, do func(k, v []byte) bool)) error) error {
	return b.db.View(func(tx *bbolt.Tx) error {
		k := tx.Bucket(bucket)
		return do(k.Get, func(prefix []byte, back bool, do func(k, v []byte) bool) {
			c := k.Cursor()
			if !back {
				for key, v := c.Seek(prefix); key != nil && bytes.HasPrefix(key, prefix) && do(key, v); key, v = c.Next() {
				}
				return
			}
			key, v := c.Seek(after(prefix))
			if key == nil {
				key, v = c.Last()
			} else {
				key, v = c.Prev()
			}
			for ; key != nil && bytes.HasPrefix(key, prefix) && do(key, v); key, v = c.Prev() {
			}
		})
	})
}

func (b bolt) close() error { return b.db.Close() }

func after(prefix []byte) []byte {
	p := bytes.Clone(prefix)
	for i := len(p) - 1; i >= 0; i-- {
		if p[i]++; p[i] != 0 {
			return p[:i+1]
		}
	}
	return nil
}

type rock struct{ db *pebble.DB }

func openPebble(path string) (*kvStore, error) {
	db, err := pebble.Open(path, &pebble.Options{Logger: quiet{}, Cache: pebble.NewCache(64 << 20), MemTableSize: 32 << 20})
	return &kvStore{kv: rock{db}}, err
}

type quiet struct{}

func (quiet) Infof(string, ...any)      {}
func (quiet) Errorf(string, ...any)     {}
func (quiet) Fatalf(f string, a ...any) { panic(f) }

func (p rock) update(do func(get func([]byte) []byte, put func(k, v []byte) error) error) error {
	b := p.db.NewIndexedBatch()
	err := do(func(k []byte) []byte {
		v, c, err := b.Get(k)
		if err != nil {
			return nil
		}
		defer c.Close()
		return bytes.Clone(v)
	}, func(k, v []byte) error { return b.Set(k, v, nil) })
	if err != nil {
		return err
	}
	return b.Commit(pebble.NoSync)
}

func (p rock) view(do func(get func([]byte) []byte, walk func(prefix []byte, back bool, do func(k, v []byte) bool)) error) error {
	return do(func(k []byte) []byte {
		v, c, err := p.db.Get(k)
		if err != nil {
			return nil
		}
		defer c.Close()
		return bytes.Clone(v)
	}, func(prefix []byte, back bool, do func(k, v []byte) bool) {
		it, err := p.db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: after(prefix)})
		if err != nil {
			return
		}
		defer it.Close()
		if back {
			for ok := it.Last(); ok && do(it.Key(), it.Value()); ok = it.Prev() {
			}
			return
		}
		for ok := it.First(); ok && do(it.Key(), it.Value()); ok = it.Next() {
		}
	})
}

func (p rock) close() error { return p.db.Close() }
