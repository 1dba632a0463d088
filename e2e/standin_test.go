package e2e

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// importGo creates an image that replaces the official Go image where no registry is
// reachable. It contains the machine's toolchain, a file-based module proxy with the
// modules of go.sum, and a build cache, so that only the first build takes minutes. It
// has no shell.
func importGo(ctx context.Context, t *testing.T, image string) {
	t.Helper()
	must(t, exec.CommandContext(ctx, "go", "mod", "download"))
	user, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	compiled := filepath.Join(user, "rackfab", runtime.Version(), "containers")
	compile := exec.CommandContext(ctx, "go", "build", "-trimpath", "-pgo=auto", "-buildvcs=false", "-o", os.DevNull, "../cmd/rackfab")
	compile.Env = append(os.Environ(), "CGO_ENABLED=0", "GOCACHE="+compiled)
	must(t, compile)
	read, write := io.Pipe()
	go func() { write.CloseWithError(writeGo(write, compiled)) }()
	c := exec.CommandContext(ctx, "docker", "import",
		"--change", "ENV PATH=/usr/local/go/bin HOME=/root GOTOOLCHAIN=local GOPROXY=file:///proxy GOSUMDB=off", "-", image)
	c.Stdin = read
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("docker import: %v\n%s", err, out)
	}
}

// writeGo writes the tar file of importGo's image. compiled is a build cache.
func writeGo(w io.Writer, compiled string) error {
	goroot, err1 := goEnv("GOROOT")
	cache, err2 := goEnv("GOMODCACHE")
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	t := tar.NewWriter(w)
	for _, dir := range []string{"root", "tmp"} {
		if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o1777}); err != nil {
			return err
		}
	}
	for _, part := range []string{"bin", "go.env", "lib", "pkg", "src", "VERSION"} {
		if err := addTree(t, filepath.Join(goroot, part), "usr/local/go/"+part); err != nil {
			return err
		}
	}
	if err := addTree(t, compiled, "root/.cache/go-build"); err != nil {
		return err
	}
	files, err := moduleFiles()
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := addFile(t, filepath.Join(cache, "cache", "download", f), "proxy/"+f); err != nil {
			return err
		}
	}
	return t.Close()
}

func goEnv(key string) (string, error) {
	out, err := exec.Command("go", "env", key).Output()
	return strings.TrimSpace(string(out)), err
}

// moduleFiles returns the files of a module proxy for which go.sum has hashes.
func moduleFiles() ([]string, error) {
	sums, err := os.Open("../go.sum")
	if err != nil {
		return nil, err
	}
	defer sums.Close()
	var files []string
	for lines := bufio.NewScanner(sums); lines.Scan(); {
		f := strings.Fields(lines.Text()) // path, version or version/go.mod, hash
		if len(f) != 3 {
			return nil, fmt.Errorf("go.sum: %q", lines.Text())
		}
		version, isMod := strings.CutSuffix(f[1], "/go.mod")
		base := escape(f[0]) + "/@v/" + escape(version)
		if isMod {
			files = append(files, base+".mod")
		} else {
			files = append(files, base+".info", base+".zip")
		}
	}
	return files, nil
}

// escape encodes a module path or version as module proxies do: an upper-case letter
// becomes ! and the lower-case letter.
func escape(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsUpper(r) {
			b.WriteByte('!')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// addTree adds a file, or a directory with all files below it except tests.
func addTree(t *tar.Writer, from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "testdata" {
			return fs.SkipDir
		}
		if d.IsDir() || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		below, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		return addFile(t, path, filepath.Join(to, below))
	})
}

// addFile adds a file under another name. It skips missing module files: go.sum lists
// some that no build needs.
func addFile(t *tar.Writer, from, to string) error {
	f, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) && slices.Contains([]string{".info", ".mod", ".zip"}, filepath.Ext(from)) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := t.WriteHeader(&tar.Header{Name: to, Size: info.Size(), Mode: int64(info.Mode().Perm()), ModTime: info.ModTime()}); err != nil {
		return err
	}
	_, err = io.Copy(t, f)
	return err
}
