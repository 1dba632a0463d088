package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rackfab/rackfab/fabric/scenariofile"
)

const (
	racks       = "../fabric/scenariofile/testdata/racks/"
	permutation = "testdata/permutation-128.yaml"
)

// BenchmarkGoals runs the racks of README's "Speed" by the command line, as its users do. It
// reports the time and CPU time of the run alone, the time of the command with parsing,
// building and report, the largest resident memory of the command, and over NATS the memory
// of the largest process of nodes, without the program's file.
func BenchmarkGoals(b *testing.B) {
	memory := []string{"--bus", "memory"}
	for _, c := range []struct {
		name string
		args []string
	}{
		{"pcn-16to2/cores=1", append(memory, "--scheme", "pcn", "--cores", "1")},
		{"pcn-16to2", append(memory, "--scheme", "pcn")},
		{"128-hosts/cores=1", append(memory, permutation, "--cores", "1")},
		{"fat-tree-1024/cores=1", append(memory, racks+"fat-tree-1024.yaml", "--cores", "1")},
		{"fat-tree-1024", append(memory, racks+"fat-tree-1024.yaml")},
		{"leaf-spine-1024/cores=1", append(memory, "../cores/testdata/leaf-spine-1024.yaml", "--cores", "1")},
		{"leaf-spine-1024", append(memory, "../cores/testdata/leaf-spine-1024.yaml")},
		{"leaf-spine-3584", append(memory, racks+"leaf-spine-3584.yaml")},
		{"leaf-spine-8192", append(memory, racks+"leaf-spine-8192.yaml")},
		{"hadoop/cores=1", append(memory, hadoop(b), "--scheme", "dcqcn", "--cores", "1")},
		{"pcn-16to2/nats", []string{"--scheme", "pcn"}},
		{"pcn-16to2/nats/processes=2", []string{"--scheme", "pcn", "--processes", "2"}},
		{"128-hosts/nats/processes=2", []string{permutation, "--bus", "nats", "--processes", "2"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				goal(b, c.args)
			}
		})
	}
}

// hadoop writes a leaf-spine of 32 hosts with flows of Hadoop's sizes for 100 ms.
func hadoop(b *testing.B) string {
	text, _ := scenariofile.Builtin("leaf-spine")
	file := filepath.Join(b.TempDir(), "hadoop.yaml")
	all := strings.NewReplacer("sizes: websearch", "sizes: hadoop", "until: 20ms", "until: 100ms", "duration: 40ms", "duration: 120ms").Replace(string(text))
	if err := os.WriteFile(file, []byte(all), 0o600); err != nil {
		b.Fatal(err)
	}
	return file
}

// goal runs a command line once and reports its figures.
func goal(b *testing.B, args []string) {
	begin := time.Now()
	r := start(b, args...)
	over, nodes := make(chan struct{}), make(chan int64)
	go func() { nodes <- watch(r.Process.Pid, over) }()
	out := r.results(b).Runs[0]
	all := time.Since(begin).Seconds()
	close(over)
	hops := float64(out.FrameHops) / 1e6
	b.ReportMetric(hops, "Mhops")
	b.ReportMetric(hops/out.Wall, "Mhops/wall-s")
	b.ReportMetric(hops/out.CPU, "Mhops/cpu-s")
	b.ReportMetric(out.Wall, "wall-s")
	b.ReportMetric(out.CPU, "cpu-s")
	b.ReportMetric(all, "command-s")
	b.ReportMetric(float64(r.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)/1e3, "MB")
	if most := <-nodes; most > 0 {
		b.ReportMetric(float64(most)/1e3, "MB-node")
	}
}

// watch returns the largest memory in kB of any process of nodes that the process has
// started, see resident, until over is closed. It looks every 50 ms.
func watch(pid int, over <-chan struct{}) (most int64) {
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case <-over:
			return most
		case <-look.C:
			lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
			for _, list := range lists {
				children, _ := os.ReadFile(list) // empty if it has ended
				for child := range strings.FieldsSeq(string(children)) {
					most = max(most, resident(child))
				}
			}
		}
	}
}

// resident returns the memory of a process of nodes in kB without that of the program's file,
// which all processes share, and 0 for other processes.
func resident(pid string) int64 {
	line, _ := os.ReadFile("/proc/" + pid + "/cmdline") // empty if it has ended
	words := strings.Split(string(line), "\x00")
	if len(words) < 2 || !slices.Contains([]string{"nic", "switch", "worker"}, words[1]) {
		return 0
	}
	status, _ := os.ReadFile("/proc/" + pid + "/status")
	_, rest, _ := strings.Cut(string(status), "RssAnon:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kb, _ := strconv.ParseInt(fields[0], 10, 64)
	return kb
}
