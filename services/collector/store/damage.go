package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"syscall"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// asideSuffix is what the file of a damaged run gets behind its name. It stays for
// whoever wants to save something of it, and is not read again.
const asideSuffix = ".damaged"

// Damage is a run that is left out because its file is damaged.
type Damage struct {
	File    string // where it lies now
	Lost    string // what is left out, as far as that can be read: "run a, 9 spans and 0 points"
	Problem error  // what is wrong with the file
}

// Damaged gives the runs that were left out when the store was opened, and how many
// damaged ones lie in the folder, with those that were set aside earlier.
func (s *Store) Damaged() (found []Damage, all int) { return s.found, s.damaged }

// leaveOut puts down that a run is damaged, and sets its file aside if it may.
func (s *Store) leaveOut(d *Damage) error {
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

// setAside gives a file a name under which it is not read again and takes no other
// file's place.
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

// inspect gives what is damaged about a run's file, nil if nothing is. It looks at all
// that bbolt reads when it opens a file to write to it: there, damage ends the process.
// An error is one of the machine, and says nothing about the file.
func inspect(path string) (*Damage, error) {
	r := &run{path: path}
	problem := r.read()
	var machine syscall.Errno
	if problem == nil || errors.Is(problem, bolterrors.ErrTimeout) || errors.As(problem, &machine) {
		return nil, problem
	}
	d := &Damage{File: path, Lost: "a run whose name cannot be read", Problem: problem}
	if c := r.figures(); r.info.Run != "" {
		d.Lost = fmt.Sprintf("run %s, %d spans and %d points", r.info.Run, c.Spans.Held, c.Points.Held)
	}
	return d, nil
}

// read reads everything but the values of spans and points.
func (r *run) read() error {
	err := guarded(func() (err error) {
		r.db, err = bbolt.Open(r.path, 0o644, &bbolt.Options{ReadOnly: true, Timeout: lockLimit})
		return err
	})
	if err != nil {
		return err
	}
	defer func() { _ = r.db.Close() }() // nothing was written
	cut, unread := guarded(r.whole), guarded(r.load)
	for _, err := range []error{cut, unread} {
		if err != nil {
			return err
		}
	}
	return guarded(r.walk)
}

// guarded makes an error of what a damaged file, which is read as memory, does to its
// reader.
func guarded(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a page cannot be read: %v", p)
		}
	}()
	return do()
}

// whole tells whether the file has all its pages.
func (r *run) whole() error {
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

// walk reads every key, and tells whether they are in order.
func (r *run) walk() error {
	return r.db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
			if r.info.Run == "" {
				return errors.New("it does not say which run it has")
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
