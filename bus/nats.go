package bus

import (
	"fmt"
	"net"
	"time"

	"github.com/nats-io/nats.go"
)

// Wall-clock settings of a NATS connection.
const (
	dialTimeout   = 5 * time.Second
	reconnectWait = 50 * time.Millisecond
	flushTimeout  = 10 * time.Second
	writeBuffer   = 256 << 10 // bytes gathered before a write
)

// natsConn is a connection to a NATS server.
type natsConn struct {
	nc   *nats.Conn
	back chan struct{}
}

// Dial connects to the NATS server at url under a name that the server shows.
// A lost connection is taken up again for as long as the Conn is open; what is
// published meanwhile is refused, not kept, because Sync sends it again.
func Dial(url, name string) (Conn, error) {
	c := &natsConn{back: make(chan struct{}, 1)}
	nc, err := nats.Connect(url,
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
	if err != nil {
		return nil, fmt.Errorf("connect to bus %s: %w", url, err)
	}
	if nc.MaxPayload() < MaxEnvelope {
		nc.Close()
		return nil, fmt.Errorf("bus %s carries at most %d bytes a message, need %d", url, nc.MaxPayload(), MaxEnvelope)
	}
	c.nc = nc
	return c, nil
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
	return nil
}

func (c *natsConn) Reconnected() <-chan struct{} { return c.back }

func (c *natsConn) Close() { c.nc.Close() }
