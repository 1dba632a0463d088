package e2e

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// The commands of the guide have the documented effect, in its order.
func TestLiveGuideCommands(t *testing.T) {
	text, err := os.ReadFile("../docs/guide/live.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "    rackfab up ")
	block, _, _ := strings.Cut(rest, "\n\n")
	lines := strings.Split(block, "\n")
	more := beyond(t, "../docs/guide/live.md", lines)
	if len(more) == 0 {
		t.Error("the guide has no commands after its first block")
	}
	t.Chdir(t.TempDir())
	r := up(t, strings.Fields(lines[0])...)
	var last string
	for _, line := range lines[1:] {
		last = r.do(t, unquoted(line)[1:]...)
	}
	digests := map[string]bool{}
	for _, line := range strings.Split(strings.TrimSpace(last), "\n") {
		digests[strings.Fields(line)[1]] = true
	}
	if strings.Count(last, "\n") != 3 || len(digests) != 1 {
		t.Errorf("replay printed\n%s", last)
	}
	r.do(t, "resume")
	for _, line := range more {
		r.do(t, unquoted(line)[1:]...)
	}
	list := children(t, r.Process.Pid)
	r.interrupt(t)
	awaitExit(t, list)
}

// beyond returns the commands of a document that are not in done.
func beyond(t *testing.T, path string, done []string) (rest []string) {
	t.Helper()
	for _, line := range typed(t, path) {
		known := slices.ContainsFunc(done, func(d string) bool {
			return strings.HasSuffix(strings.TrimSpace(d), strings.TrimPrefix(line, "rackfab up "))
		})
		if !known {
			rest = append(rest, line)
		}
	}
	return rest
}
