package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The guide's additions to the tree make a working scheme: it builds, its tests and
// those of every scheme pass, and the guide's commands run it.
func TestTheGuideOfAddingAScheme(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program anew")
	}
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	files := added(t, "../docs/guide/scheme.md", filepath.Dir(overlay))
	text, err := json.Marshal(map[string]any{"Replace": files})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(filepath.Dir(overlay), "rackfab")
	ran(t, "go", "test", "-overlay", overlay, "-run", "Brake|Every|Choices|Param|Preset|Section|Stay", "../fabric/cc", "../fabric/topology")
	ran(t, "go", "build", "-overlay", overlay, "-o", own, "../cmd/rackfab")
	commands := typed(t, "../docs/guide/scheme.md")
	t.Chdir(t.TempDir())
	for _, line := range commands {
		if out := ran(t, own, strings.Fields(line)[1:]...); !strings.Contains(out, "brake ") {
			t.Errorf("%s printed no row of brake:\n%s", line, out)
		}
	}
	if len(commands) != 2 {
		t.Errorf("the guide's commands: %q", commands)
	}
}

// added returns the files that a guide adds or changes, each with the path of its
// modified copy in dir.
func added(t *testing.T, guide, dir string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	copies := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^`([^`]+\\.go)`(?:, below `([^`]+)`)?:\n\n((?:    .*\n|\n)+)").FindAllStringSubmatch(string(text), -1) {
		path, err := filepath.Abs(filepath.Join("..", m[1]))
		if err != nil {
			t.Fatal(err)
		}
		block := regexp.MustCompile("(?m)^    ").ReplaceAllString(strings.TrimRight(m[3], "\n"), "") + "\n"
		if m[2] != "" {
			block = below(t, path, copies[path], m[2], block)
		}
		if copies[path] == "" {
			copies[path] = filepath.Join(dir, filepath.Base(filepath.Dir(path))+"_"+filepath.Base(path))
		}
		if err := os.WriteFile(copies[path], []byte(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return copies
}

// below returns the text of a file, or of its copy, with block inserted after the only
// line that contains anchor.
func below(t *testing.T, path, copied, anchor, block string) string {
	t.Helper()
	if copied != "" {
		path = copied
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, after, _ := strings.Cut(string(text), anchor)
	line, rest, found := strings.Cut(after, "\n")
	if !found || strings.Contains(rest, anchor) {
		t.Fatalf("%s: want one line with %q", path, anchor)
	}
	return before + anchor + line + "\n" + block + rest
}

// ran runs a program to its end and returns its output.
func ran(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}
