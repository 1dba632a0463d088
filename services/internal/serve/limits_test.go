package serve

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip" // as the collector has it
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// scenarioServer starts a server of a service with scenarios, and connects to it.
func scenarioServer(t *testing.T) (*Server, *grpc.ClientConn) {
	t.Helper()
	s, err := ListenAs("", nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	rackfabv1.RegisterFabricServiceServer(s, rackfabv1.UnimplementedFabricServiceServer{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		if cancel(); <-ended != nil {
			t.Error("the server failed")
		}
	})
	conn, err := DialAs(s.Address(), nil, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return s, conn
}

// scenarioOf returns a request with a scenario that has n bytes on the wire.
func scenarioOf(n int) *rackfabv1.StartRackRequest {
	q := &rackfabv1.StartRackRequest{Scenario: make([]byte, n)}
	q.Scenario = q.GetScenario()[:n-(proto.Size(q)-n)]
	return q
}

// serviceOf returns a request without a scenario that has n bytes on the wire.
func serviceOf(n int) *healthpb.HealthCheckRequest {
	q := &healthpb.HealthCheckRequest{Service: strings.Repeat("x", n)}
	q.Service = q.GetService()[:n-(proto.Size(q)-n)]
	return q
}

// TRUST-9: A request of exactly the limit reaches its service, and one of a byte more is
// RESOURCE_EXHAUSTED: with a scenario, without one, and compressed.
func TestLimitsOfRequests(t *testing.T) {
	_, conn := scenarioServer(t)
	start := func(n int, how ...grpc.CallOption) error {
		_, err := rackfabv1.NewFabricServiceClient(conn).StartRack(t.Context(), scenarioOf(n), how...)
		return err
	}
	check := func(n int, how ...grpc.CallOption) error {
		_, err := healthpb.NewHealthClient(conn).Check(t.Context(), serviceOf(n), how...)
		return err
	}
	zip := grpc.UseCompressor("gzip")
	for _, tt := range []struct {
		name  string
		err   error
		want  codes.Code
		bytes int
	}{
		{"scenario", start(MaxRequest), codes.Unimplemented, proto.Size(scenarioOf(MaxRequest)) - MaxRequest},
		{"scenario, a byte more", start(MaxRequest + 1), codes.ResourceExhausted, proto.Size(scenarioOf(MaxRequest+1)) - MaxRequest - 1},
		{"scenario, compressed", start(MaxRequest, zip), codes.Unimplemented, 0},
		{"scenario, compressed, a byte more", start(MaxRequest+1, zip), codes.ResourceExhausted, 0},
		{"plain", check(MaxPlain), codes.NotFound, proto.Size(serviceOf(MaxPlain)) - MaxPlain},
		{"plain, a byte more", check(MaxPlain + 1), codes.ResourceExhausted, proto.Size(serviceOf(MaxPlain+1)) - MaxPlain - 1},
	} {
		if status.Code(tt.err) != tt.want || tt.bytes != 0 {
			t.Errorf("%s: %v, want %v; %d bytes off the limit", tt.name, tt.err, tt.want, tt.bytes)
		}
	}
}

// A client may send headers up to the limit, and gets an error beyond it.
func TestLimitOfHeaders(t *testing.T) {
	_, conn := scenarioServer(t)
	check := func(n int) error {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "x", strings.Repeat("x", n))
		_, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
		return err
	}
	const own = 1 << 10 // other headers of a call, and the 32 bytes that HTTP/2 counts for each
	if err := check(MaxHeader - own); err != nil {
		t.Error(err)
	}
	if err := check(MaxHeader); err == nil || !strings.Contains(err.Error(), "65536 bytes") {
		t.Errorf("above the limit: %v", err)
	}
}

// zeros returns n zero bytes, compressed.
func zeros(t *testing.T, n int64) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.CopyN(z, zero{}, n); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

type zero struct{}

func (zero) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// A compressed message that would exceed the limit by a factor is refused, and the
// server allocates no more than twice the limit for it.
func TestBombIsRefused(t *testing.T) {
	s, _ := scenarioServer(t)
	bomb := zeros(t, 16*MaxRequest)
	body := binary.BigEndian.AppendUint32([]byte{1}, uint32(len(bomb)))
	body = append(body, bomb...)
	only := &http.Protocols{}
	only.SetUnencryptedHTTP2(true)
	client := &http.Client{Transport: &http.Transport{Protocols: only}}
	defer client.CloseIdleConnections()
	ask := func() (code string) {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.Address()+rackfabv1.FabricService_StartRack_FullMethodName, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header = http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}, "Grpc-Encoding": {"gzip"}}
		r, err := client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Body.Close() }()
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Fatal(err)
		}
		return r.Header.Get("Grpc-Status") + r.Trailer.Get("Grpc-Status")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	code := ask()
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; code != "8" || n > 2*MaxRequest { // RESOURCE_EXHAUSTED
		t.Errorf("status %q, %d bytes allocated; want 8 and at most %d", code, n, 2*MaxRequest)
	} else {
		t.Logf("a message of %d bytes, compressed to %d: %d bytes allocated", int64(16*MaxRequest), len(bomb), n)
	}
}
