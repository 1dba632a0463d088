package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/identity"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/broker"
	"github.com/rackfab/rackfab/services/controller"
	"github.com/rackfab/rackfab/services/health"
	"github.com/rackfab/rackfab/services/nic"
	switchd "github.com/rackfab/rackfab/services/switch"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/engine"
)

// secureRack is the rack of star-2 with keys and certificates, started without a
// launcher.
type secureRack struct {
	dir, bus, controller, h0 string
}

func newSecureRack(t *testing.T) *secureRack {
	t.Helper()
	t.Setenv("GOMAXPROCS", "2") // the processes must not change this process's setting
	t.Setenv("GOGC", "100")
	r := &secureRack{dir: filepath.Join(t.TempDir(), "certs")}
	say(t, "certs", "star-2", "--dir", r.dir)
	users, err := identity.Users(r.dir, "rack", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.bus = background(t, func(ctx context.Context, w io.Writer) error {
		return broker.Main(ctx, broker.Options{Users: users, TLS: r.who(t, identity.Bus), Ready: w})
	})
	node := func(name string) nic.Options {
		return nic.Options{Name: name, Bus: r.bus, Access: bus.Access{Key: r.key(t, name)}, TLS: r.who(t, name), Rack: "rack"}
	}
	for _, name := range []string{"h1", "r0", "h0"} {
		r.h0 = background(t, func(ctx context.Context, w io.Writer) error {
			o := node(name)
			o.Ready = w
			return nic.Main(ctx, o)
		})
	}
	background(t, func(ctx context.Context, w io.Writer) error {
		o := node("s0")
		o.Ready = w
		return switchd.Main(ctx, o)
	})
	r.controller = background(t, func(ctx context.Context, w io.Writer) error {
		return controller.Main(ctx, controller.Options{
			Bus: r.bus, Access: bus.Access{Key: r.key(t, "controller")}, TLS: r.who(t, identity.Controller), Rack: "rack", Ready: w,
		})
	})
	return r
}

func (r *secureRack) who(t *testing.T, member string) *identity.TLS {
	t.Helper()
	who, err := identity.Load(r.dir, member)
	if err != nil {
		t.Fatal(err)
	}
	return who
}

func (r *secureRack) key(t *testing.T, member string) bus.Key {
	t.Helper()
	k, err := identity.ReadKey(identity.KeyPath(r.dir, member))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// shows returns the TLS settings of a caller with a member's certificate from dir, not
// checked beforehand. The caller trusts the rack's CA.
func (r *secureRack) shows(t *testing.T, dir, member string, change ...func(*tls.Config)) *tls.Config {
	t.Helper()
	leaf, err := os.ReadFile(filepath.Join(dir, member, "tls.pem"))
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(leaf, leaf)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(filepath.Join(r.dir, "h0", "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	c := &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots}
	for _, f := range change {
		f(c)
	}
	return c
}

func nobody(c *tls.Config)  { c.Certificates = nil }
func old(c *tls.Config)     { c.MaxVersion = tls.VersionTLS12 }
func trustNo(c *tls.Config) { c.RootCAs = x509.NewCertPool() }

// wants makes the caller expect a server of that name.
func wants(name string) func(*tls.Config) { return func(c *tls.Config) { c.ServerName = name } }

// callAs calls do with a connection to a server.
func callAs(t *testing.T, address string, c *tls.Config, do func(context.Context, *grpc.ClientConn) error) error {
	t.Helper()
	how := insecure.NewCredentials()
	if c != nil {
		how = credentials.NewTLS(c)
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(how), grpc.WithDisableServiceConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	return do(t.Context(), conn)
}

// list requests the nodes from a controller.
func list(ctx context.Context, conn *grpc.ClientConn) error {
	_, err := rackfabv1.NewFabricServiceClient(conn).ListNodes(ctx, &rackfabv1.ListNodesRequest{})
	return err
}

// enter requests the statistics of a NIC in a live run.
func enter(ctx context.Context, conn *grpc.ClientConn) error {
	_, err := rackfabv1.NewNicServiceClient(conn).GetStats(ctx, &rackfabv1.NicServiceGetStatsRequest{})
	return err
}

// onBus connects to the rack's bus and calls do.
func (r *secureRack) onBus(t *testing.T, k bus.Key, c *tls.Config, do func(bus.Conn) error) error {
	t.Helper()
	conn, err := bus.DialAs(r.bus, t.Name(), bus.Access{Key: k, TLS: c})
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := do(conn); err != nil {
		return err
	}
	return conn.Flush()
}

func come(bus.Conn) error { return nil }

func publishOn(subject string) func(bus.Conn) error {
	return func(c bus.Conn) error { return c.Publish(subject, []byte("{}")) }
}

func subscribeTo(pattern string) func(bus.Conn) error {
	return func(c bus.Conn) error {
		_, err := c.Subscribe(pattern, func(string, []byte) {})
		return err
	}
}

// Unauthorised callers are refused with the right kind of error; authorised callers are
// admitted in the same way. The rack continues, and its runs equal those in memory.
func TestRackRefusesUnauthorisedClientsAndKeepsRunning(t *testing.T) {
	r := newSecureRack(t)
	other, past := t.TempDir(), t.TempDir()
	if err := identity.Make(other, []string{"h0", "h1"}, nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(past, os.DirFS(r.dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(past, "ca", "ca.key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := identity.Make(past, []string{"h0", "h1"}, nil, time.Now().AddDate(-2, 0, 0)); err != nil {
		t.Fatal(err)
	}
	stranger, err := bus.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	h0, h1, boss := r.key(t, "h0"), r.key(t, "h1"), r.key(t, "controller")
	link := func(from, to string) string {
		return bus.LinkSubject("x", from, to)
	}
	rpc := func(address string, c *tls.Config, do func(context.Context, *grpc.ClientConn) error) func() error {
		return func() error { return callAs(t, address, c, do) }
	}
	nats := func(k bus.Key, c *tls.Config, do func(bus.Conn) error) func() error {
		return func() error { return r.onBus(t, k, c, do) }
	}
	user, node, hub := r.shows(t, r.dir, "client"), r.shows(t, r.dir, "h0"), r.shows(t, r.dir, "controller")
	welcome, served := rpc(r.controller, user, list), rpc(r.h0, hub, enter)
	ready, in := func() error { return health.Check(t.Context(), r.controller, r.who(t, "h0")) }, nats(h0, node, come)
	unreachable := func(text string) func(error) bool {
		return func(err error) bool {
			return status.Code(err) == codes.Unavailable && strings.Contains(err.Error(), text)
		}
	}
	denied := func(err error) bool { return status.Code(err) == codes.PermissionDenied }
	refused := func(err error) bool { return errors.Is(err, bus.ErrRefused) }
	handshake := func(err error) bool { return err != nil && !refused(err) }

	before := r.digest(t)
	t.Setenv(client.TLSVariable, r.dir)
	t.Setenv(client.AddressVariable, r.controller)
	say(t, "up", "star-2", "--controller", r.controller, "--paused")
	say(t, "step", "20us")
	for _, tt := range []struct {
		name      string
		try, twin func() error
		refused   func(error) bool
	}{
		{"gRPC in plain TCP", rpc(r.controller, nil, list), welcome, unreachable("")},
		{"no client certificate", rpc(r.controller, r.shows(t, r.dir, "client", nobody), list), welcome, unreachable("")},
		{"certificate of another CA", rpc(r.controller, r.shows(t, other, "client"), list), welcome, unreachable("")},
		{"expired certificate", rpc(r.controller, r.shows(t, past, "client"), list), welcome, unreachable("")},
		{"TLS 1.2", rpc(r.controller, r.shows(t, r.dir, "client", old), list), welcome, unreachable("protocol version")},
		{"no certificate, at a node", rpc(r.h0, r.shows(t, r.dir, "client", nobody), enter), served, unreachable("")},
		{"a node that poses as the controller", rpc(r.h0, r.shows(t, r.dir, "client", wants("controller")), list), welcome, unreachable("not controller")},
		{"a node that poses as another", rpc(r.h0, r.shows(t, r.dir, "client", wants("h1")), enter), rpc(r.h0, r.shows(t, r.dir, "client", wants("h0")), enter), unreachable("not h1")},
		{"a server of an unknown CA", rpc(r.controller, r.shows(t, r.dir, "client", trustNo), list), welcome, unreachable("unknown authority")},
		{"a node steers the controller", rpc(r.controller, node, list), ready, denied},
		{"the bus steers the controller", rpc(r.controller, r.shows(t, r.dir, "bus"), list), ready, denied},
		{"a node asks a node", rpc(r.h0, r.shows(t, r.dir, "h1"), enter), served, denied},
		{"bus without key", nats(bus.Key{}, node, come), in, refused},
		{"bus with a strange key", nats(stranger, node, come), in, refused},
		{"bus in plain TCP", nats(h0, nil, come), in, handshake},
		{"bus without certificate", nats(h0, r.shows(t, r.dir, "h0", nobody), come), in, handshake},
		{"bus with a certificate of another CA", nats(h0, r.shows(t, other, "h0"), come), in, handshake},
		{"bus with an expired certificate", nats(h0, r.shows(t, past, "h0"), come), in, handshake},
		{"bus with TLS 1.2", nats(h0, r.shows(t, r.dir, "h0", old), come), in, handshake},
		{"a bus of another name", nats(h0, r.shows(t, r.dir, "h0", wants("h1")), come), in, handshake},
		{"the link of another", nats(h0, node, publishOn(link("h1", "s0"))), nats(h0, node, publishOn(link("h0", "s0"))), refused},
		{"the announcement of another", nats(h0, node, publishOn(bus.AnnouncementSubject("rack", "h1"))), nats(h1, node, publishOn(bus.AnnouncementSubject("rack", "h1"))), refused},
		{"everything", nats(h0, node, subscribeTo(">")), nats(h0, node, subscribeTo(bus.QuerySubject("rack"))), refused},
		{"what is for another", nats(h0, node, subscribeTo(bus.InPattern("*", "h1"))), nats(h0, node, subscribeTo(bus.InPattern("*", "h0"))), refused},
		{"frames, by the controller", nats(boss, hub, subscribeTo("rackfab.*.link.>")), nats(boss, hub, subscribeTo(bus.AnnouncementPattern("rack"))), refused},
		{"everything, by the controller", nats(boss, hub, subscribeTo(">")), nats(boss, hub, publishOn(bus.QuerySubject("rack"))), refused},
	} {
		if err := tt.try(); !tt.refused(err) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err := tt.twin(); err != nil {
			t.Errorf("authorised counterpart of %s: %v", tt.name, err)
		}
	}
	r.replays(t)
	if after := r.digest(t); after != before {
		t.Errorf("digest %s after the attempts, %s before", after, before)
	}
}

// digest runs star-2 on the rack and checks the run against the one in memory.
func (r *secureRack) digest(t *testing.T) string {
	t.Helper()
	s := star(t)
	want, err := on(t, s, engine.Flags{Bus: "memory"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := on(t, s, engine.Flags{Bus: "nats", Controller: r.controller, TLS: r.dir})
	if err != nil || got != want {
		t.Errorf("digest %s, %v, in memory %s", got, err, want)
	}
	return got
}

// replays ends the live run and checks that its journal replays and contains no secret.
func (r *secureRack) replays(t *testing.T) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "journal.yaml")
	say(t, "step", "20us")
	say(t, "journal", "save", file)
	say(t, "down")
	say(t, "replay", file)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{r.key(t, "h0").Seed(), r.key(t, "controller").Seed(), "PRIVATE KEY"} {
		if strings.Contains(string(text), secret) {
			t.Error("the journal contains a secret")
		}
	}
}

// A command reports an unusable certificate folder in one line.
func TestUnusableCertificateFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	missing := filepath.Join(t.TempDir(), "none")
	for _, args := range []string{"status", "run star-2", "run star-2 --controller 127.0.0.1:1", "up star-2 --address 127.0.0.1:0", "health 127.0.0.1:1", "controller --bus nats://127.0.0.1:1", "bus --open"} {
		c := root()
		c.SetArgs(append(strings.Fields(args), "--tls", missing))
		c.SetOut(io.Discard)
		err := c.ExecuteContext(t.Context())
		if want := fmt.Sprintf("in %s: `rackfab certs --dir %[1]s` creates them", missing); err == nil || !strings.HasPrefix(err.Error(), "--tls: no certificate of ") || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
}
