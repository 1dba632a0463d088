package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"syscall"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// asideSuffix is appended to the name of a damaged run's file. The file stays for manual
// recovery and is not read again.
const asideSuffix = ".damaged"

// Damage describes a run that is left out because its file is damaged.
type Damage struct {
	File    string // its present path
	Lost    string // what is left out, if readable: "run a, 9 spans and 0 points"
	Problem error  // what is wrong with the file
}

// Damaged returns the runs that were left out when the store was opened, and the number
// of all damaged runs in the folder, including those set aside earlier.
func (s *Store) Damaged() (found []Damage, all int) { return s.found, s.damaged }

// exclude records that a run is damaged and, unless the store is read-only, sets its
// file aside.
func (s *Store) exclude(d *Damage) error {
	if !s.options.ReadOnly {
		to, err := setAside(d.File)
		if err != nil {
			return fmt.Errorf("damaged: %w; and it cannot be set aside: %w", d.Problem, err)
		}
		d.File = to
	}
	s.found, s.damaged = append(s.found, *d), s.damaged+1
	return nil
}

// setAside renames a file so that it is not read again. It never overwrites another
// file.
func setAside(path string) (string, error) {
	to := path + asideSuffix
	for n := 2; ; n++ {
		if _, err := os.Lstat(to); errors.Is(err, os.ErrNotExist) {
			return to, os.Rename(path, to)
		} else if err != nil {
			return "", err
		}
		to = fmt.Sprintf("%s%s.%d", path, asideSuffix, n)
	}
}

// inspect reports damage to a run's file, or nil if there is none. It reads everything
// that bbolt reads when it opens a file for writing, because bbolt would crash the
// process on damaged data. An error comes from the system and says nothing about the
// file.
func inspect(path string) (*Damage, error) {
	r := &run{path: path}
	problem := r.read()
	var system syscall.Errno
	if problem == nil || errors.Is(problem, bolterrors.ErrTimeout) || errors.As(problem, &system) {
		return nil, problem
	}
	d := &Damage{File: path, Lost: "a run whose name cannot be read", Problem: problem}
	if c := r.counts.Load(); c != nil && r.info.Run != "" {
		d.Lost = fmt.Sprintf("run %s, %d spans and %d points", r.info.Run, c.Spans.Held, c.Points.Held)
	}
	return d, nil
}

// read reads everything except the values of spans and points.
func (r *run) read() error {
	err := guarded(func() (err error) {
		r.db, err = bbolt.Open(r.path, 0o644, &bbolt.Options{ReadOnly: true, Timeout: lockLimit})
		return err
	})
	if err != nil {
		return err
	}
	defer func() { _ = r.db.Close() }() // nothing was written
	// load in any case: it finds the run's name
	if problem := cmp.Or(guarded(r.complete), guarded(r.load)); problem != nil {
		return problem
	}
	return guarded(r.walk)
}

// guarded runs do and turns its panics and page faults into errors: a damaged file,
// which is mapped into memory, can cause both.
func guarded(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a page cannot be read: %v", p)
		}
	}()
	return do()
}

// complete returns an error unless the file has all its pages.
func (r *run) complete() error {
	info, err := os.Stat(r.path)
	if err != nil {
		return err
	}
	return r.db.View(func(tx *bbolt.Tx) error {
		if info.Size() < tx.Size() {
			return fmt.Errorf("%d bytes are left of %d", info.Size(), tx.Size())
		}
		return nil
	})
}

// walk reads every key and returns an error if keys are out of order.
func (r *run) walk() error {
	return r.db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
			if r.info.Run == "" {
				return errors.New("it does not name its run")
			}
			var last []byte
			return b.ForEach(func(k, _ []byte) error {
				if last != nil && bytes.Compare(last, k) >= 0 {
					return fmt.Errorf("the keys of %s are out of order", name)
				}
				last = k
				return nil
			})
		})
	})
}
