package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// The oldest run is evicted first, with its file, and stays in the counts.
func TestOldestRunIsEvictedFirst(t *testing.T) {
	dir := t.TempDir()
	const limit = 8 << 20
	s := open(t, dir, Options{MaxSize: limit})
	for i := range 12 {
		write(t, s, gets(fmt.Sprintf("run%02d", i), 2000))
	}
	check := func() {
		t.Helper()
		runs := s.Runs()
		if len(runs) < 2 || len(runs) == 12 || runs[0].GetRun() != "run11" {
			t.Fatalf("%d runs: %v", len(runs), runs)
		}
		held := int64(len(runs)) * 6000
		c := s.Totals()
		if want := (Counts{Received: 72000, Stored: 72000, Held: held, Evicted: 72000 - held}); c.Spans != want || c.Evicted != 12-int64(len(runs)) {
			t.Errorf("%+v, want %+v", c, want)
		}
		if _, err := s.GetTrace("run00", "1"); !errors.Is(err, ErrNotFound) {
			t.Errorf("the oldest run is still stored: %v", err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "0*.db"))
		if err != nil || len(files) != len(runs) {
			t.Errorf("files %v, %v", files, err)
		}
		if have, want := s.Size(), onDisk(t, files); have != want {
			t.Errorf("size %d, files have %d", have, want)
		}
	}
	check()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, Options{MaxSize: limit})
	check()
}

// A run received after the eviction of the latest run survives a restart of the process,
// because its number is new.
func TestRunAfterTheLatestWasEvicted(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		dir, limit := t.TempDir(), Options{MaxSize: 4 << 20}
		s := open(t, dir, limit)
		reopen := func() {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, dir, limit)
		}
		write(t, s, gets("first", 10))
		write(t, s, gets("second", 10))
		for n := 2000; len(s.Runs()) > 1 && n < 64_000; n *= 2 { // the run being written stays
			write(t, s, gets("first", n))
		}
		if runs := s.Runs(); len(runs) != 1 || runs[0].GetRun() != "first" {
			t.Fatalf("stored runs: %v", runs)
		}
		if restarted {
			reopen()
		}
		s.options.MaxSize = 0
		write(t, s, gets("third", 10))
		reopen()
		if runs := s.Runs(); len(runs) != 2 || runs[0].GetRun() != "third" {
			t.Errorf("restarted %v: stored runs: %v", restarted, runs)
		}
	}
}

// An evicted run whose file could not be removed stays evicted, whatever is evicted after it, and is counted once.
func TestEvictedRunIsCountedOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be removed there")
	}
	dir := t.TempDir()
	s := open(t, dir, Options{})
	for _, run := range []string{"a", "b", "c", "d"} {
		write(t, s, gets(run, 10))
	}
	first := s.runs[0].path
	content, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(first), os.MkdirAll(filepath.Join(first, "x"), 0o755)); err != nil { // cannot be removed
		t.Fatal(err)
	}
	if err := s.remove(0); err == nil {
		t.Fatal("the file was removed")
	}
	if err := errors.Join(s.remove(0), s.remove(0)); err != nil {
		t.Fatal(err)
	}
	want := s.Totals()
	if err := errors.Join(s.Close(), os.RemoveAll(first), os.WriteFile(first, content, 0o600)); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, Options{})
	if got := s.Totals(); got != want || got.Evicted != 3 || len(s.Runs()) != 1 {
		t.Errorf("%+v and %d runs after a restart, want %+v and 1 run", got, len(s.Runs()), want)
	}
	if _, err := os.Stat(first); err == nil {
		t.Error("the file of the evicted run stays")
	}
}

// onDisk returns the size of files in bytes.
func onDisk(t *testing.T, files []string) (n int64) {
	t.Helper()
	for _, path := range files {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		n += info.Size()
	}
	return n
}

// A run that alone fills the store accepts no more data and reports that.
func TestRunThatFillsTheStore(t *testing.T) {
	s := open(t, t.TempDir(), Options{MaxSize: 2 << 20})
	write(t, s, gets("a", 3000))
	d := gets("a", 3001)
	d.Rejected.Spans = 2
	write(t, s, d)
	c := s.Totals().Spans
	if !d.Full || c != (Counts{Received: 9000 + 9003 + 2, Stored: 9000, Held: 9000, Rejected: 9003 + 2}) {
		t.Errorf("%v %+v", d.Full, c)
	}
}

// The slowest traces of each flow keep their spans, the others only their roots.
func TestSlowestTracesAreKept(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{KeepSlowest: 0.01})
	write(t, s, gets("a", 1000))
	before, err := s.GetPercentiles(&rackfabv1.GetPercentilesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CloseIdle(noon.Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	if c := s.Totals().Spans; c.SampledOut != 0 {
		t.Errorf("a run that goes on was closed: %+v", c)
	}
	if n, err := s.CloseRun(""); err != nil || n != 990*2 {
		t.Errorf("%d left, %v", n, err)
	}
	for range 2 {
		if have, want := s.Size(), onDisk(t, []string{filepath.Join(dir, "000001.db")}); have != want {
			t.Errorf("size %d, the file has %d", have, want)
		}
		if c := s.Totals().Spans; c != (Counts{Received: 3000, Stored: 3000, Held: 3000 - 1980, SampledOut: 1980}) {
			t.Errorf("%+v", c)
		}
		out, err := s.ListTraces(&rackfabv1.ListTracesRequest{Flow: "F1", Limit: 500})
		if err != nil || len(out.GetTraces()) != 500 {
			t.Fatal(len(out.GetTraces()), err)
		}
		for i, tr := range out.GetTraces() {
			whole := i < 5
			if tr.GetDetailsDropped() == whole || (tr.GetSpans() == 3) != whole || len(tr.GetAttributes()) != 1 {
				t.Fatalf("trace %d: %v", i, tr)
			}
		}
		after, err := s.GetPercentiles(&rackfabv1.GetPercentilesRequest{})
		if diff := cmp.Diff(before, after, protocmp.Transform()); err != nil || diff != "" {
			t.Error(err, diff)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, dir, Options{KeepSlowest: 0.01})
	}
	write(t, s, gets("a", 1001)) // deleted spans count as new again
	if c := s.Totals().Spans; c.Stored != 3000+1980+3 || c.Received != c.Stored+c.Duplicates || c.Stored != c.Held+c.SampledOut {
		t.Errorf("%+v", c)
	}
}
