package e2e

import (
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"

	"github.com/rackfab/rackfab/e2e/slowtest"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/collector"
)

func counted(t *testing.T, c rackfabv1.CollectorServiceClient) *rackfabv1.GetCountersResponse {
	t.Helper()
	out, err := c.GetCounters(t.Context(), &rackfabv1.GetCountersRequest{}, grpc.WaitForReady(true))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// exportLimit bounds the wait for the first export of a rack. Points wait up to a second
// to be batched.
const exportLimit = time.Minute

// awaitExport waits until a collector has stored spans and points, and returns its
// counters.
func awaitExport(t *testing.T, c rackfabv1.CollectorServiceClient) *rackfabv1.GetCountersResponse {
	t.Helper()
	limit := time.NewTimer(exportLimit)
	defer limit.Stop()
	often := time.NewTicker(20 * time.Millisecond)
	defer often.Stop()
	for {
		n := counted(t, c)
		if n.GetPoints().GetStored() > 0 && n.GetSpans().GetStored() > 0 {
			return n
		}
		select {
		case <-often.C:
		case <-limit.C:
			t.Fatalf("no export within %v: %v", exportLimit, n)
		}
	}
}

// The collector stores every span that a stock client sends. The client's own queue
// holds 2048 spans and silently drops the excess, so the test sends no more.
func TestStockClientExportsToTheCollector(t *testing.T) {
	client := tool(t, "telemetrygen", "RACKFAB_TELEMETRYGEN")
	for _, protocol := range []string{"grpc", "http"} {
		t.Run(protocol, func(t *testing.T) {
			c, address, overHTTP := startCollectorWith(t, "127.0.0.1:0")
			common := []string{"--otlp-insecure", "--otlp-endpoint", address, "--rate", "0"}
			if protocol == "http" {
				common = []string{"--otlp-insecure", "--otlp-endpoint", overHTTP, "--otlp-http", "--rate", "0"}
			}
			stockExports(t, client, c, common)
		})
	}
}

func stockExports(t *testing.T, client string, c rackfabv1.CollectorServiceClient, common []string) {
	t.Helper()
	must(t, exec.Command(client, append([]string{"traces", "--workers", "2", "--traces", "200", "--child-spans", "4"}, common...)...))
	must(t, exec.Command(client, append([]string{"metrics", "--workers", "1", "--metrics", "100", "--metric-type", "Gauge", "--unique-timeseries"}, common...)...))
	n := counted(t, c)
	if s := n.GetSpans(); s.GetReceived() != 2*200*5 || s.GetStored() != s.GetReceived() {
		t.Errorf("counters %v after 2000 spans", s)
	}
	if p := n.GetPoints(); p.GetReceived() < 100 || p.GetReceived() != p.GetStored()+p.GetDuplicates() {
		t.Errorf("counters %v after 100 points", p)
	}
	list, err := c.ListTraces(t.Context(), &rackfabv1.ListTracesRequest{Run: "default", Limit: 1})
	if err != nil || len(list.GetTraces()) != 1 || list.GetTraces()[0].GetSpans() != 5 {
		t.Errorf("%v, %v", list, err)
	}
}

var sentLine = regexp.MustCompile(`telemetry: (\d+) spans and (\d+) points to `)

// Killing the collector during a run does not change the run. The launcher restarts the
// collector, and everything that the collector has acknowledged, before and after, is
// stored.
func TestRunSurvivesItsCollector(t *testing.T) {
	slowtest.Skip(t, "waits for exports before and after a kill")
	t.Parallel()
	flags := []string{"pcn-16to2", "--scheme", "pcn", "--duration", "80ms"}
	want := digests(start(t, append(flags, "--bus", "memory")...).results(t))
	r := start(t, append(flags, "--telemetry", "--sample-ratio", "0.2")...)
	r.underWay(t)
	list := children(t, r.Process.Pid)
	boss, victim := find(t, list, "controller"), find(t, list, "collector")
	before := awaitExport(t, dialCollector(t, boss.args[slices.Index(boss.args, "--collector")+1]))
	if err := unix.PidfdSendSignal(victim.fd, unix.SIGKILL, nil, 0); err != nil {
		t.Fatal(err)
	}
	if have := digests(r.results(t)); have["pcn"] != want["pcn"] {
		t.Errorf("digest %v, want %v", have, want)
	}
	sent := sentLine.FindStringSubmatch(r.seen.String())
	if sent == nil {
		t.Fatalf("the run does not report its exports:\n%s", &r.seen)
	}
	address, err := collector.Stored(t.Context(), filepath.Join(r.dir, "out", "telemetry"))
	if err != nil {
		t.Fatal(err)
	}
	c := dialCollector(t, address)
	after := counted(t, c)
	for i, have := range []struct{ before, after *rackfabv1.SignalCounters }{{before.GetSpans(), after.GetSpans()}, {before.GetPoints(), after.GetPoints()}} {
		n, _ := strconv.ParseInt(sent[1+i], 10, 64)
		if n <= have.before.GetStored() || have.after.GetHeld() < n {
			t.Errorf("stored %v before the kill, %v at the end, %s acknowledged", have.before, have.after, sent[1+i])
		}
	}
	if list, err := c.ListTraces(t.Context(), &rackfabv1.ListTracesRequest{Limit: 1}); err != nil || !strings.HasPrefix(list.GetRun(), "pcn-16to2-pcn-") || len(list.GetTraces()) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}

// A rack serves its page at another port if the requested port is occupied. A collector
// that was killed restarts at the addresses that the rack has printed.
func TestPageRestartsAtItsAddress(t *testing.T) {
	occupied, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = occupied.Close() })
	r := up(t, "star-2", "--paused", "--sample-ratio", "1", "--http", occupied.Addr().String())
	if r.pages == "http://"+occupied.Addr().String() || !strings.HasPrefix(r.pages, "http://127.0.0.1:") {
		t.Fatalf("%s is occupied, and the page is at %s", occupied.Addr(), r.pages)
	}
	before := string(r.token(t))
	if err := syscall.Kill(find(t, children(t, r.Process.Pid), "collector").pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if line, err := r.log.ReadString('\n'); err != nil || !strings.Contains(line, "collector ended (signal: killed), restarting it at "+r.collector) {
		t.Errorf("up prints %q, %v", line, err)
	}
	r.do(t, "step", "1ms")
	awaitExport(t, dialCollector(t, r.collector))
	if after := string(r.token(t)); after == before {
		t.Error("the page is from the killed process")
	}
	r.interrupt(t)
}

