package batch

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rackfab/rackfab/disk"
	"github.com/rackfab/rackfab/sweep"
)

// cellsFolder is the folder of the finished cells of a sweep.
const cellsFolder = "cells"

// outputFolder claims the folder of --output, by default a new one below runs, named after what runs and the time.
func outputFolder(out, name string) (*disk.Folder, error) {
	if out == "" {
		return disk.NewFolder(filepath.Join("runs", name+"-"+time.Now().Format("20060102-150405")))
	}
	return disk.UseFolder(out)
}

// openFolder claims the results folder of a run. The folder must have no files, unless the run can go on in it.
// The caller releases it.
func openFolder(f *runFlags, name string, goesOn bool) (*disk.Folder, error) {
	folder, err := outputFolder(f.out, name)
	if err != nil {
		return nil, fmt.Errorf("the results cannot be written: %w", err)
	}
	f.out = folder.Path
	f.Telemetry.Folder = filepath.Join(f.out, "telemetry")
	if !goesOn || !resumable(f.out) {
		if err := unoccupied(f.out, "choose another folder, or remove it"); err != nil {
			return nil, errors.Join(err, folder.Release())
		}
	}
	return folder, nil
}

// unoccupied returns an error if the folder has files: results are not overwritten. The error ends with
// advice.
func unoccupied(dir, advice string) error {
	entries, _ := os.ReadDir(dir) // an unreadable folder cannot be written to either
	for _, e := range entries {
		if !e.IsDir() && !disk.IsLock(e.Name()) {
			return fmt.Errorf("--output %s: has files that would be overwritten, such as %s: %s", dir, e.Name(), advice)
		}
	}
	return nil
}

// resumable reports whether a folder has finished cells, so that an experiment goes on there.
func resumable(dir string) bool {
	is, err := os.Stat(filepath.Join(dir, cellsFolder))
	return err == nil && is.IsDir()
}

// writeBeside writes files into a folder without overwriting others: where a file of a name has
// another content, all get a number, such as table-2.csv. It returns the names, or nil after an error.
func writeBeside(dir string, files []sweep.File) (names []string, err error) {
	contents := make([][]byte, len(files))
	for i, f := range files {
		var b bytes.Buffer
		if err := f.Write(&b); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		contents[i] = b.Bytes()
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for number := 1; ; number++ {
		names = numbered(files, number)
		switch err := writeSet(dir, names, contents); {
		case err == nil:
			return names, nil
		case !errors.Is(err, fs.ErrExist):
			return nil, err
		}
	}
}

// writeSet writes all files or, after an error, none. Its error is fs.ErrExist if one is there with another
// content.
func writeSet(dir string, names []string, contents [][]byte) error {
	var written []string
	for i, name := range names {
		path := filepath.Join(dir, name)
		err := disk.New(path, disk.Public, disk.Text(contents[i]))
		if there, unread := os.ReadFile(path); errors.Is(err, fs.ErrExist) && unread == nil && bytes.Equal(there, contents[i]) {
			continue
		}
		if err != nil {
			for _, path := range written {
				err = errors.Join(err, os.Remove(path))
			}
			return err
		}
		written = append(written, path)
	}
	return nil
}

// numbered returns the names of the files, with a number before the extension if it is above 1.
func numbered(files []sweep.File, number int) (names []string) {
	for _, f := range files {
		name := f.Name
		if ext := filepath.Ext(name); number > 1 {
			name = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), number, ext)
		}
		names = append(names, name)
	}
	return names
}
