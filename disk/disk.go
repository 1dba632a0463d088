// Package disk writes files and claims folders, so that a reader finds a complete file or none, and
// two processes never write the same one. It knows names and bytes alone.
//
// A file is written under a temporary name in its own folder, synced and renamed. An error removes the
// temporary file and leaves an older file as it was.
package disk

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Permissions of new files, before the process's umask.
const (
	Public fs.FileMode = 0o666
	Secret fs.FileMode = 0o600 // only the owner may read it
)

// Replace creates a file, or replaces an older one, with what write writes. An older file keeps its
// permissions if mode is Public. Something else than a regular file, such as a pipe, is written to
// directly.
func Replace(path string, mode fs.FileMode, write func(io.Writer) error) error {
	f, err := Create(path, mode)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		return f.Discard(err)
	}
	return f.Close()
}

// New is Replace for a file that does not exist yet, or is empty. Otherwise its error is fs.ErrExist, also
// if another process writes the file at the same time.
func New(path string, mode fs.FileMode, write func(io.Writer) error) error {
	f, err := Create(path, mode)
	if err != nil {
		return err
	}
	if f.path != "" {
		f.place = placeNew
	}
	if err := write(f); err != nil {
		return f.Discard(err)
	}
	return f.Close()
}

// Text returns a function that writes text.
func Text[T ~string | ~[]byte](text T) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write([]byte(text))
		return err
	}
}

// File is a file in the making. It gets its name when it is closed.
type File struct {
	*os.File
	path  string // to be, "" if the file is written to directly
	place func(from, to string) error
}

// Create begins a file as Replace does. The caller calls either Close or Discard.
func Create(path string, mode fs.FileMode) (*File, error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // a link stays
	}
	old, err := os.Stat(path)
	if err == nil && !old.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		return &File{File: f}, err
	}
	temporary := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"-"+rand.Text()[:8])
	f, failed := os.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if failed != nil {
		var at *fs.PathError
		if errors.As(failed, &at) {
			at.Path = path
		}
		return nil, failed
	}
	made := &File{f, path, os.Rename}
	if err == nil && mode == Public {
		if err := f.Chmod(old.Mode().Perm()); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return nil, made.Discard(err)
		}
	}
	return made, nil
}

// Close syncs the file and gives it its name. After an error nothing is left of it.
func (f *File) Close() error {
	if f.path == "" {
		return f.File.Close()
	}
	err := f.Sync()
	if errors.Is(err, errors.ErrUnsupported) {
		err = nil // a file system without it
	}
	if err = errors.Join(err, f.File.Close()); err == nil {
		err = f.place(f.Name(), f.path)
	}
	if err != nil {
		return errors.Join(f.named(err), os.Remove(f.Name()))
	}
	return nil
}

// Discard ends a file without giving it its name. Nothing is left of it. It returns the reason with the name of
// the file.
func (f *File) Discard(reason error) error {
	err := errors.Join(f.named(reason), f.File.Close())
	if f.path == "" {
		return err
	}
	return errors.Join(err, os.Remove(f.Name()))
}

// named returns an error with the name of the file in place of the temporary one.
func (f *File) named(err error) error {
	path := f.path
	if path == "" {
		path = f.Name()
	}
	var at *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &at) && at.Path == f.Name():
		return fmt.Errorf("%s: %w", path, at.Err)
	case errors.As(err, &link) && link.Old == f.Name():
		return fmt.Errorf("%s: %w", path, link.Err)
	case at != nil:
		return err // it names another file
	}
	return fmt.Errorf("%s: %w", path, err)
}

// placeNew renames a file to a name that is free, or that an empty file has.
func placeNew(from, to string) error {
	err := os.Link(from, to) // unlike os.Rename, it never replaces a file
	switch {
	case err == nil:
		return os.Remove(from)
	case !errors.Is(err, fs.ErrExist): // a file system without links
		free, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, Public)
		if err == nil {
			return errors.Join(free.Close(), os.Rename(from, to))
		} else if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if is, err := os.Stat(to); err != nil || !is.Mode().IsRegular() || is.Size() > 0 {
		return fmt.Errorf("%s: %w", to, fs.ErrExist)
	}
	return os.Rename(from, to)
}
