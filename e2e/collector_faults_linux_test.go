package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracespb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/e2e/slowtest"
	"github.com/rackfab/rackfab/services/collector"
)

// frail is a collector's process that a test stops, kills and starts again.
type frail struct {
	*exec.Cmd
	address, data string
}

// newFrail starts a collector at an address.
func newFrail(t *testing.T, address, data string) *frail {
	t.Helper()
	c := exec.Command(program, "collector", "--listen", address, "--otlp-http", "off", "--http", "off", "--data", data)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() }) // has ended already if the test passed
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var ready struct{ Address string }
	if err != nil || json.Unmarshal(line, &ready) != nil {
		t.Fatalf("the collector prints %q: %v", line, err)
	}
	return &frail{c, ready.Address, data}
}

// signal sends a signal to the collector.
func (f *frail) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := f.Process.Signal(s); err != nil {
		t.Error(err)
	}
}

// end makes the collector store what it has, and end.
func (f *frail) end(t *testing.T) {
	t.Helper()
	f.signal(t, os.Interrupt)
	if err := f.Wait(); err != nil {
		t.Error(err)
	}
}

// stored returns the numbers of spans and points in the store of a collector that has ended.
func (f *frail) stored(t *testing.T) (n [2]int64) {
	t.Helper()
	address, err := collector.Stored(t.Context(), f.data)
	if err != nil {
		t.Fatal(err)
	}
	c := counted(t, dialCollector(t, address))
	return [2]int64{c.GetSpans().GetHeld(), c.GetPoints().GetHeld()}
}

// moody passes requests of OTLP on to a collector, or answers them with an error, or
// passes them on and loses the answer.
type moody struct {
	tracespb.UnimplementedTraceServiceServer
	address string // of itself
	traces  tracespb.TraceServiceClient
	metrics metricspb.MetricsServiceClient

	mu   sync.Mutex
	draw *rand.Rand
}

// newMoody starts a moody server before a collector.
func newMoody(t *testing.T, address string, seed uint64) *moody {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	m := &moody{
		address: l.Addr().String(), draw: rand.New(rand.NewPCG(seed, seed)),
		traces: tracespb.NewTraceServiceClient(conn), metrics: metricspb.NewMetricsServiceClient(conn),
	}
	s := grpc.NewServer(grpc.MaxRecvMsgSize(collector.MaxMessage))
	tracespb.RegisterTraceServiceServer(s, m)
	metricspb.RegisterMetricsServiceServer(s, moodyMetrics{moody: m})
	go func() { _ = s.Serve(l) }() // ends with Stop
	t.Cleanup(func() {
		s.Stop()
		_ = conn.Close()
	})
	return m
}

// moods are the answers: nil passes the request on.
var moods = []error{
	nil, nil, status.Error(codes.ResourceExhausted, "full"), status.Error(codes.Unavailable, "busy"), status.Error(codes.InvalidArgument, "no"), errLostAnswer,
}

var errLostAnswer = status.Error(codes.Unavailable, "the answer is lost")

// mood draws an answer.
func (m *moody) mood() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return moods[m.draw.IntN(len(moods))]
}

// exported answers a request, which pass passes on.
func exported[T any](m *moody, pass func() (T, error)) (out T, err error) {
	mood := m.mood()
	if mood == nil || mood == errLostAnswer { //nolint:errorlint // one of moods itself
		if out, err = pass(); err != nil || mood == nil {
			return out, err
		}
	}
	return out, mood
}

func (m *moody) Export(ctx context.Context, q *tracespb.ExportTraceServiceRequest) (*tracespb.ExportTraceServiceResponse, error) {
	return exported(m, func() (*tracespb.ExportTraceServiceResponse, error) { return m.traces.Export(ctx, q) })
}

type moodyMetrics struct {
	metricspb.UnimplementedMetricsServiceServer
	*moody
}

func (m moodyMetrics) Export(ctx context.Context, q *metricspb.ExportMetricsServiceRequest) (*metricspb.ExportMetricsServiceResponse, error) {
	return exported(m.moody, func() (*metricspb.ExportMetricsServiceResponse, error) { return m.metrics.Export(ctx, q) })
}

