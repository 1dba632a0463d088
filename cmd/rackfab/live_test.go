package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// say runs a command in this process and gives what it prints.
func say(t *testing.T, args ...string) string {
	t.Helper()
	c, out := root(), &bytes.Buffer{}
	c.SetArgs(args)
	c.SetOut(out)
	if err := c.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("rackfab %v: %v", args, err)
	}
	return out.String()
}

// A rack that stands already is steered, and left standing for the next run.
func TestALiveRunOnARackThatIsUp(t *testing.T) {
	address := standingRack(t, "h0", "h1", "r0")
	t.Setenv(addressVariable, address)
	file := filepath.Join(t.TempDir(), "journal.yaml")
	for range 2 {
		if got := say(t, "up", "star-2", "--controller", address, "--paused"); !strings.Contains(got, "star-2 under pfc is up: 4 nodes") {
			t.Error(got)
		}
		if got := say(t, "burst", "--from", "h0..h1", "--to", "r0", "--size", "16KB", "--at", "20us"); got != "burst0 at 20us\n" {
			t.Error(got)
		}
		say(t, "step", "100us")
		saved := say(t, "journal", "save", file)
		digest := saved[strings.LastIndex(saved, " ")+1:]
		if ended := say(t, "down"); !strings.HasSuffix(ended, digest) {
			t.Errorf("saved %s, ended %s", saved, ended)
		}
		if got := say(t, "replay", file); strings.Count(got, strings.TrimSpace(digest)) != 2 {
			t.Errorf("replay: %s", got)
		}
	}
}
