package live

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/disk"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/controller"
)

// `up` reports an unreachable collector.
func TestUnreachableCollector(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	reachable := unreachable(l.Addr().String())
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if closed := unreachable(l.Addr().String()); reachable != "" || !strings.Contains(closed, "not reachable yet") {
		t.Errorf("reachable: %q, closed: %q", reachable, closed)
	}
}

// A journal of an earlier run is renamed, which is said; without one nothing is.
func TestKeepEarlier(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "j.yaml")
	if err := disk.Replace(path, disk.Public, func(w io.Writer) error { return controller.PrintJournal(w, &rackfabv1.Journal{AtPs: 1}) }); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{path + ", the journal of an earlier run, is now j-1.yaml\n", ""} {
		var said strings.Builder
		if err := keepEarlier(&said, path); err != nil || said.String() != want {
			t.Errorf("said %q, %v, want %q", said.String(), err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "j-1.yaml")); err != nil {
		t.Error(err)
	}
}

// Racks that start at the same time have a journal each, unless --journal names it.
func TestJournalsDiffer(t *testing.T) {
	t.Chdir(t.TempDir())
	first, err := journalPath("")
	if err != nil {
		t.Fatal(err)
	}
	second, err := journalPath("")
	if err != nil || first == second {
		t.Errorf("%s twice, %v", first, err)
	}
	cleanUp(first)
	if _, err := os.Stat(first); err == nil {
		t.Error("an empty journal stays")
	}
}
