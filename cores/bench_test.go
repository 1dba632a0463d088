package cores

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// BenchmarkRacks runs racks of several sizes on one core, on all, and on as many as make
// the run faster, in turn. It reports the run alone, without parsing and building:
// seconds of wall and CPU time, and millions of frame-hops per second of each.
func BenchmarkRacks(b *testing.B) {
	racks := []*topology.Scenario{builtin(b, "pcn-16to2", "pcn", 80*unit.Millisecond)}
	for _, name := range []string{"testdata/star-128.yaml", "testdata/hadoop.yaml", "testdata/leaf-spine-1024.yaml", "../fabric/scenariofile/testdata/racks/fat-tree-1024.yaml"} {
		text, err := os.ReadFile(filepath.FromSlash(name))
		if err != nil {
			b.Fatal(err)
		}
		s, err := scenariofile.Parse(name, text)
		if err != nil {
			b.Fatal(err)
		}
		racks = append(racks, s)
	}
	HugePages(512 << 20) // as in a run of these racks
	all := runtime.GOMAXPROCS(0)
	for _, s := range racks {
		for _, n := range []int{1, all, 0} {
			b.Run(fmt.Sprintf("%s/cores=%d", s.Name, n), func(b *testing.B) {
				for b.Loop() {
					benchmark(b, s, n, all)
				}
			})
		}
	}
}

// benchmark runs a scenario once on n cores, or on up to all if n is 0.
func benchmark(b *testing.B, s *topology.Scenario, n, all int) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	l, err := lab.New(s)
	if err != nil {
		b.Fatal(err)
	}
	runtime.GC()
	r := New(l, NewPool(all), n)
	defer r.Close()
	start, cpu := time.Now(), ThreadSeconds()
	for range l.Steps(200, r.Run) {
	}
	wall := time.Since(start).Seconds()
	cpu = ThreadSeconds() - cpu + r.Others()
	hops := float64(l.FrameHops()) / 1e6
	b.ReportMetric(wall, "wall-s")
	b.ReportMetric(cpu, "cpu-s")
	b.ReportMetric(hops/wall, "Mhops/wall-s")
	b.ReportMetric(hops/cpu, "Mhops/cpu-s")
	b.ReportMetric(float64(r.Cores()), "cores")
}
