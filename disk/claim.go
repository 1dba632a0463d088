package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrClaimed means that another process has claimed a name.
var ErrClaimed = errors.New("in use by another process")

// Claim is the right to write what has a name, which one process has at a time. It ends with the process
// at the latest.
type Claim struct{ lock *os.File }

// Take claims the name of a file, which need not exist, by a lock on a file beside it. Its error is ErrClaimed
// if another process has the claim. Something else than a regular file, such as /dev/null, is not claimed.
func Take(path string) (*Claim, error) {
	if is, err := os.Stat(path); err == nil && !is.Mode().IsRegular() {
		return &Claim{}, nil
	}
	return take(path, filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+lockSuffix))
}

// lockSuffix is the end of the name of a file whose lock is a claim.
const lockSuffix = ".lock"

// IsLock reports whether the name of a file is one that claims use.
func IsLock(name string) bool {
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, lockSuffix)
}

// take claims path by a lock.
func take(path, lock string) (*Claim, error) {
	for {
		f, err := os.OpenFile(lock, os.O_CREATE|os.O_RDWR, 0o644)
		if err != nil {
			var at *fs.PathError
			if errors.As(err, &at) {
				err = at.Err // it names the lock
			}
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		switch err := tryLock(f); {
		case errors.Is(err, ErrClaimed):
			return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
		case err != nil && !errors.Is(err, errors.ErrUnsupported): // a file system without locks has no claims
			return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
		}
		locked, err := f.Stat()
		if now, gone := os.Stat(lock); err == nil && gone == nil && os.SameFile(locked, now) {
			return &Claim{f}, nil
		}
		_ = f.Close() // an earlier process removed the file as it ended its claim
	}
}

// Release ends the claim.
func (c *Claim) Release() error {
	if c.lock == nil {
		return nil
	}
	err := os.Remove(c.lock.Name())
	closed := c.lock.Close()
	if err != nil {
		_ = os.Remove(c.lock.Name()) // Windows removes closed files only; another process may have the claim by now
	}
	return closed
}

// Folder is a folder that this process alone writes.
type Folder struct {
	Path  string
	made  []string // the folders that were created, the innermost first
	claim *Claim
}

// NewFolder creates a folder that does not exist: the given one, or else one with a number, "runs/fig5-2".
func NewFolder(path string) (*Folder, error) {
	made := missing(filepath.Dir(path))
	name, err := free(path, "", func(name string) error { return os.Mkdir(name, 0o777) })
	if err != nil {
		return nil, err
	}
	return claimed(name, append([]string{name}, made...))
}

// UseFolder claims a folder, and creates it if it does not exist. Its error is ErrClaimed if another process
// has claimed the folder.
func UseFolder(path string) (*Folder, error) {
	made := missing(path)
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, plain(err)
	}
	return claimed(path, made)
}

// missing returns the folders that do not exist on the path of dir, the innermost first.
func missing(dir string) (list []string) {
	for {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			return list
		}
		list, dir = append(list, dir), filepath.Dir(dir)
	}
}

// claimed returns the claim of a folder, for which the folders made were created.
func claimed(path string, made []string) (*Folder, error) {
	claim, err := take(path, filepath.Join(path, lockSuffix))
	if err != nil {
		return nil, err
	}
	return &Folder{path, made, claim}, nil
}

// Release ends the claim. It removes the folders that were created for it and are empty. A nil folder
// has no claim.
func (f *Folder) Release() error {
	if f == nil {
		return nil
	}
	err := f.claim.Release()
	for _, dir := range f.made {
		_ = os.Remove(dir) // fails if it is not empty
	}
	return err
}

// NewFile creates an empty file that does not exist: the given one, or else one with a number, "runs/live-2.yaml".
func NewFile(path string) (string, error) {
	suffix := filepath.Ext(path)
	return free(strings.TrimSuffix(path, suffix), suffix, func(name string) error {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, Public)
		if err != nil {
			return err
		}
		return f.Close()
	})
}

// free calls create with names until one is free, and returns that name. It creates the folder of the names.
func free(path, suffix string, create func(name string) error) (string, error) {
	name := path + suffix
	for n := 2; ; n++ {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return "", plain(err)
		}
		err := create(name)
		switch {
		case err == nil:
			return name, nil
		case errors.Is(err, fs.ErrNotExist) && n < mostNames: // another process has removed the folder, which was empty
		case errors.Is(err, fs.ErrExist):
			name = fmt.Sprintf("%s-%d%s", path, n, suffix)
		default:
			return "", plain(err)
		}
	}
}

// mostNames bounds the names that are tried if their folder does not stay.
const mostNames = 100

// plain returns an error without the name of the system call.
func plain(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return fmt.Errorf("%s: %w", at.Path, at.Err)
	}
	return err
}
