package processes

import (
	"net"
	"strings"
	"sync"
	"time"
)

// Reading of a slow consumer: a piece of a message at a time, with a pause after each.
const (
	slowPiece = 512 // bytes
	slowPause = 5 * time.Millisecond
)

// proxy carries the TCP connections of one process to the bus, and can cut them or make the
// process slow to read.
type proxy struct {
	listener net.Listener
	bus      string // "host:port"
	done     chan struct{}
	carrying sync.WaitGroup

	mu   sync.Mutex
	open map[net.Conn]bool // both ends of each connection
	cut  bool              // connections are refused
	slow bool
}

// newProxy starts a proxy for a bus.
func newProxy(url string) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l, bus: strings.TrimPrefix(url, "nats://"), done: make(chan struct{}), open: map[net.Conn]bool{}}
	p.carrying.Go(p.accept)
	return p, nil
}

// url returns the URL of the bus behind the proxy.
func (p *proxy) url() string { return "nats://" + p.listener.Addr().String() }

// accept takes connections until close.
func (p *proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.carrying.Go(func() { p.connect(c) })
	}
}

// connect carries a connection until one of its ends is closed.
func (p *proxy) connect(c net.Conn) {
	defer p.drop(c)
	if !p.hold(c) {
		return
	}
	server, err := net.Dial("tcp", p.bus)
	if err != nil {
		return // the bus is down: the process tries again
	}
	defer p.drop(server)
	if !p.hold(server) {
		return
	}
	var up sync.WaitGroup
	up.Go(func() {
		p.carry(server, c, func() bool { return false })
		p.drop(server)
	})
	p.carry(c, server, p.isSlow)
	p.drop(c)
	up.Wait()
}

// hold adds a connection, unless connections are cut.
func (p *proxy) hold(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut {
		return false
	}
	p.open[c] = true
	return true
}

func (p *proxy) drop(c net.Conn) {
	_ = c.Close() // it may be closed already
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
}

func (p *proxy) isSlow() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.slow
}

// carry copies bytes until one of the ends is closed.
func (p *proxy) carry(to, from net.Conn, slow func() bool) {
	var buffer [32 << 10]byte
	for {
		n, err := from.Read(buffer[:])
		for sent := 0; sent < n; {
			end := n
			if slow() {
				end = min(n, sent+slowPiece)
				select {
				case <-time.After(slowPause):
				case <-p.done:
				}
			}
			if _, err := to.Write(buffer[sent:end]); err != nil {
				return
			}
			sent = end
		}
		if err != nil {
			return
		}
	}
}

// sever resets all connections. While refuse is set, it refuses further ones.
func (p *proxy) sever(refuse bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = refuse
	for c := range p.open {
		if t, ok := c.(*net.TCPConn); ok {
			_ = t.SetLinger(0) // what is in flight is lost
		}
		_ = c.Close()
	}
}

// setSlow makes the process a slow consumer, or ends that.
func (p *proxy) setSlow(slow bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slow = slow
}

// close ends the proxy and its connections.
func (p *proxy) close() {
	_ = p.listener.Close()
	close(p.done)
	p.sever(true)
	p.carrying.Wait()
}
