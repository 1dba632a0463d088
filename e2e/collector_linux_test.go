package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/collector"
)

// telemetrygenPath is the variable that names telemetrygen, a client of OTLP by the
// makers of OpenTelemetry, where it is not on the PATH (`make telemetrygen` builds it
// and says where).
const telemetrygenPath = "RACKFAB_TELEMETRYGEN"

// standingCollector starts `rackfab collector` and gives its client and its address.
func standingCollector(t *testing.T, args ...string) (*collector.Client, string) {
	t.Helper()
	cmd := exec.Command(program, append([]string{"collector", "--listen", "127.0.0.1:0", "--http", "off", "--data", filepath.Join(t.TempDir(), "data")}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // has no more to do
		_ = cmd.Wait()
	})
	var ready struct{ Address string }
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &ready) != nil {
		t.Fatalf("not up: %q %v", line, err)
	}
	return asking(t, ready.Address), ready.Address
}

func asking(t *testing.T, address string) *collector.Client {
	t.Helper()
	client, err := collector.DialAs(address, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func counted(t *testing.T, c *collector.Client) *rackfabv1.GetCountersResponse {
	t.Helper()
	out, err := c.API().GetCounters(t.Context(), &rackfabv1.GetCountersRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A stock client delivers: what it has sent is stored, span by span. Its own queue
// holds 2048 spans and drops what is beyond them without a word, so it is not asked
// for more.
func TestStockClientDeliversToTheCollector(t *testing.T) {
	tool := os.Getenv(telemetrygenPath)
	if tool == "" {
		var err error
		if tool, err = exec.LookPath("telemetrygen"); err != nil {
			if os.Getenv(wantAll) != "" {
				t.Fatalf("no telemetrygen: %v (`make telemetrygen`, then set %s)", err, telemetrygenPath)
			}
			t.Skipf("no telemetrygen: %v (`make telemetrygen`, then set %s)", err, telemetrygenPath)
		}
	}
	c, address := standingCollector(t)
	common := []string{"--otlp-insecure", "--otlp-endpoint", address, "--rate", "0"}
	must(t, exec.Command(tool, append([]string{"traces", "--workers", "2", "--traces", "200", "--child-spans", "4"}, common...)...))
	must(t, exec.Command(tool, append([]string{"metrics", "--workers", "1", "--metrics", "100", "--metric-type", "Gauge", "--unique-timeseries"}, common...)...))
	n := counted(t, c)
	if s := n.GetSpans(); s.GetReceived() != 2*200*5 || s.GetStored() != s.GetReceived() {
		t.Errorf("2000 spans were sent: %v", s)
	}
	if p := n.GetPoints(); p.GetReceived() < 100 || p.GetReceived() != p.GetStored()+p.GetDuplicates() {
		t.Errorf("100 points were sent: %v", p)
	}
	list, err := c.API().ListTraces(t.Context(), &rackfabv1.ListTracesRequest{Run: "default", Limit: 1})
	if err != nil || len(list.GetTraces()) != 1 || list.GetTraces()[0].GetSpans() != 5 {
		t.Errorf("%v, %v", list, err)
	}
}

// The collector's death in the middle of a run changes nothing of the run; the
// launcher starts it again, and what it had acknowledged is still there.
func TestARunOutlivesItsCollector(t *testing.T) {
	flags := []string{"pcn-16to2", "--scheme", "pcn", "--duration", "20ms"}
	want := digests(start(t, append(flags, "--bus", "memory")...).results(t))
	r := start(t, append(flags, "--telemetry")...)
	r.underWay(t)
	victim := find(t, children(t, r.Process.Pid), "collector")
	if err := unix.PidfdSendSignal(victim.fd, unix.SIGKILL, nil, 0); err != nil {
		t.Fatal(err)
	}
	if have := digests(r.results(t)); have["pcn"] != want["pcn"] {
		t.Errorf("digest %v, want %v", have, want)
	}
	data := filepath.Join(r.dir, "out", "telemetry")
	said, err := exec.Command(program, "runs", "--data", data).CombinedOutput()
	if err != nil || !strings.Contains(string(said), "pcn-16to2-pcn-") {
		t.Errorf("%v\n%s", err, said)
	}
}

// A rack that is up tells its own collector, with the page beside it, and both end
// with the rack.
func TestALiveRackHasACollector(t *testing.T) {
	r := up(t, "pcn-16to2", "--scheme", "pcn", "--paused", "--sample-ratio", "1", "--http", "off")
	r.do(t, "step", "2ms")
	list := children(t, r.Process.Pid)
	find(t, list, "collector")
	client := asking(t, r.collector)
	for done := false; !done; { // points wait up to a second for company
		n := counted(t, client)
		done = n.GetPoints().GetStored() > 0 && n.GetSpans().GetStored() > 0
		if t.Context().Err() != nil {
			t.Fatal(n)
		}
	}
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
	gone(t, list)
	data := strings.TrimSuffix(r.journal, ".yaml") + ".telemetry"
	said, err := exec.Command(program, "traces", "--data", data, "--slowest", "1", "--list").CombinedOutput()
	if err != nil || !strings.Contains(string(said), "WRITE") {
		t.Errorf("afterwards: %v\n%s", err, said)
	}
}
