package bus

import (
	"fmt"
	"sync"
)

// Memory is a bus within one process. Publish calls the handlers before it
// returns.
type Memory struct {
	mu   sync.RWMutex
	subs []*memorySub // replaced, never modified in place
}

type memorySub struct {
	conn    *memoryConn
	pattern string
	handle  func(subject string, data []byte)
	mu      sync.Mutex // serialises the calls of handle
	stopped bool       // guarded by mu
}

// NewMemory returns a bus without connections.
func NewMemory() *Memory { return &Memory{} }

// Dial connects to the bus.
func (m *Memory) Dial() Conn { return &memoryConn{bus: m} }

func (m *Memory) listen(s *memorySub) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.subs = append(m.subs[:len(m.subs):len(m.subs)], s)
}

func (m *Memory) forget(drop func(*memorySub) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var kept []*memorySub
	for _, s := range m.subs {
		if !drop(s) {
			kept = append(kept, s)
		}
	}
	m.subs = kept
}

func (m *Memory) publish(subject string, data []byte) {
	m.mu.RLock()
	subs := m.subs
	m.mu.RUnlock()
	for _, s := range subs {
		if fits(s.pattern, subject) {
			s.call(subject, data)
		}
	}
}

func (s *memorySub) call(subject string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopped {
		s.handle(subject, append([]byte(nil), data...))
	}
}

func (s *memorySub) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
}

// memoryConn is one connection to a Memory bus.
type memoryConn struct {
	bus    *Memory
	mu     sync.Mutex
	closed bool
}

func (c *memoryConn) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

func (c *memoryConn) Publish(subject string, data []byte) error {
	if c.isClosed() {
		return fmt.Errorf("publish on %s: connection closed", subject)
	}
	c.bus.publish(subject, data)
	return nil
}

func (c *memoryConn) Subscribe(pattern string, handle func(string, []byte)) (func(), error) {
	if c.isClosed() {
		return nil, fmt.Errorf("subscribe to %s: connection closed", pattern)
	}
	s := &memorySub{conn: c, pattern: pattern, handle: handle}
	c.bus.listen(s)
	return func() {
		s.stop()
		c.bus.forget(func(o *memorySub) bool { return o == s })
	}, nil
}

func (c *memoryConn) Flush() error                 { return nil }
func (c *memoryConn) Reconnected() <-chan struct{} { return nil }

func (c *memoryConn) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.bus.forget(func(s *memorySub) bool {
		if s.conn == c {
			s.stop()
		}
		return s.conn == c
	})
}
