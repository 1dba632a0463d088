// Package faulty wraps a bus connection and loses, repeats and delays its messages,
// drawn from a seed. It simulates an unreliable bus on demand. It knows
// nothing about the contents of messages.
package faulty

import (
	"bytes"
	"math/rand/v2"
	"sync"

	"github.com/rackfab/rackfab/bus"
)

// Rates holds the probability of each fault per message, from 0 to 1. A message has at
// most one fault. The sum of the rates must be at most 1.
type Rates struct {
	Drop   float64 // lost
	Repeat float64 // delivered twice
	Delay  float64 // delivered after up to MaxDelay later messages of the connection
}

// MaxDelay is the maximum number of later messages that overtake a delayed one. It is
// therefore also the maximum number of delayed messages.
const MaxDelay = 64

// Counts are the numbers of messages with a fault.
type Counts struct {
	Dropped, Repeated, Delayed int64
}

// Total returns the sum of the counts.
func (c Counts) Total() int64 { return c.Dropped + c.Repeated + c.Delayed }

// Conn is a connection that applies faults to the messages it publishes.
type Conn struct {
	bus.Conn
	mu      sync.Mutex
	rates   Rates
	random  *rand.Rand
	delayed []message
	counts  Counts
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
	for _, m := range c.delayed {
		_ = c.Conn.Publish(m.subject, m.data) // an error counts as a loss, which a bus may cause
	}
	c.delayed = nil
}

// Counts returns the numbers of messages with a fault so far.
func (c *Conn) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts
}

// Publish publishes data, drops it, publishes it twice, or delays it.
func (c *Conn) Publish(subject string, data []byte) error {
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
		c.counts.Dropped++
		return 0
	}
	if draw -= c.rates.Repeat; draw < 0 {
		c.counts.Repeated++
		return 2
	}
	if draw -= c.rates.Delay; draw < 0 {
		c.counts.Delayed++
		c.delayed = append(c.delayed, message{subject, bytes.Clone(data), 2 + c.random.IntN(MaxDelay)})
		return 0
	}
	return 1
}

// release publishes every delayed message whose wait is over.
func (c *Conn) release(err error) error {
	kept := c.delayed[:0]
	for _, m := range c.delayed {
		if m.wait--; m.wait > 0 {
			kept = append(kept, m)
			continue
		}
		if e := c.Conn.Publish(m.subject, m.data); e != nil {
			err = e
		}
	}
	c.delayed = kept
	return err
}
