// Package discovery lets a controller find the nodes of its rack: it publishes a
// query on the bus, and every node answers with its address. It knows subjects and
// addresses; it does not know what the controller does with a node.
package discovery

import (
	"encoding/json"
	"fmt"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/fabric/topology"
)

// Hello is a node's announcement, published as JSON on its hello subject.
type Hello struct {
	Name    string            `json:"name"`
	Kind    topology.NodeKind `json:"kind"`
	Address string            `json:"address"` // of its gRPC server, "host:port"
	PID     int               `json:"pid"`     // on its own machine
	// Process is the name of the process, by which bus and TLS know it: that of one of its
	// nodes. "" is the node's own name.
	Process string `json:"process,omitempty"`
}

// Announce publishes hello to the rack, now and whenever a controller asks, until
// stop is called. It returns an error if the rack or the name cannot be part of a
// subject, or if the bus does not permit this connection to publish for the node.
func Announce(conn bus.Conn, rack string, hello Hello) (stop func(), err error) {
	for _, token := range []string{rack, hello.Name} {
		if err := bus.CheckToken(token); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(hello)
	if err != nil {
		return nil, fmt.Errorf("hello of %s: %w", hello.Name, err)
	}
	say := func() error { return conn.Publish(bus.AnnouncementSubject(rack, hello.Name), text) }
	// The controller repeats its query if an answer is lost.
	stop, err = conn.Subscribe(bus.QuerySubject(rack), func(string, []byte) { _ = say() })
	if err != nil {
		return nil, err
	}
	for _, step := range []func() error{conn.Flush, say, conn.Flush} {
		if err := step(); err != nil {
			stop()
			return nil, err
		}
	}
	return stop, nil
}
