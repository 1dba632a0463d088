package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
)

// damagedIn returns a folder with the runs before, b and after, of which b is damaged.
func damagedIn(t *testing.T, change func(path string) error) (dir, path string) {
	t.Helper()
	dir = t.TempDir()
	s := open(t, dir, Options{})
	write(t, s, gets("before", 1))
	write(t, s, gets("b", 300))
	write(t, s, gets("after", 1))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "000002.db")
	if err := change(path); err != nil {
		t.Fatal(err)
	}
	return dir, path
}

// over overwrites bytes of a file.
func over(path string, at int64, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, at)
	return errors.Join(err, f.Close())
}

// meta changes the description of the run in its file.
func meta(path string, change func(*bbolt.Bucket) error) error {
	db, err := bbolt.Open(path, 0o644, nil)
	if err != nil {
		return err
	}
	return errors.Join(db.Update(func(tx *bbolt.Tx) error { return change(tx.Bucket(bucketMeta)) }), db.Close())
}

// pages returns the size of the pages of a run's file in bytes, and the position of its
// last page with keys and values.
func pages(path string) (size, leaf int64, err error) {
	db, err := bbolt.Open(path, 0o644, nil)
	if err != nil {
		return 0, 0, err
	}
	err = db.View(func(tx *bbolt.Tx) error {
		size = tx.Size()
		for n := 2; ; n++ {
			switch p, err := tx.Page(n); {
			case p == nil || err != nil:
				return err
			case p.Type == "leaf":
				leaf = int64(n * db.Info().PageSize)
			}
		}
	})
	return size, leaf, errors.Join(err, db.Close())
}

// A damaged run is left out and its file set aside; the other runs are available, and
// the store accepts more data.
func TestDamagedRunIsSetAside(t *testing.T) {
	const known, unknown = "run b, 900 spans and 0 points", "a run whose name cannot be read"
	for name, c := range map[string]struct {
		change        func(path string) error
		lost, problem string
	}{
		"no database": {func(path string) error { return os.WriteFile(path, []byte("no database"), 0o600) }, unknown, "invalid database"},
		"no page":     {func(path string) error { return os.Truncate(path, 100) }, unknown, "invalid database"},
		"half": {
			func(path string) error {
				size, _, err := pages(path)
				return errors.Join(err, os.Truncate(path, size/2))
			}, "", " bytes are left of ",
		},
		"a page of nothing": {
			func(path string) error {
				_, leaf, err := pages(path)
				return errors.Join(err, over(path, leaf, make([]byte, os.Getpagesize())))
			}, "", "a page cannot be read: ",
		},
		"pages of noise": {
			func(path string) error {
				size, _, err := pages(path)
				first := 2 * int64(os.Getpagesize())
				return errors.Join(err, over(path, first, bytes.Repeat([]byte{0xa5}, int(size-first))))
			}, unknown, "a page cannot be read: ",
		},
		"no name": {
			func(path string) error { return meta(path, func(b *bbolt.Bucket) error { return b.Delete(keyInfo) }) }, unknown, "it does not name its run",
		},
		"figures cut": {
			func(path string) error {
				return meta(path, func(b *bbolt.Bucket) error { return b.Put(keyCounts, []byte("{")) })
			}, "run b, 0 spans and 0 points", "unexpected end of JSON input",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, path := damagedIn(t, c.change)
			damaged, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for i, readOnly := range []bool{true, false, false} { // opened read-only, then set aside, then ignored
				s := open(t, dir, Options{ReadOnly: readOnly})
				found, all := s.Damaged()
				if all != 1 || len(found) != 1-i/2 {
					t.Errorf("%v of %d", found, all)
				}
				file := path
				if !readOnly {
					file += ".damaged"
				}
				for _, d := range found {
					if d.File != file || d.Lost != c.lost && (c.lost != "" || d.Lost != known && d.Lost != unknown) || !strings.Contains(d.Problem.Error(), c.problem) {
						t.Errorf("%+v", d)
					}
				}
				if have, err := os.ReadFile(file); err != nil || !bytes.Equal(have, damaged) {
					t.Errorf("%s was changed: %v", file, err)
				}
				if runs := s.Runs(); len(runs) != 2+i/2 || runs[i/2].GetRun() != "after" || runs[1+i/2].GetRun() != "before" {
					t.Errorf("%v", runs)
				}
				if !readOnly && i == 1 {
					write(t, s, gets("b", 2))
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// Setting a file aside overwrites no other file, and the run's number is not used again.
func TestDamagedFilesAreKept(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "000007.db")
	for i := range 3 {
		if err := os.WriteFile(path, fmt.Append(nil, i), 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, dir, Options{})
		if _, all := s.Damaged(); all != i+1 || len(s.Runs()) != 0 {
			t.Errorf("%d damaged", all)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for i, suffix := range []string{"", ".2", ".3"} {
		if text, err := os.ReadFile(path + ".damaged" + suffix); err != nil || string(text) != fmt.Sprint(i) {
			t.Errorf("%s: %q, %v", suffix, text, err)
		}
	}
	s := open(t, dir, Options{})
	if write(t, s, gets("a", 1)); s.runs[0].number != 8 {
		t.Errorf("number %d", s.runs[0].number)
	}
}

// Files are removed that a process left behind when it ended while creating or copying
// them.
func TestLeftoversAreRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[1-2]*") // a name like any other
	s := open(t, dir, Options{})
	write(t, s, gets("a", 1))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	empty, copied := filepath.Join(dir, "000002.db"), filepath.Join(dir, "000001.db.new")
	for _, path := range []string{empty, copied} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, readOnly := range []bool{true, false} {
		s = open(t, dir, Options{ReadOnly: readOnly})
		if runs := s.Runs(); len(runs) != 1 || runs[0].GetRun() != "a" {
			t.Errorf("%v", runs)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{empty, copied} {
			if _, err := os.Stat(path); (err == nil) != readOnly {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}
