package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/collector"
	"github.com/rackfab/rackfab/services/controller"
)

// Numbers of connections per server.
const (
	idleClients = 1000
	slowClients = 100
)

// connected opens n connections to a server, and sends text on each. They stay open until
// the end of the test.
func connected(t *testing.T, address, text string, n int) {
	t.Helper()
	for range n {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
	}
}

// unread opens n streams of the states of a rack, and reads none of them.
func unread(t *testing.T, address string, n int) {
	t.Helper()
	for range n {
		conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if _, err := rackfabv1.NewFabricServiceClient(conn).Watch(t.Context(), &rackfabv1.WatchRequest{EveryMs: 20}); err != nil {
			t.Fatal(err)
		}
	}
}

// slowest makes a call 200 times and returns the median of its durations and the 99th
// percentile.
func slowest(t *testing.T, call func() error) (median, late time.Duration) {
	t.Helper()
	var took []time.Duration
	for range 200 {
		begin := time.Now()
		if err := call(); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	return took[100], took[198]
}

// TRUST-10: Servers with 1,000 silent connections each, with clients that send a part of a header or
// of a body, and with viewers and streams that nobody reads, answer every call of others.
// The memory of all of them, clients included, stays below 512 MiB.
func TestFloodOfConnections(t *testing.T) {
	t.Setenv("GOGC", "100")
	boss := remoteRack(t, controller.NodeLimit, "h0", "h1", "r0")
	t.Setenv(client.AddressVariable, boss)
	say(t, "up", "star-2", "--controller", boss)
	rpcs, otlp, shown := collectorOf(t, boss, nil, nil)
	for _, address := range []string{boss, rpcs, otlp, shown} {
		connected(t, address, "", idleClients)
	}
	unread(t, boss, slowClients)
	for _, address := range []string{otlp, shown} {
		connected(t, address, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", slowClients)
	}
	connected(t, otlp, "POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\nContent-Length: 16777216\r\n\r\n"+strings.Repeat("x", 100_000), slowClients)
	connected(t, shown, "GET /api/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", slowClients)

	web := &http.Client{Transport: &http.Transport{}}
	defer web.CloseIdleConnections()
	get := func(url string) func() error {
		return func() error {
			r, err := web.Get(url)
			if err != nil {
				return err
			}
			defer func() { _ = r.Body.Close() }()
			_, err = io.Copy(io.Discard, bufio.NewReader(r.Body))
			if err == nil && r.StatusCode != http.StatusOK && r.StatusCode != http.StatusMethodNotAllowed {
				err = fmt.Errorf("%s: %s", url, r.Status)
			}
			return err
		}
	}
	rack, err := controller.DialAs(boss, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rack.Close() })
	stored, err := collector.DialAs(rpcs, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stored.Close() })
	for name, call := range map[string]func() error{
		"controller": func() error {
			_, err := rack.API().GetStatus(t.Context(), &rackfabv1.GetStatusRequest{})
			return err
		},
		"collector": func() error {
			_, err := stored.API().ListRuns(t.Context(), &rackfabv1.ListRunsRequest{})
			return err
		},
		"OTLP over HTTP": get("http://" + otlp + "/v1/traces"),
		"page":           get("http://" + shown + "/api/session"),
	} {
		median, late := slowest(t, call)
		t.Logf("%s: median %v, p99 %v", name, median, late)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if used := m.HeapInuse + m.StackInuse; used > 512<<20 {
		t.Errorf("%d bytes of heap and stacks", used)
	}
	t.Logf("%d MiB of heap, %d MiB of stacks, %d goroutines", m.HeapInuse>>20, m.StackInuse>>20, runtime.NumGoroutine())
	say(t, "down")
}
