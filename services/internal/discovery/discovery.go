// Package discovery lets a controller find the nodes of its rack, and a launcher the free
// workers of a bus: it publishes a query on the bus, and every node or worker answers with
// its address. It knows subjects and addresses; it does not know what the others do with a
// node.
package discovery

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/fabric/topology"
)

// Pool is the name, in place of that of a rack, under which free workers announce
// themselves, and Worker their kind.
const (
	Pool                     = "workers"
	Worker topology.NodeKind = "worker"
)

// Hello is the announcement of a node or a free worker, published as JSON on its hello
// subject.
type Hello struct {
	Name    string            `json:"name"`
	Kind    topology.NodeKind `json:"kind"`
	Address string            `json:"address"` // of its gRPC server, "host:port"
	PID     int               `json:"pid"`     // on its own machine
	// Process is the name of the process, by which bus and TLS know it: that of one of its
	// nodes. "" is the node's own name.
	Process string `json:"process,omitempty"`
	// Member is the member of the rack whose certificate the process has. "" is Process.
	Member string `json:"member,omitempty"`
	Cores  int    `json:"cores,omitempty"` // of a free worker
}

// message is a Hello on the bus.
type message struct {
	Hello
	// Instance distinguishes the live nodes of one name, which may have the same address
	// and PID on different machines.
	Instance string `json:"instance"`
	Joined   bool   `json:"joined,omitempty"`  // the instance has announced itself before
	Gone     bool   `json:"gone,omitempty"`    // withdraws the announcement
	Refuses  string `json:"refuses,omitempty"` // instance that must end, as this one was first
}

// RefusedError means that a rack has a live node of the same name.
type RefusedError struct {
	Rack         string
	Refused, Has Hello
}

// Error names the node and says where the other one is.
func (e *RefusedError) Error() string {
	if e.Refused.Kind == Worker {
		return fmt.Sprintf("worker %s at %s is refused: the bus has a live worker of that name, at %s (PID %d): use --name",
			e.Refused.Name, e.Refused.Address, e.Has.Address, e.Has.PID)
	}
	return fmt.Sprintf("node %s at %s is refused: rack %s has a live node of that name, at %s (PID %d)",
		e.Refused.Name, e.Refused.Address, e.Rack, e.Has.Address, e.Has.PID)
}

// announcement is the announcement of a live node.
type announcement struct {
	conn   bus.Conn
	rack   string
	own    message
	refuse func(error)

	mu     sync.Mutex
	joined bool // it has received its own announcement
}

// Announce publishes hello to the rack, now and whenever a controller asks, until
// withdraw, which removes the node from the directories. It returns an error if the rack
// or the name cannot be part of a subject, or if the bus does not permit this connection
// to publish for the node. Of two live nodes of one name, the later one is refused:
// refused is called with a *RefusedError. It must not block.
func Announce(conn bus.Conn, rack string, hello Hello, refused func(error)) (withdraw func(), err error) {
	for _, token := range []string{rack, hello.Name} {
		if err := bus.CheckToken(token); err != nil {
			return nil, err
		}
	}
	a := &announcement{conn: conn, rack: rack, own: message{Hello: hello, Instance: rand.Text()}, refuse: refused}
	stopHearing, err := conn.Subscribe(bus.AnnouncementSubject(rack, hello.Name), a.hear)
	if err != nil {
		return nil, err
	}
	// The controller repeats its query if an answer is lost.
	stopAnswering, err := conn.Subscribe(bus.QuerySubject(rack), func(string, []byte) { _ = a.say(message{}) })
	if err != nil {
		stopHearing()
		return nil, err
	}
	stop := func() { stopHearing(); stopAnswering() }
	for _, step := range []func() error{conn.Flush, func() error { return a.say(message{}) }, conn.Flush} {
		if err := step(); err != nil {
			stop()
			return nil, err
		}
	}
	return sync.OnceFunc(func() {
		stop()
		_ = a.say(message{Gone: true}) // if it is lost, the controller's next call fails
	}), nil
}

// say publishes the announcement, with Gone and Refuses of m.
func (a *announcement) say(m message) error {
	a.mu.Lock()
	m.Hello, m.Instance, m.Joined = a.own.Hello, a.own.Instance, a.joined
	a.mu.Unlock()
	text, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("hello of %s: %w", m.Name, err)
	}
	return a.conn.Publish(bus.AnnouncementSubject(a.rack, m.Name), text)
}

// hear takes the announcements of all nodes of this name, its own too.
func (a *announcement) hear(_ string, data []byte) {
	var m message
	if json.Unmarshal(data, &m) != nil || m.Gone {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case m.Instance == a.own.Instance:
		a.joined = true
	case m.Refuses == a.own.Instance:
		a.refuse(&RefusedError{Rack: a.rack, Refused: a.own.Hello, Has: m.Hello})
	case a.refuses(m):
		go func() { _ = a.say(message{Refuses: m.Instance}) }() // a handler must not block
	}
}

// refuses reports whether the node refuses the other one that sent m: the node that has
// joined refuses one that has not. If both have, because the bus was interrupted between
// them, that with the lesser instance refuses the other.
func (a *announcement) refuses(m message) bool {
	return m.Refuses == "" && a.joined && (!m.Joined || a.own.Instance < m.Instance)
}
