package e2e

import (
	"os"
	"strings"
	"testing"
)

// The commands of the guide do what it says, in its order.
func TestTheGuideOfLiveRacks(t *testing.T) {
	text, err := os.ReadFile("../docs/guide/live.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	_, rest, _ := strings.Cut(string(text), "    rackfab up ")
	block, _, _ := strings.Cut(rest, "\n\n")
	lines := strings.Split(block, "\n")
	r := up(t, strings.Fields(lines[0])...)
	var last string
	for _, line := range lines[1:] {
		last = r.do(t, strings.Fields(line)[1:]...)
	}
	digests := map[string]bool{}
	for _, line := range strings.Split(strings.TrimSpace(last), "\n") {
		digests[strings.Fields(line)[1]] = true
	}
	if strings.Count(last, "\n") != 3 || len(digests) != 1 {
		t.Errorf("replay printed\n%s", last)
	}
	list := children(t, r.Process.Pid)
	r.interrupt(t)
	gone(t, list)
}
