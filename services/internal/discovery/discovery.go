// Package discovery is how a controller finds the nodes of its rack: it asks on
// the bus who is there, and every node answers with its address. It knows
// subjects and addresses; it does not know what is done with a node.
package discovery

import (
	"encoding/json"
	"fmt"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/fabric/topology"
)

// Hello is what a node says about itself, as JSON on the rack's hello subject.
type Hello struct {
	Name    string            `json:"name"`
	Kind    topology.NodeKind `json:"kind"`
	Address string            `json:"address"` // of its gRPC server, "host:port"
	PID     int               `json:"pid"`     // on its own machine
}

// rackSubject names a subject of a rack, beside those of runs:
// rackfab.rack.<rack>.<verb>.
func rackSubject(rack, verb string) string { return "rackfab.rack." + rack + "." + verb }

// Announce says hello to the rack, now and whenever a controller asks, until
// stop is called. A rack or name that no subject can carry is an error.
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
	say := func() error { return conn.Publish(rackSubject(rack, "hello"), text) }
	// An answer that is lost is asked for again.
	stop, err = conn.Subscribe(rackSubject(rack, "who"), func(string, []byte) { _ = say() })
	if err != nil {
		return nil, err
	}
	if err := conn.Flush(); err != nil {
		stop()
		return nil, err
	}
	if err := say(); err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}
