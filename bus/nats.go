package bus

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// Wall-clock settings of a NATS connection.
const (
	dialTimeout   = 10 * time.Second
	reconnectWait = 50 * time.Millisecond
	flushTimeout  = 10 * time.Second
	writeBuffer   = 256 << 10 // bytes collected before a write

	// A server whose machine or network is down is lost after maxPings intervals, in
	// less time than the run permits a peer to be silent.
	pingInterval = 3 * time.Second
	maxPings     = 2
)

// natsConn is a connection to a NATS server.
type natsConn struct {
	nc            *nats.Conn
	back          chan struct{}
	lost          atomic.Bool
	local, remote string // ends of the first connection
}

// ErrRefused means that the bus is reachable, but refuses the connection or an
// operation.
var ErrRefused = errors.New("the bus refuses")

// Access is the authentication of a connection. The zero Access has none.
type Access struct {
	Key   Key
	Login Login
	TLS   *tls.Config // nil is plain TCP
}

// Login is a user with a password, or a token, for a bus that rackfab did not start.
// Printing a Login does not reveal it.
type Login struct{ User, Password string } // a token is a User without a Password

// String hides the login when it is printed.
func (Login) String() string { return "[login]" }

// GoString hides the login from %#v.
func (Login) GoString() string { return "bus.Login{}" }

// SplitLogin removes the login from a URL, or from several separated by commas, so that
// the rest can be shown. It leaves an invalid URL unchanged.
func SplitLogin(urls string) (clean string, login Login) {
	parts := strings.Split(urls, ",")
	for i, part := range parts {
		u, err := url.Parse(strings.TrimSpace(part))
		if err != nil || u.User == nil {
			continue
		}
		password, _ := u.User.Password()
		login = Login{u.User.Username(), password}
		u.User = nil
		parts[i] = u.String()
	}
	return strings.Join(parts, ","), login
}

// options returns the connection options of the access.
func (a Access) options() ([]nats.Option, error) {
	var list []nats.Option
	if !a.Key.IsZero() {
		public, err := a.Key.Public()
		if err != nil {
			return nil, err
		}
		list = append(list, nats.Nkey(public, a.Key.sign))
	}
	switch {
	case a.Login.Password != "":
		list = append(list, nats.UserInfo(a.Login.User, a.Login.Password))
	case a.Login.User != "":
		list = append(list, nats.Token(a.Login.User))
	}
	if a.TLS != nil {
		list = append(list, nats.Secure(a.TLS))
	}
	return list, nil
}

// DialAs connects to the NATS server at urls, or, of several servers of a cluster
// separated by commas, to the first that answers. name identifies the connection at the
// server. The Conn reconnects until it is closed, to any of the servers, and to those that
// they know of. Meanwhile Publish fails instead of queueing, because Sync sends again. The error is ErrRefused if the server refuses
// the connection. No error contains a login.
func DialAs(urls, name string, a Access) (Conn, error) {
	url, login := SplitLogin(urls)
	if login != (Login{}) {
		a.Login = login
	}
	options, err := a.options()
	if err != nil {
		return nil, fmt.Errorf("connect to bus %s: %w", url, err)
	}
	c := &natsConn{back: make(chan struct{}, 1)}
	options = append(options,
		nats.Name(name),
		nats.Timeout(dialTimeout),
		nats.SetCustomDialer(dialer{}),
		nats.DontRandomize(),
		nats.PingInterval(pingInterval),
		nats.MaxPingsOutstanding(maxPings),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectWait/2, reconnectWait/2),
		nats.ReconnectBufSize(-1),
		nats.WriteBufferSize(writeBuffer),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
		nats.DisconnectErrHandler(func(*nats.Conn, error) { c.lost.Store(true) }),
		nats.ReconnectHandler(func(*nats.Conn) {
			c.lost.Store(false)
			select {
			case c.back <- struct{}{}:
			default:
			}
		}),
	)
	nc, err := nats.Connect(url, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to bus %s: %w", url, refusal(err))
	}
	if nc.MaxPayload() < MaxEnvelope {
		nc.Close()
		return nil, fmt.Errorf("bus %s carries at most %d bytes a message, need %d", url, nc.MaxPayload(), MaxEnvelope)
	}
	c.nc, c.local, c.remote = nc, nc.LocalAddr(), nc.ConnectedAddr()
	return c, nil
}

// refusal wraps err in ErrRefused if it means that the bus refuses.
func refusal(err error) error {
	if errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrPermissionViolation) || errors.Is(err, nats.ErrNkeysNotSupported) {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}

// OutOfReach reports whether an error of DialAs, or of an operation of a Conn, means that the
// bus cannot be reached now, but may be later: its server or its machine has not started yet,
// or the connection was lost. A refusal, an invalid address or certificate is no such error.
func OutOfReach(err error) bool {
	var network net.Error
	var address *net.AddrError
	var end *net.OpError
	switch {
	case errors.Is(err, ErrRefused), errors.As(err, &address):
		return false
	case errors.As(err, &end) && (end.Op == "remote error" || end.Op == "local error"): // an alert of TLS
		return false
	case errors.As(err, &network), errors.Is(err, io.EOF):
		return true
	}
	for _, lost := range []error{nats.ErrNoServers, nats.ErrTimeout, nats.ErrConnectionClosed, nats.ErrReconnectBufExceeded} {
		if errors.Is(err, lost) {
			return true
		}
	}
	return false
}

// dialer opens the socket to a server.
type dialer struct{}

// Dial connects to address within dialTimeout.
func (dialer) Dial(network, address string) (net.Conn, error) {
	c, err := net.DialTimeout(network, address, dialTimeout)
	if err != nil {
		return nil, err
	}
	return newSocket(c), nil
}

func (c *natsConn) Publish(subject string, data []byte) error {
	if err := c.nc.Publish(subject, data); err != nil {
		return fmt.Errorf("publish on %s: %w", subject, err)
	}
	return nil
}

func (c *natsConn) Subscribe(pattern string, handle func(string, []byte)) (func(), error) {
	sub, err := c.nc.Subscribe(pattern, func(m *nats.Msg) { handle(m.Subject, m.Data) })
	if err != nil {
		return nil, fmt.Errorf("subscribe to %s: %w", pattern, err)
	}
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		return nil, fmt.Errorf("subscribe to %s: %w", pattern, err)
	}
	return func() { _ = sub.Unsubscribe() }, nil
}

func (c *natsConn) Flush() error {
	if err := c.nc.FlushTimeout(flushTimeout); err != nil {
		return fmt.Errorf("flush bus: %w", err)
	}
	if err := c.nc.LastError(); errors.Is(err, nats.ErrPermissionViolation) {
		return refusal(err) // the server sends it before it answers the flush
	}
	return nil
}

// Reconnects returns how often the connection was lost and restored.
func (c *natsConn) Reconnects() int64 { return int64(c.nc.Stats().Reconnects) }

// Ends returns the addresses of the two ends of the connection as it was established first,
// "192.0.2.2:40123".
func (c *natsConn) Ends() (local, remote string) { return c.local, c.remote }

// Lost reports whether the connection is lost and not yet restored. Unlike the methods of
// nats.Conn, it does not wait for a blocked write.
func (c *natsConn) Lost() bool { return c.lost.Load() }

func (c *natsConn) Reconnected() <-chan struct{} { return c.back }

func (c *natsConn) Close() { c.nc.Close() }
