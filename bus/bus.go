// Package bus carries frames between nodes over NATS: subjects, the envelope,
// and the link protocol by which nodes agree on time (sequence, taken, promise,
// want, resend). It is the only door to NATS; beside the NATS connection stand
// an in-memory twin and an embedded server. It does not know what a node does
// with a frame. docs/wire.md is the specification of what it sends.
package bus

// Conn is a connection to a bus. A bus delivers at most once; between one
// sender and one receiver it keeps order as a rule, not as a promise. Whatever
// it loses, repeats or reorders, Sync repairs.
type Conn interface {
	// Publish hands data to the bus and returns without waiting for it to
	// leave; what is published in one go travels together. The caller may reuse
	// data. An error means that the message is lost.
	Publish(subject string, data []byte) error
	// Subscribe calls handle for every message on a subject that fits pattern,
	// one at a time. A "*" in pattern stands for one token. handle must not
	// block; data is its to keep.
	Subscribe(pattern string, handle func(subject string, data []byte)) (unsubscribe func(), err error)
	// Flush waits until the bus has taken all that was published and knows all
	// that was subscribed. ErrRefused tells that something of it was not allowed,
	// now or earlier.
	Flush() error
	// Reconnected gives a channel that receives after a lost connection to the
	// bus is back. Messages may have been lost in between.
	Reconnected() <-chan struct{}
	// Close ends the connection; no handler is called for messages that come
	// later.
	Close()
}

// MaxPayload is the largest message in bytes that the bus carries. It leaves
// room above MaxEnvelope for other traffic on the same bus.
const MaxPayload = 8 << 20
