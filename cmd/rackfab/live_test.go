package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/services/controller"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
)

// say runs a command in this process and returns its output.
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

// `up --controller` starts live runs on a rack that is already up, one after the other.
func TestLiveRunOnARunningRack(t *testing.T) {
	address := remoteRack(t, controller.NodeLimit, "h0", "h1", "r0")
	t.Setenv(client.AddressVariable, address)
	file := filepath.Join(t.TempDir(), "journal.yaml")
	for range 2 {
		if got := say(t, "up", "star-2", "--controller", address, "--paused"); !strings.Contains(got, "star-2 under pfc is up: 4 nodes") {
			t.Error(got)
		}
		if got := say(t, "burst", "--from", "h0..h1", "--to", "r0", "--size", "16KB", "--at", "20us"); got != "burst0 at 20us\n" {
			t.Error(got)
		}
		if got := say(t, "impair", "--lose", "2%", "--delay", "0.02", "--nodes", "r0,s0"); got != "the bus is impaired for 2 nodes: r0, s0\n" {
			t.Error(got)
		}
		say(t, "step", "100us")
		if got := say(t, "impair", "off"); got != "the bus is not impaired\n" {
			t.Error(got)
		}
		saved := say(t, "journal", "save", file, "--overwrite")
		digest := saved[strings.LastIndex(saved, " ")+1:]
		if ended := say(t, "down"); !strings.HasSuffix(ended, digest) {
			t.Errorf("saved %s, ended %s", saved, ended)
		}
		if got := say(t, "replay", file); strings.Count(got, strings.TrimSpace(digest)) != 2 {
			t.Errorf("replay: %s", got)
		}
	}
}

// A journal is written to a regular file, to standard output as "-", or to another kind
// of file, which is not replaced.
func TestJournalPath(t *testing.T) {
	address := remoteRack(t, controller.NodeLimit, "h0", "h1", "r0")
	t.Setenv(client.AddressVariable, address)
	t.Chdir(t.TempDir())
	say(t, "up", "star-2", "--controller", address, "--paused")
	say(t, "step", "20us")
	if got := say(t, "journal", "save", "a.yaml"); !strings.HasPrefix(got, "a.yaml: until 20us, digest ") {
		t.Error(got)
	}
	want, err := os.ReadFile("a.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if got := say(t, "journal", "save", "-"); got != string(want) {
		t.Errorf("standard output has %q, the file %q", got, want)
	}
	if err := os.Symlink(os.DevNull, "null"); err != nil {
		t.Fatal(err)
	}
	say(t, "journal", "save", "null")
	if is, err := os.Stat("null"); err != nil || is.Mode().IsRegular() {
		t.Errorf("the link to %s was replaced by a file: %v, %v", os.DevNull, is, err)
	}
	if _, err := os.Stat("-"); err == nil {
		t.Error("a file named - was created")
	}
	say(t, "down")
}
