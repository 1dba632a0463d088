package cc

import "github.com/rackfab/rackfab/fabric/unit"

// MaxLoads is the maximum number of switches on a path whose load an ACK echoes.
const MaxLoads = 5

// HopLoad is what a switch measured when it began to send a packet. The counters wrap around.
type HopLoad struct {
	At    uint32     // ns
	Sent  uint32     // bytes that the port had sent on its link, without the packet
	Queue unit.Bytes // in the port without the packet
	Rate  unit.Rate  // of the port
}

// Loads is the load of a path, in the order of its switches.
type Loads struct {
	Count int
	Hops  [MaxLoads]HopLoad
}
