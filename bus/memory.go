package bus

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// Memory is a bus within one process, for tests. Publish calls the handlers before it
// returns.
type Memory struct {
	mu   sync.Mutex
	subs []*memorySub // replaced, never modified in place
}

// NewMemory returns a bus without connections.
func NewMemory() *Memory { return &Memory{} }

// Dial connects to the bus.
func (m *Memory) Dial() Conn { return &memoryConn{bus: m} }

// list adds subscriptions, and returns all.
func (m *Memory) list(more ...*memorySub) []*memorySub {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(more) > 0 {
		m.subs = slices.DeleteFunc(slices.Concat(m.subs, more), (*memorySub).over)
	}
	return m.subs
}

// memorySub is a subscription.
type memorySub struct {
	conn    *memoryConn
	pattern string
	handle  func(subject string, data []byte)
	mu      sync.Mutex // serialises the calls of handle
	stopped atomic.Bool
}

func (s *memorySub) over() bool { return s.stopped.Load() || s.conn.closed.Load() }

func (s *memorySub) call(subject string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over() {
		s.handle(subject, bytes.Clone(data))
	}
}

// memoryConn is one connection to a Memory bus.
type memoryConn struct {
	bus    *Memory
	closed atomic.Bool
}

func (c *memoryConn) Publish(subject string, data []byte) error {
	if c.closed.Load() {
		return fmt.Errorf("publish on %s: connection closed", subject)
	}
	for _, s := range c.bus.list() {
		if fits(s.pattern, subject) {
			s.call(subject, data)
		}
	}
	return nil
}

func (c *memoryConn) Subscribe(pattern string, handle func(string, []byte)) (func(), error) {
	if c.closed.Load() {
		return nil, fmt.Errorf("subscribe to %s: connection closed", pattern)
	}
	s := &memorySub{conn: c, pattern: pattern, handle: handle}
	c.bus.list(s)
	return func() { s.stopped.Store(true) }, nil
}

func (c *memoryConn) Flush() error                 { return nil }
func (c *memoryConn) Reconnected() <-chan struct{} { return nil }
func (c *memoryConn) Close()                       { c.closed.Store(true) }
