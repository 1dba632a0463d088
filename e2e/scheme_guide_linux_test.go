package e2e

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/e2e/slowtest"
)

// The guide's additions to a copy of the repository make a working scheme: every command
// of the guide succeeds there, and the guide's runs print rows of the scheme.
func TestSchemeGuide(t *testing.T) {
	slowtest.Skip(t, "compiles and tests a copy of the repository")
	t.Parallel()
	guide, err := os.ReadFile("../docs/guide/scheme.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := typed(t, "../docs/guide/scheme.md")
	tree := copied(t, "..")
	addTo(t, tree, string(guide))
	below(t, filepath.Join(tree, "docs/guide/live.md"), "chooses among", "chooses among `brake`,", "")
	runs := 0
	for _, line := range commands {
		args := strings.Fields(line)
		if args[0] == "rackfab" {
			args = append([]string{"go", "run", "./cmd/rackfab"}, args[1:]...)
			runs++
		}
		out := ran(t, tree, args...)
		if args[1] == "run" && !strings.Contains(out, "brake ") {
			t.Errorf("%s printed no row for brake:\n%s", line, out)
		}
	}
	if runs != 2 || len(commands) != 4 {
		t.Errorf("the guide's commands: %q", commands)
	}
}

// copied returns a copy of the repository without files that git or a run has made.
func copied(t *testing.T, root string) string {
	t.Helper()
	tree := t.TempDir()
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (path == "bin" || path != "." && strings.HasPrefix(d.Name(), ".") && path != ".ci"):
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(tree, path), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(tree, path), text, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// addition matches a block of the guide and its place: a new file, or the lines below an
// anchor in an existing one.
var addition = regexp.MustCompile("(?m)^`([^`]+)`(?:, below `(.+)`)?:\n\n((?:    .*\n|\n)+)")

// addTo makes the guide's additions to the files of a copy of the repository.
func addTo(t *testing.T, tree, guide string) {
	t.Helper()
	for _, m := range addition.FindAllStringSubmatch(guide, -1) {
		block := regexp.MustCompile("(?m)^    ").ReplaceAllString(strings.TrimRight(m[3], "\n"), "") + "\n"
		file := filepath.Join(tree, m[1])
		if m[2] != "" {
			below(t, file, m[2], m[2], block)
		} else if err := os.WriteFile(file, []byte(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// below replaces the only anchor in a file, and inserts block below its line.
func below(t *testing.T, path, anchor, replacement, block string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, after, _ := strings.Cut(string(text), anchor)
	line, rest, found := strings.Cut(after, "\n")
	if !found || strings.Contains(rest, anchor) {
		t.Fatalf("%s: want one line with %q", path, anchor)
	}
	if err := os.WriteFile(path, []byte(before+replacement+line+"\n"+block+rest), 0o600); err != nil {
		t.Fatal(err)
	}
}

// ran runs a command in a folder to its end and returns its output.
func ran(t *testing.T, folder string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, out)
	}
	return string(out)
}
