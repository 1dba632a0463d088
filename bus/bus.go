// Package bus carries frames between groups of nodes over NATS, each group one loop in
// a process. It contains the subjects, the envelope, and the link protocol by which
// groups synchronise time (sequence, taken,
// promise, want, resend). It is the only package that uses NATS. Besides the NATS
// connection it provides an in-memory bus and an embedded server. It does not know
// what a node does with a frame. docs/wire.md specifies the wire format and protocol.
package bus

// Conn is a connection to a bus. A bus delivers at most once. It usually keeps the
// order between one sender and one receiver, but does not guarantee it. Sync recovers
// from loss, duplication and reordering.
type Conn interface {
	// Publish queues data on the bus and returns without waiting for transmission.
	// Messages published in quick succession travel together. The caller may reuse
	// data. An error means that the message is lost.
	Publish(subject string, data []byte) error
	// Subscribe calls handle for every message on a subject that matches pattern, one
	// at a time. A "*" in pattern matches one token. handle must not block. It may keep
	// data.
	Subscribe(pattern string, handle func(subject string, data []byte)) (unsubscribe func(), err error)
	// Flush waits until the bus has received all published messages and all
	// subscriptions. ErrRefused means that the bus refused one of them, now or earlier.
	Flush() error
	// Reconnected returns a channel that receives after each reconnection to the bus.
	// Messages may have been lost in between.
	Reconnected() <-chan struct{}
	// Close closes the connection. No handler is called for messages that arrive later.
	Close()
}

// MaxPayload is the largest message in bytes that the bus carries. It exceeds
// MaxEnvelope to leave room for other traffic on the same bus.
const MaxPayload = 8 << 20
