package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/identity"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/broker"
	"github.com/rackfab/rackfab/services/controller"
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
	say(t, "certs", "star-2", "--output", r.dir)
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
	for _, args := range []string{"status", "run star-2", "run star-2 --controller 127.0.0.1:1", "up star-2 --address 127.0.0.1:0", "health 127.0.0.1:1", "controller --bus nats://127.0.0.1:1 --wait 0", "bus --open --wait 0"} {
		c := root()
		c.SetArgs(append(strings.Fields(args), "--tls", missing))
		c.SetOut(io.Discard)
		err := c.ExecuteContext(t.Context())
		if want := fmt.Sprintf("in %s: `rackfab certs --output %[1]s` creates them", missing); err == nil || !strings.HasPrefix(err.Error(), "--tls: no certificate of ") || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
}
