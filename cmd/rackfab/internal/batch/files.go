package batch

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rackfab/rackfab/sweep"
)

// writeBeside writes files into a folder without overwriting others: where a file of a name has
// another content, all get a number, such as table-2.csv. It returns the names.
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
	for number, taken := 1, true; taken; number++ {
		names, taken = numbered(files, number), false
		for i, name := range names {
			there, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			taken = taken || err == nil && !bytes.Equal(there, contents[i])
		}
	}
	for i, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), contents[i], 0o644); err != nil {
			return nil, err
		}
	}
	return names, nil
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