// A live rack exports to its own collector, which also serves the page. Both end with
// the rack.
func TestLiveRackStartsACollector(t *testing.T) {
	r := up(t, "pcn-16to2", "--scheme", "pcn", "--paused", "--sample-ratio", "1", "--http", "off")
	r.do(t, "step", "2ms")
	list := children(t, r.Process.Pid)
	find(t, list, "collector")
	awaitExport(t, dialCollector(t, r.collector))
	if said := r.do(t, "query", "rackfab.port.queue", "--node", "s1", "--format", "csv"); !strings.HasPrefix(said, "time_ps,node,port,peer,flow,direction,rackfab.port.queue (By)\n") {
		t.Errorf("query: %.200s", said)
	}
	if said := r.do(t, "runs"); !strings.Contains(said, "pcn-16to2-pcn-live-") {
		t.Errorf("runs: %s", said)
	}
	if said := r.do(t, "traces", "--slowest", "1"); !strings.HasPrefix(said, "trace ") || !strings.Contains(said, "\n  switch") {
		t.Errorf("traces: %s", said)
	}
	r.interrupt(t)
	awaitExit(t, list)
	data := strings.TrimSuffix(r.journal, ".yaml") + ".telemetry"
	said, err := exec.Command(program, "traces", "--data", data, "--slowest", "1", "--list").CombinedOutput()
	if err != nil || !strings.Contains(string(said), "WRITE") {
		t.Errorf("after the rack ended: %v\n%s", err, said)
	}
}
