package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/rackfab/rackfab/identity"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/collector"
	"github.com/rackfab/rackfab/services/controller"
	"github.com/rackfab/rackfab/services/health"
	"github.com/rackfab/rackfab/services/page"
)

// answered is a response of HTTP, as an error unless its status is 200.
type answered int

func (a answered) Error() string { return fmt.Sprintf("status %d", int(a)) }

// with accepts the error of a response with that status.
func with(code int) func(error) bool {
	return func(err error) bool { return errors.Is(err, answered(code)) }
}

// asks returns a request of HTTP by the owner of TLS settings. Header Host sets the host.
func asks(t *testing.T, c *tls.Config, method, url, body string, header ...string) func() error {
	return func() error {
		q, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; n < len(header); n += 2 {
			q.Header.Set(header[n], header[n+1])
		}
		q.Host = q.Header.Get("Host")
		way := &http.Transport{TLSClientConfig: c}
		defer way.CloseIdleConnections()
		r, err := (&http.Client{Transport: way}).Do(q)
		if err != nil {
			return err
		}
		defer func() { _ = r.Body.Close() }()
		if r.StatusCode != http.StatusOK {
			return answered(r.StatusCode)
		}
		return nil
	}
}

// freePort is the address of a listener at a free port of loopback.
const freePort = "127.0.0.1:0"

// collect starts the collector of the rack. It returns the addresses of its gRPC server, of
// OTLP over HTTP and of its page.
func (r *secureRack) collect(t *testing.T) (rpcs, otlp, shown string) {
	t.Helper()
	return collectorOf(t, r.controller, r.who(t, identity.Collector), r.who(t, identity.Client))
}

