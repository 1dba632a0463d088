package main

import (
	"context"
	"crypto/tls"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/cmd/rackfab/internal/client"
	"github.com/rackfab/rackfab/identity"
	"github.com/rackfab/rackfab/services/health"
)

// attempt is an unauthorised operation, and the same one by somebody who is authorised.
type attempt struct {
	name      string
	try, twin func() error
	refused   func(error) bool // the kind of the refusal
}

// intruder attempts what it may not, with certificates of another CA in other, expired
// ones in past, and a key that the bus does not know.
type intruder struct {
	*secureRack
	other, past string
	stranger    bus.Key
}

func newIntruder(t *testing.T, r *secureRack) *intruder {
	t.Helper()
	i := &intruder{secureRack: r, other: t.TempDir(), past: t.TempDir()}
	members := []string{"h0", "h1"}
	stranger, err := bus.NewKey()
	i.stranger = stranger
	err = errors.Join(err, identity.Make(i.other, members, nil, time.Now()), os.CopyFS(i.past, os.DirFS(r.dir)),
		os.Chmod(filepath.Join(i.past, "ca", "ca.key"), 0o600), identity.Make(i.past, members, nil, time.Now().AddDate(-2, 0, 0)))
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// TRUST-8: Unauthorised callers are refused with the right kind of error by every listener of a
// rack; authorised callers are admitted in the same way. The rack continues, and its runs
// equal those in memory.
func TestRackRefusesUnauthorisedClientsAndKeepsRunning(t *testing.T) {
	r := newSecureRack(t)
	i := newIntruder(t, r)
	before := r.digest(t)
	t.Setenv(client.TLSVariable, r.dir)
	t.Setenv(client.AddressVariable, r.controller)
	say(t, "up", "star-2", "--controller", r.controller, "--paused")
	say(t, "step", "20us")
	listeners := map[string][]attempt{"gRPC": i.calls(t), "NATS": i.messages(t)}
	listeners["OTLP over gRPC"], listeners["OTLP over HTTP"], listeners["page"] = i.exports(t)
	listeners["metrics"] = i.scrapes(t)
	var count int
	var slowest time.Duration // a figure, not a condition: the machine may be busy
	for name, list := range listeners {
		for _, a := range list {
			begin := time.Now()
			if err := a.try(); !a.refused(err) {
				t.Errorf("%s, %s: %v", name, a.name, err)
			}
			slowest = max(slowest, time.Since(begin))
			if err := a.twin(); err != nil {
				t.Errorf("%s, authorised counterpart of %s: %v", name, a.name, err)
			}
		}
		t.Logf("%s: %d attempts", name, len(list))
		count += len(list)
	}
	if t.Logf("%d attempts, the slowest refusal took %v", count, slowest); count < 40 {
		t.Errorf("%d attempts, want at least 40", count)
	}
	r.replays(t)
	if after := r.digest(t); after != before {
		t.Errorf("digest %s after the attempts, %s before", after, before)
	}
}

// unreachable accepts the error of a connection that failed, with a text.
func unreachable(text string) func(error) bool {
	return func(err error) bool {
		return status.Code(err) == codes.Unavailable && strings.Contains(err.Error(), text)
	}
}

func denied(err error) bool    { return status.Code(err) == codes.PermissionDenied }
func refused(err error) bool   { return errors.Is(err, bus.ErrRefused) }
func handshake(err error) bool { return err != nil && !refused(err) }

// rpc returns a call of a server by the owner of TLS settings.
func rpc(t *testing.T, address string, c *tls.Config, do func(context.Context, *grpc.ClientConn) error) func() error {
	return func() error { return callAs(t, address, c, do) }
}

// calls are attempts at the controller and at nodes, by gRPC.
func (i *intruder) calls(t *testing.T) []attempt {
	t.Helper()
	shows := func(member string, change ...func(*tls.Config)) *tls.Config {
		return i.shows(t, i.dir, member, change...)
	}
	controller := func(c *tls.Config) func() error { return rpc(t, i.controller, c, list) }
	h0 := func(c *tls.Config) func() error { return rpc(t, i.h0, c, enter) }
	welcome, served := controller(shows("client")), h0(shows("controller"))
	ready := func() error { return health.Check(t.Context(), i.controller, i.who(t, "h0")) }
	return []attempt{
		{"plain TCP", controller(nil), welcome, unreachable("")},
		{"no client certificate", controller(shows("client", nobody)), welcome, unreachable("")},
		{"certificate of another CA", controller(i.shows(t, i.other, "client")), welcome, unreachable("")},
		{"expired certificate", controller(i.shows(t, i.past, "client")), welcome, unreachable("")},
		{"TLS 1.2", controller(shows("client", old)), welcome, unreachable("protocol version")},
		{"no certificate, at a node", h0(shows("client", nobody)), served, unreachable("")},
		{"plain TCP, at a node", h0(nil), served, unreachable("")},
		{"certificate of another CA, at a node", h0(i.shows(t, i.other, "controller")), served, unreachable("")},
		{"expired certificate, at a node", h0(i.shows(t, i.past, "controller")), served, unreachable("")},
		{"a node that poses as the controller", rpc(t, i.h0, shows("client", wants("controller")), list), welcome, unreachable("not controller")},
		{"a node that poses as another", h0(shows("client", wants("h1"))), h0(shows("client", wants("h0"))), unreachable("not h1")},
		{"a server of an unknown CA", controller(shows("client", trustNo)), welcome, unreachable("unknown authority")},
		{"a node steers the controller", controller(shows("h0")), ready, denied},
		{"the bus steers the controller", controller(shows("bus")), ready, denied},
		{"the collector steers the controller", controller(shows("collector")), ready, denied},
		{"a node asks a node", h0(shows("h1")), served, denied},
	}
}

// messages are attempts on the bus.
func (i *intruder) messages(t *testing.T) []attempt {
	t.Helper()
	shows := func(member string, change ...func(*tls.Config)) *tls.Config {
		return i.shows(t, i.dir, member, change...)
	}
	nats := func(k bus.Key, c *tls.Config, do func(bus.Conn) error) func() error {
		return func() error { return i.onBus(t, k, c, do) }
	}
	node, hub := shows("h0"), shows("controller")
	h0, h1, boss := i.key(t, "h0"), i.key(t, "h1"), i.key(t, "controller")
	link := func(from string) string { return bus.LinkSubject("x", from, "s0") }
	signs := func(public, signer bus.Key, nonce string) func() error {
		return func() error { return i.signsIn(t, public, signer, nonce) }
	}
	in := nats(h0, node, come)
	return []attempt{
		{"no key", nats(bus.Key{}, node, come), in, refused},
		{"a strange key", nats(i.stranger, node, come), in, refused},
		{"the signature of another key", signs(h0, h1, ""), signs(h0, h0, ""), refused},
		{"the signature of an earlier nonce", signs(h0, h0, "JJI3x2IIJ3VDeFo"), signs(h0, h0, ""), refused},
		{"plain TCP", nats(h0, nil, come), in, handshake},
		{"no certificate", nats(h0, shows("h0", nobody), come), in, handshake},
		{"certificate of another CA", nats(h0, i.shows(t, i.other, "h0"), come), in, handshake},
		{"expired certificate", nats(h0, i.shows(t, i.past, "h0"), come), in, handshake},
		{"TLS 1.2", nats(h0, shows("h0", old), come), in, handshake},
		{"a bus of another name", nats(h0, shows("h0", wants("h1")), come), in, handshake},
		{"the link of another", nats(h0, node, publishOn(link("h1"))), nats(h0, node, publishOn(link("h0"))), refused},
		{"the own link with the key of another", nats(h1, node, publishOn(link("h0"))), nats(h1, node, publishOn(link("h1"))), refused},
		{"the announcement of another", nats(h0, node, publishOn(bus.AnnouncementSubject("rack", "h1"))), nats(h1, node, publishOn(bus.AnnouncementSubject("rack", "h1"))), refused},
		{"everything", nats(h0, node, subscribeTo(">")), nats(h0, node, subscribeTo(bus.QuerySubject("rack"))), refused},
		{"frames for another", nats(h0, node, subscribeTo(bus.InPattern("*", "h1"))), nats(h0, node, subscribeTo(bus.InPattern("*", "h0"))), refused},
		{"frames, by the controller", nats(boss, hub, subscribeTo("rackfab.*.link.>")), nats(boss, hub, subscribeTo(bus.AnnouncementPattern("rack"))), refused},
		{"everything, by the controller", nats(boss, hub, subscribeTo(">")), nats(boss, hub, publishOn(bus.QuerySubject("rack"))), refused},
	}
}
