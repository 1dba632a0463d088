// Package faulty wraps a bus connection and loses, repeats, delays and reorders its
// messages, drawn from a seed. It simulates an unreliable bus on demand. It knows
// nothing about the contents of messages.
package faulty

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/rackfab/rackfab/bus"
)

// Rates holds the probability of each fault per message, from 0 to 1. A message has at
// most one fault. The sum of the rates must be at most 1.
type Rates struct {
	Drop   float64 // lost
	Repeat float64 // delivered twice
	Swap   float64 // delivered after the connection's next message
	Hold   float64 // delivered after up to HoldFor later messages of the connection
}

// HoldFor is the maximum number of later messages that overtake a delayed one. It is
// therefore also the maximum number of delayed messages.
const HoldFor = 16

// Struck counts the messages with a fault.
type Struck struct {
	Dropped, Repeated, Swapped, Held int64
}

// Total returns the sum of the counts.
func (s Struck) Total() int64 { return s.Dropped + s.Repeated + s.Swapped + s.Held }

// Conn is a connection that applies faults to the messages it publishes.
type Conn struct {
	bus.Conn
	bad atomic.Bool // whether a rate is above 0

	mu     sync.Mutex
	rates  Rates
	random *rand.Rand
	held   []message
	struck Struck
}

type message struct {
	subject string
	data    []byte
	wait    int // further messages of the connection to wait for
}

// Wrap returns a connection that applies faults to c at the given rates, drawn from
// seed.
func Wrap(c bus.Conn, rates Rates, seed uint64) *Conn {
	f := &Conn{Conn: c}
	f.Impair(rates, seed)
	return f
}

// Impair sets new rates for all messages from now on, drawn from seed. The zero Rates
// end all faults. Delayed messages are published at once. Impair may be called from any
// goroutine.
func (c *Conn) Impair(rates Rates, seed uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rates, c.random = rates, rand.New(rand.NewPCG(seed, seed))
	c.bad.Store(rates != Rates{})
	for _, m := range c.held {
		_ = c.Conn.Publish(m.subject, m.data) // an error counts as a loss, which a bus may cause
	}
	c.held = nil
}

// Struck returns the counts of messages with a fault so far.
func (c *Conn) Struck() Struck {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.struck
}

// Publish publishes data, drops it, publishes it twice, or delays it.
func (c *Conn) Publish(subject string, data []byte) error {
	if !c.bad.Load() {
		return c.Conn.Publish(subject, data)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	for range c.copies(subject, data) {
		err = c.Conn.Publish(subject, data)
	}
	return c.release(err)
}

// copies draws a fault and returns the number of copies to publish now.
func (c *Conn) copies(subject string, data []byte) int {
	draw := c.random.Float64()
	if draw -= c.rates.Drop; draw < 0 {
		c.struck.Dropped++
		return 0
	}
	if draw -= c.rates.Repeat; draw < 0 {
		c.struck.Repeated++
		return 2
	}
	if draw -= c.rates.Swap; draw < 0 {
		c.struck.Swapped++
		c.hold(subject, data, 2)
		return 0
	}
	if draw -= c.rates.Hold; draw < 0 {
		c.struck.Held++
		c.hold(subject, data, 2+c.random.IntN(HoldFor))
		return 0
	}
	return 1
}

func (c *Conn) hold(subject string, data []byte, wait int) {
	c.held = append(c.held, message{subject, append([]byte(nil), data...), wait})
}

// release publishes every delayed message whose wait is over.
func (c *Conn) release(err error) error {
	kept := c.held[:0]
	for _, m := range c.held {
		if m.wait--; m.wait > 0 {
			kept = append(kept, m)
			continue
		}
		if e := c.Conn.Publish(m.subject, m.data); e != nil {
			err = e
		}
	}
	c.held = kept
	return err
}
