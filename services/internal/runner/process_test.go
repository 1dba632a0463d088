package runner

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Environment of a child process that is one node of a benchmark.
const (
	envNode  = "RUNNER_TEST_NODE"
	envShape = "RUNNER_TEST_SHAPE"
	envBus   = "RUNNER_TEST_BUS"
)

// benches are the fabrics that run with a process per node.
var benches = map[string]func() *shape{
	// 16-to-2 at 80 % of the rate of the receivers' links.
	"incast": func() *shape { return star(2, 16, 16, 5*us, 21*us/10, 10*unit.Millisecond) },
	// Two flows near line rate, 14 idle senders.
	"twoflows": func() *shape { return star(2, 16, 2, 5*us, us/4, 10*unit.Millisecond) },
}

// TestMain runs the tests, or one node in a child process of a benchmark.
func TestMain(m *testing.M) {
	if node := os.Getenv(envNode); node != "" {
		if err := child(node); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1) //nolint:forbidigo // the main of the child
		}
		return
	}
	m.Run()
}

// child runs one node: it says "ready", waits for a line, runs, prints its
// result as JSON, and serves until its input ends.
func child(text string) error {
	i, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	s := benches[os.Getenv(envShape)]()
	conn, err := bus.DialAs(os.Getenv(envBus), s.names[i], bus.Access{})
	if err != nil {
		return err
	}
	defer conn.Close()
	var before time.Duration
	r, err := New(Config{
		Run: "bench", Group: s.names[i], Nodes: []Node{{s.names[i], s.toys[i], s.toys[i].ports}}, Conn: conn, Quiet: true,
		Reached: func(_ unit.Time, r *Result) {
			_ = json.NewEncoder(os.Stdout).Encode(report{*r, CPUTime() - before})
		},
	})
	if err != nil {
		return err
	}
	defer r.Close()
	r.Grant(s.end)
	fmt.Fprintln(os.Stdout, "ready")
	in := bufio.NewReader(os.Stdin)
	if _, err := in.ReadString('\n'); err != nil {
		return err
	}
	before = CPUTime()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = in.ReadString('\n')
		cancel()
	}()
	return r.Run(ctx)
}

// report is the output of a child: its result, and the CPU time of its run.
type report struct {
	Result
	CPU time.Duration
}

// BenchmarkProcesses runs a process per node over one NATS server and reports
// frame-hops per second of wall time.
func BenchmarkProcesses(b *testing.B) {
	for name, make := range benches {
		b.Run(name, func(b *testing.B) {
			want, hops := drive(make())
			var o *outcome
			for b.Loop() {
				o = fork(b, name, make())
				same(b, o, want)
				b.StartTimer()
			}
			b.Log(summary(o))
			b.ReportMetric(float64(hops)*float64(b.N)/b.Elapsed().Seconds(), "hops/s")
		})
	}
}

// fork runs every node of a shape in a process of its own. The timer of b runs from
// the start of the run until the last node ends.
func fork(b *testing.B, name string, s *shape) *outcome {
	b.StopTimer()
	server, err := bus.StartServer("", bus.Guard{Open: true})
	if err != nil {
		b.Fatal(err)
	}
	defer server.Shutdown()
	_, toys := s.groups(s.single())
	o := &outcome{toys, make([]Result, len(s.toys)), make([]error, len(s.toys))}
	children := make([]*process, len(s.toys))
	for i := range children {
		children[i] = start(b, envNode+"="+strconv.Itoa(i), envShape+"="+name, envBus+"="+server.URL())
		defer children[i].end()
	}
	for _, c := range children {
		c.line(b)
	}
	b.StartTimer()
	before := CPUTime()
	for _, c := range children {
		fmt.Fprintln(c.in)
	}
	var nodes time.Duration
	for i, c := range children {
		var r report
		o.errs[i] = json.Unmarshal(c.line(b), &r)
		o.results[i] = r.Result
		nodes += r.CPU
		if i == 0 {
			b.ReportMetric(r.CPU.Seconds(), "hub-cpu-s")
		}
	}
	b.StopTimer()
	b.ReportMetric((CPUTime() - before).Seconds(), "bus-cpu-s")
	b.ReportMetric(nodes.Seconds(), "nodes-cpu-s")
	return o
}

// process is a child and its pipes.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(b *testing.B, env ...string) *process {
	c := exec.Command(os.Args[0])
	c.Env = append(append(os.Environ(), "GOMAXPROCS=1", "GOGC=400"), env...)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	return &process{c, in, bufio.NewReader(out)}
}

// line waits for the child's next line.
func (p *process) line(b *testing.B) []byte {
	text, err := p.out.ReadBytes('\n')
	if err != nil {
		b.Fatal(err)
	}
	return text
}

func (p *process) end() {
	_ = p.in.Close()
	_ = p.cmd.Wait()
}
