// Command stores measures embedded databases as the store of the collector, on a
// million spans: how fast they take them, how much room they need, and how long the
// collector's questions take. It is a module of its own, so that none of them but the
// chosen one is the project's. Its figures are in docs/adr/015-store-of-the-collector.md.
//
//	go run . modernc ncruces bbolt pebble
package main

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	_ "github.com/ncruces/go-sqlite3/driver"
	_ "modernc.org/sqlite"
)

type store interface {
	write(batch []row) error
	slowest(flow int) (int, error)
	latest() (int, error)
	atNode(node int, low, high int64) (int, error)
	get(id [16]byte) (int, error)
	percentiles() (int, error)
	close() error
}

var kinds = map[string]func(dir string) (store, error){
	"modernc": func(dir string) (store, error) { return openSQL("sqlite", filepath.Join(dir, "db")) },
	"ncruces": func(dir string) (store, error) { return openSQL("sqlite3", "file:"+filepath.Join(dir, "db")) },
	"bbolt":   func(dir string) (store, error) { return openBolt(filepath.Join(dir, "db")) },
	"pebble":  func(dir string) (store, error) { return openPebble(dir) },
}

func main() {
	for _, kind := range os.Args[1:] {
		if err := measure(kind); err != nil {
			fmt.Fprintln(os.Stderr, kind, err)
		}
	}
}

func cpu() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

func measure(kind string) error {
	dir, err := os.MkdirTemp("", "stores-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := kinds[kind](dir)
	if err != nil {
		return err
	}
	var ids [][16]byte
	var spent time.Duration
	n, c := 0, cpu()
	load(100_000, func(b []row) {
		if len(ids) < 4000 {
			ids = append(ids, b[0].trace)
		}
		t := time.Now()
		if e := s.write(b); e != nil {
			err = e
		}
		spent += time.Since(t)
		n += len(b)
	})
	if err != nil {
		return err
	}
	c = cpu() - c
	size := sizeOf(dir)
	if err := s.close(); err != nil {
		return err
	}
	fmt.Printf("%s: %d spans, %.0f k/s, CPU %.1f s (with load), %.0f B/span, closed %.0f B/span\n", kind, n, float64(n)/spent.Seconds()/1e3, c, float64(size)/float64(n), float64(sizeOf(dir))/float64(n))
	if s, err = kinds[kind](dir); err != nil {
		return err
	}
	defer s.close()
	rnd := rand.New(rand.NewPCG(3, 4))
	queries := []struct {
		name  string
		times int
		do    func() (int, error)
	}{
		{"slowest 20 of a flow", 500, func() (int, error) { return s.slowest(rnd.IntN(flows)) }},
		{"latest 20", 500, s.latest},
		{"20 at a node, duration range", 500, func() (int, error) { return s.atNode(rnd.IntN(nodes), 1e9, 3e9) }},
		{"a trace", 500, func() (int, error) { return s.get(ids[rnd.IntN(len(ids))]) }},
		{"percentiles per flow", 20, s.percentiles},
	}
	for _, q := range queries {
		var took []time.Duration
		rows := 0
		for range q.times {
			t := time.Now()
			n, err := q.do()
			if err != nil {
				return err
			}
			took = append(took, time.Since(t))
			rows += n
		}
		slices.Sort(took)
		fmt.Printf("  %-30s p50 %10v p99 %10v rows %d\n", q.name, took[len(took)/2], took[rank(len(took), 0.99)], rows/q.times)
	}
	return nil
}

func sizeOf(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if i, err := d.Info(); err == nil {
				n += i.Size()
			}
		}
		return nil
	})
	return n
}