var lostLine = regexp.MustCompile(`telemetry: (\d+) of (\d+) (spans|points) were dropped`)

// totals returns the numbers of spans and points that a run has sent and dropped, by its log.
func totals(t *testing.T, log string) (sent, dropped [2]int64) {
	t.Helper()
	number := func(text string) int64 {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	found := sentLine.FindStringSubmatch(log)
	if found == nil {
		t.Fatalf("the run does not report its exports:\n%s", log)
	}
	sent = [2]int64{number(found[1]), number(found[2])}
	for _, loss := range lostLine.FindAllStringSubmatch(log, -1) {
		i := map[string]int{"spans": 0, "points": 1}[loss[3]]
		if dropped[i] = number(loss[1]); sent[i]+dropped[i] != number(loss[2]) {
			t.Errorf("%s: sent and dropped %d, made %s", loss[3], sent[i]+dropped[i], loss[2])
		}
	}
	return sent, dropped
}

// TRUST-5: A collector that is stopped, killed, or refuses requests does not change a run. Every span
// and point is sent or counted as dropped, what counts as sent is stored, and nothing is
// stored that was not made.
func TestCollectorFaultsAreCounted(t *testing.T) {
	slowtest.Skip(t, "runs a rack under each fault of a collector, four times")
	t.Parallel()
	const rounds = 4 // of each fault
	flags := []string{"star-2", "--scheme", "pcn", "--sample-ratio", "1", "--duration", "40ms"}
	want := start(t, "star-2", "--scheme", "pcn", "--duration", "40ms", "--bus", "memory").results(t)
	healthy := newFrail(t, "127.0.0.1:0", filepath.Join(t.TempDir(), "data"))
	r := start(t, append(flags, "--bus", "nats", "--telemetry="+healthy.address)...)
	r.results(t)
	made, dropped := totals(t, r.seen.String())
	if healthy.end(t); dropped != [2]int64{} || made[0] < 10 || made[1] < 10 || healthy.stored(t) != made {
		t.Fatalf("a healthy collector: %v sent, %v dropped", made, dropped)
	}
	total := [2]int64{}
	for round := range rounds {
		for _, fault := range []string{"stopped", "stopped for a while", "killed", "killed and started again", "refusing"} {
			t.Run(fmt.Sprintf("%s %d", fault, round), func(t *testing.T) {
				f := newFrail(t, "127.0.0.1:0", filepath.Join(t.TempDir(), "data"))
				to := f.address
				if fault == "refusing" {
					to = newMoody(t, f.address, uint64(round)).address
				}
				r := start(t, append(flags, "--bus", "nats", "--telemetry="+to)...)
				if round%2 == 0 {
					r.underWay(t)
				}
				switch fault {
				case "stopped":
					f.signal(t, syscall.SIGSTOP)
				case "stopped for a while":
					f.signal(t, syscall.SIGSTOP)
					if round%2 == 1 {
						r.underWay(t)
					}
					f.signal(t, syscall.SIGCONT)
				case "killed", "killed and started again":
					f.signal(t, os.Kill)
					_ = f.Wait() // it was killed
					if fault != "killed" {
						f = newFrail(t, f.address, f.data)
					}
				}
				if diff := cmp.Diff(digests(want), digests(r.results(t))); diff != "" {
					t.Errorf("digests differ:\n%s", diff)
				}
				sent, dropped := totals(t, r.seen.String())
				if fault == "stopped" {
					f.signal(t, syscall.SIGCONT)
				}
				if fault != "killed" {
					f.end(t)
				}
				stored := f.stored(t)
				for i, what := range []string{"spans", "points"} {
					total[i] += dropped[i]
					if sent[i]+dropped[i] != made[i] || stored[i] < sent[i] || stored[i] > made[i] {
						t.Errorf("%s: %d made, %d sent, %d dropped, %d stored", what, made[i], sent[i], dropped[i], stored[i])
					}
				}
			})
		}
	}
	t.Logf("%v spans and points made in each run, %v dropped in all", made, total)
}
