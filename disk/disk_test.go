package disk_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rackfab/rackfab/disk"
)

var errFull = errors.New("no space left on device")

// full writes the beginning of a file, as a full disk does.
func full(w io.Writer) error {
	_, err := io.WriteString(w, "begin")
	return errors.Join(err, errFull)
}

// content returns the names and contents of the files of a folder.
func content(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e.Name()+" "+string(text))
	}
	return list
}

func want(t *testing.T, dir string, list ...string) {
	t.Helper()
	if got := content(t, dir); !slices.Equal(got, list) {
		t.Errorf("files %q, want %q", got, list)
	}
}

// An error of writing leaves the older file as it was, and no other.
func TestFailedWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	for _, write := range []func(string, fs.FileMode, func(io.Writer) error) error{disk.Replace, disk.New} {
		if err := write(path, disk.Public, full); !errors.Is(err, errFull) || !strings.HasPrefix(err.Error(), path+": ") {
			t.Error(err)
		}
		want(t, dir)
	}
	if err := disk.New(path, disk.Public, disk.Text("old")); err != nil {
		t.Fatal(err)
	}
	if err := disk.Replace(path, disk.Public, full); !errors.Is(err, errFull) {
		t.Error(err)
	}
	want(t, dir, "a old")
	if err := disk.New(path, disk.Public, disk.Text("new")); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	want(t, dir, "a old")
	if err := disk.Replace(path, disk.Public, disk.Text("new")); err != nil {
		t.Fatal(err)
	}
	want(t, dir, "a new")
}

// The file has its old content until the new one is complete.
func TestReadersSeeCompleteFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	if err := disk.Replace(path, disk.Public, disk.Text("old")); err != nil {
		t.Fatal(err)
	}
	err := disk.Replace(path, disk.Public, func(w io.Writer) error {
		_, err := io.WriteString(w, "begin")
		if text, failed := os.ReadFile(path); failed != nil || string(text) != "old" {
			t.Errorf("%q, %v", text, failed)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A file that is closed by its writer, or whose folder is gone, is an error that names the file.
func TestErrorsNameTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing", "a")
	if err := disk.Replace(path, disk.Public, disk.Text("")); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path+":") {
		t.Error(err)
	}
	path = filepath.Join(t.TempDir(), "a")
	f, err := disk.Create(path, disk.Public)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.File.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); !errors.Is(err, fs.ErrClosed) || !strings.HasPrefix(err.Error(), path+":") {
		t.Error(err)
	}
	want(t, filepath.Dir(path))
}

// Links, permissions and files that are not regular stay what they are.
func TestKindOfFileStays(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links and permissions of Unix")
	}
	dir := t.TempDir()
	path, link := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if err := errors.Join(os.WriteFile(path, []byte("old"), 0o640), os.Symlink("a", link)); err != nil {
		t.Fatal(err)
	}
	if err := disk.Replace(link, disk.Public, disk.Text("new")); err != nil {
		t.Fatal(err)
	}
	want(t, dir, "a new", "b new")
	if is, err := os.Lstat(link); err != nil || is.Mode()&fs.ModeSymlink == 0 {
		t.Error(is, err)
	}
	if is, err := os.Stat(path); err != nil || is.Mode().Perm() != 0o640 {
		t.Error(is, err)
	}
	if err := disk.Replace(path, disk.Secret, disk.Text("key")); err != nil {
		t.Fatal(err)
	}
	if is, err := os.Stat(path); err != nil || is.Mode().Perm() != 0o600 {
		t.Error(is, err)
	}
	for _, write := range []func(string, fs.FileMode, func(io.Writer) error) error{disk.Replace, disk.New} {
		if err := write(os.DevNull, disk.Public, disk.Text("text")); err != nil {
			t.Error(err)
		}
	}
	if is, err := os.Stat(os.DevNull); err != nil || is.Mode().IsRegular() {
		t.Error(is, err)
	}
}

// each calls do in several goroutines at the same time and returns the errors.
func each(do func(i int) error) []error {
	errs := make([]error, 16)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { <-start; errs[i] = do(i) })
	}
	close(start)
	all.Wait()
	return errs
}

// wins returns how many errors are nil. The others must be want.
func wins(t *testing.T, errs []error, want error) (n int) {
	t.Helper()
	for _, err := range errs {
		if err == nil {
			n++
		} else if !errors.Is(err, want) {
			t.Error(err)
		}
	}
	return n
}

// One of several writers of a new file succeeds, also where the file is there and empty.
func TestNewFileHasOneWriter(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if n := wins(t, each(func(int) error { return disk.New(path, disk.Public, disk.Text("text")) }), fs.ErrExist); n != 1 {
		t.Errorf("%d writers", n)
	}
	want(t, dir, "a text")
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if err := disk.New(path, disk.Public, disk.Text("text")); err != nil {
		t.Error(err)
	}
	want(t, dir, "a text")
}

// New names are never given twice.
func TestNewNamesDiffer(t *testing.T) {
	dir := t.TempDir()
	for _, create := range []func() (string, error){
		func() (string, error) { return disk.NewFile(filepath.Join(dir, "files", "a.yaml")) },
		func() (string, error) {
			f, err := disk.NewFolder(filepath.Join(dir, "folders", "a"))
			if err != nil {
				return "", err
			}
			return f.Path, nil
		},
	} {
		names := make([]string, 16)
		if n := wins(t, each(func(i int) (err error) { names[i], err = create(); return err }), nil); n != 16 {
			t.Errorf("%d names", n)
		}
		slices.Sort(names)
		if len(slices.Compact(names)) != 16 {
			t.Errorf("names %q", names)
		}
	}
}

// A file and a folder have one owner at a time. Nothing is left of a claim.
func TestClaims(t *testing.T) {
	dir := t.TempDir()
	type claim interface{ Release() error }
	for _, take := range []func() (claim, error){
		func() (claim, error) { return disk.Take(filepath.Join(dir, "a")) },
		func() (claim, error) { return disk.UseFolder(filepath.Join(dir, "folder")) },
	} {
		for range 20 {
			var mu sync.Mutex
			var owner claim
			errs := each(func(int) error {
				c, err := take()
				if err == nil {
					mu.Lock()
					owner = c
					mu.Unlock()
				}
				return err
			})
			if n := wins(t, errs, disk.ErrClaimed); n != 1 {
				t.Fatalf("%d owners", n)
			}
			if err := owner.Release(); err != nil {
				t.Error(err)
			}
			_ = os.Remove(filepath.Join(dir, "folder")) // another claimant may have created it
			want(t, dir)
		}
	}
}

// One owner follows the other, and no two have a claim at the same time.
func TestClaimsExclude(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	var owners sync.Mutex
	wins(t, each(func(int) error {
		for range 50 {
			c, err := disk.Take(path)
			if errors.Is(err, disk.ErrClaimed) {
				continue
			}
			if err != nil {
				return err
			}
			if !owners.TryLock() {
				return errors.New("two owners")
			}
			runtime.Gosched()
			owners.Unlock()
			if err := c.Release(); err != nil {
				return err
			}
		}
		return nil
	}), nil)
}

// A folder with files stays when its claim ends, and so does one that was there before.
func TestFoldersThatStay(t *testing.T) {
	dir := t.TempDir()
	old, err := disk.UseFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	made, err := disk.UseFolder(filepath.Join(dir, "new"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(made.Path, "a"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(made.Release(), old.Release()); err != nil {
		t.Error(err)
	}
	want(t, made.Path, "a text")
	if c, err := disk.Take(os.DevNull); err != nil || c.Release() != nil {
		t.Error(err)
	}
}
