package bus

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Wall-clock settings of a NATS connection.
const (
	dialTimeout   = 10 * time.Second
	reconnectWait = 50 * time.Millisecond
	flushTimeout  = 10 * time.Second
	writeBuffer   = 256 << 10 // bytes gathered before a write
)

// natsConn is a connection to a NATS server.
type natsConn struct {
	nc   *nats.Conn
	back chan struct{}
}

// ErrRefused is the error of a bus that is there and does not let one in, or does
// not let one do what was asked for.
var ErrRefused = errors.New("the bus refuses")

// Access is what a connection shows to be let in; the zero Access shows nothing.
type Access struct {
	Key   Key
	Login Login
	TLS   *tls.Config // nil is plain TCP
}

// Login is a user with a password, or a token, of a bus that is not ours.
// Printed, it shows nothing.
type Login struct{ User, Password string } // a token is a User alone

// String hides the login, in whatever way it is printed.
func (Login) String() string { return "[login]" }

// GoString hides the login from %#v.
func (Login) GoString() string { return "bus.Login{}" }

// SplitLogin takes the login out of a URL, or of several with commas between
// them, so that the rest can be shown. A URL that cannot be read is left as it is.
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

// options are those of a connection with the access.
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

// Dial is DialAs with nothing to show but a login in the URL.
func Dial(url, name string) (Conn, error) { return DialAs(url, name, Access{}) }

// DialAs connects to the NATS server at url under a name that the server shows,
// with an access. A lost connection is taken up again for as long as the Conn is
// open; what is published meanwhile is refused, not kept, because Sync sends it
// again. A server that does not let the connection in is ErrRefused; no error
// shows a login.
func DialAs(url, name string, a Access) (Conn, error) {
	url, login := SplitLogin(url)
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
		nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectWait/2, reconnectWait/2),
		nats.ReconnectBufSize(-1),
		nats.WriteBufferSize(writeBuffer),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
		nats.ReconnectHandler(func(*nats.Conn) {
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
	c.nc = nc
	return c, nil
}

// refusal says of an error that the bus refuses, if that is what it means.
func refusal(err error) error {
	if errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrPermissionViolation) || errors.Is(err, nats.ErrNkeysNotSupported) {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
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
		return refusal(err) // the server says so before it answers the flush
	}
	return nil
}

// Reconnects counts how often the connection was lost and taken up again.
func (c *natsConn) Reconnects() int64 { return int64(c.nc.Stats().Reconnects) }

func (c *natsConn) Reconnected() <-chan struct{} { return c.back }

func (c *natsConn) Close() { c.nc.Close() }
