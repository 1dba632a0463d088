// Package faulty wraps a connection to a bus so that it loses, repeats, delays
// and reorders messages, by a seed: what a real bus does on a bad day, whenever it
// is asked to. It knows nothing of what the messages say.
package faulty

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/rackfab/rackfab/bus"
)

// Rates says how often each fault strikes a message, from 0 to 1 each. A
// message meets at most one fault; the rates sum to at most 1.
type Rates struct {
	Drop   float64 // lost
	Repeat float64 // delivered twice
	Swap   float64 // delivered after the connection's next message
	Hold   float64 // delivered after up to HoldFor later messages of the connection
}

// HoldFor is how many later messages overtake a held one at most, and so the most
// messages that are held.
const HoldFor = 16

// Struck counts the messages that faults have struck.
type Struck struct {
	Dropped, Repeated, Swapped, Held int64
}

// Total is all of them.
func (s Struck) Total() int64 { return s.Dropped + s.Repeated + s.Swapped + s.Held }

// Conn is a connection with faults in what it publishes.
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
	wait    int // messages of the connection still to pass
}

// Wrap gives c faults at the rates, drawn from seed.
func Wrap(c bus.Conn, rates Rates, seed uint64) *Conn {
	f := &Conn{Conn: c}
	f.Impair(rates, seed)
	return f
}

// Impair sets the rates anew, for the messages from now on, drawn from seed; the
// zero Rates mend the connection. What is held goes out at once. It may be called
// from any goroutine.
func (c *Conn) Impair(rates Rates, seed uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rates, c.random = rates, rand.New(rand.NewPCG(seed, seed))
	c.bad.Store(rates != Rates{})
	for _, m := range c.held {
		_ = c.Conn.Publish(m.subject, m.data) // refused is as good as lost, which a bus may do
	}
	c.held = nil
}

// Struck counts the messages that a fault has struck so far.
func (c *Conn) Struck() Struck {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.struck
}

// Publish publishes data, or does not, or does it twice, or later.
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

// copies draws a fault and tells how many copies to publish now.
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

// release publishes every held message whose time has come.
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