// collectorOf starts a collector with the identity own, whose page reads a controller as
// viewer, until the end of the test.
func collectorOf(t *testing.T, boss string, own, viewer *identity.TLS) (rpcs, otlp, shown string) {
	t.Helper()
	rack, err := controller.DialAs(boss, viewer)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rack.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	ready, wait, err := collector.Start(ctx, collector.Options{
		Listen: freePort, OTLPHTTP: freePort, HTTP: freePort, Data: t.TempDir(), TLS: own,
		Show: func(ctx context.Context, l net.Listener, _ string) error {
			p, err := page.New(page.Options{Fabric: rack.API()})
			if err != nil {
				return err
			}
			return page.Serve(ctx, l, p)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cancel(); wait() != nil {
			t.Error("the collector did not stop")
		}
	})
	return ready.Address, ready.OTLPHTTP, ready.Page
}

// export exports no metrics: on the wire, a request without any is the empty message.
func export(ctx context.Context, conn *grpc.ClientConn) error {
	return conn.Invoke(ctx, "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export", &emptypb.Empty{}, &emptypb.Empty{})
}

// runs asks the collector for its runs.
func runs(ctx context.Context, conn *grpc.ClientConn) error {
	_, err := rackfabv1.NewCollectorServiceClient(conn).ListRuns(ctx, &rackfabv1.ListRunsRequest{})
	return err
}

// exports are attempts at the collector: by OTLP over gRPC and over HTTP, and at its page.
func (i *intruder) exports(t *testing.T) (overGRPC, overHTTP, visits []attempt) {
	t.Helper()
	address, otlp, shown := i.collect(t)
	shows := func(member string, change ...func(*tls.Config)) *tls.Config {
		return i.shows(t, i.dir, member, change...)
	}
	send := func(c *tls.Config) func() error { return rpc(t, address, c, export) }
	post := func(c *tls.Config) func() error {
		return asks(t, c, http.MethodPost, "https://"+otlp+"/v1/metrics", "{}", "Content-Type", "application/json")
	}
	taken, posted := send(shows("h0")), post(shows("h0"))
	overGRPC = []attempt{
		{"plain TCP", send(nil), taken, unreachable("")},
		{"no client certificate", send(shows("h0", nobody)), taken, unreachable("")},
		{"certificate of another CA", send(i.shows(t, i.other, "h0")), taken, unreachable("")},
		{"expired certificate", send(i.shows(t, i.past, "h0")), taken, unreachable("")},
		{"TLS 1.2", send(shows("h0", old)), taken, unreachable("protocol version")},
		{"a node that poses as the collector", rpc(t, i.h0, shows("h0", wants("collector")), export), taken, unreachable("not collector")},
		{"a collector of an unknown CA", send(shows("h0", trustNo)), taken, unreachable("unknown authority")},
		{"a node queries", rpc(t, address, shows("h0"), runs), rpc(t, address, shows("client"), runs), denied},
	}
	overHTTP = []attempt{
		{"plain TCP", asks(t, nil, http.MethodPost, "http://"+otlp+"/v1/metrics", "{}", "Content-Type", "application/json"), posted, with(http.StatusBadRequest)},
		{"no client certificate", post(shows("h0", nobody)), posted, handshake},
		{"certificate of another CA", post(i.shows(t, i.other, "h0")), posted, handshake},
		{"expired certificate", post(i.shows(t, i.past, "h0")), posted, handshake},
		{"TLS 1.2", post(shows("h0", old)), posted, handshake},
		{"a collector of another name", post(shows("h0", wants("h1"))), posted, handshake},
		{"a collector of an unknown CA", post(shows("h0", trustNo)), posted, handshake},
	}
	return overGRPC, overHTTP, pageVisits(t, "http://"+shown)
}

// pageVisits are attempts at a page. It has no TLS: it serves browsers of this machine, and
// accepts calls of its own origin with its token alone.
func pageVisits(t *testing.T, url string) []attempt {
	t.Helper()
	var session struct{ Token string }
	r, err := http.Get(url + "/api/session")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	if text, err := io.ReadAll(r.Body); err != nil || json.Unmarshal(text, &session) != nil || session.Token == "" {
		t.Fatalf("no token: %q, %v", text, err)
	}
	call := func(header ...string) func() error {
		return asks(t, nil, http.MethodPost, url+"/api/call/GetStatus", "{}", header...)
	}
	const kind, token = "Content-Type", "X-Rackfab-Token"
	own := []string{kind, "application/json", token, session.Token}
	welcome := call(own...)
	wrong := string(bytes.Repeat([]byte("A"), len(session.Token)))
	return []attempt{
		{"another host", call(append(own, "Host", "rack.example")...), welcome, with(http.StatusMisdirectedRequest)},
		{"another origin", call(append(own, "Origin", "http://rack.example")...), welcome, with(http.StatusForbidden)},
		{"another site", call(append(own, "Sec-Fetch-Site", "cross-site")...), welcome, with(http.StatusForbidden)},
		{"the session, by another site", asks(t, nil, http.MethodGet, url+"/api/session", "", "Sec-Fetch-Site", "cross-site"), asks(t, nil, http.MethodGet, url+"/api/session", ""), with(http.StatusForbidden)},
		{"no token", call(own[:2]...), welcome, with(http.StatusForbidden)},
		{"a wrong token", call(kind, "application/json", token, wrong), welcome, with(http.StatusForbidden)},
		{"a form", call(kind, "text/plain", token, session.Token), welcome, with(http.StatusForbidden)},
		{"an end of the rack", asks(t, nil, http.MethodPost, url+"/api/call/StopRack", "{}", own...), welcome, with(http.StatusNotFound)},
	}
}

// scrapes are attempts at the endpoint of a process's metrics. It has no TLS, and answers
// one request only.
func (i *intruder) scrapes(t *testing.T) []attempt {
	t.Helper()
	address, err := health.Serve(t.Context(), freePort)
	if err != nil {
		t.Fatal(err)
	}
	at := "http://" + address
	welcome := asks(t, nil, http.MethodGet, at+"/metrics", "")
	return []attempt{
		{"a change", asks(t, nil, http.MethodPost, at+"/metrics", "{}"), welcome, with(http.StatusMethodNotAllowed)},
		{"a profile", asks(t, nil, http.MethodGet, at+"/debug/pprof/", ""), welcome, with(http.StatusNotFound)},
		{"the root", asks(t, nil, http.MethodGet, at+"/", ""), welcome, with(http.StatusNotFound)},
		{"TLS", asks(t, i.shows(t, i.dir, "client"), http.MethodGet, "https://"+address+"/metrics", ""), welcome, handshake},
	}
}
