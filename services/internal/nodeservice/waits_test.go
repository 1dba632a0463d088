package nodeservice

import (
	"testing"

	"github.com/rackfab/rackfab/bus"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// cut is a connection to a bus that is lost.
type cut struct{ bus.Conn }

func (cut) Lost() bool { return true }

// The progress of a process that does not advance names the peer that it waits for, and
// says whether the bus is lost.
func TestProgressNamesThePeerWaitedFor(t *testing.T) {
	for _, conn := range []bus.Conn{bus.NewMemory().Dial(), cut{bus.NewMemory().Dial()}} {
		_, lost := conn.(cut)
		stream := start(t, "h0", topology.NIC, conn).open(t, live("h0"), goAhead(), granted(50*unit.Microsecond))
		for {
			p := recv(t, stream).GetProgress()
			if p.GetWaitsFor() == "s0" && p.GetWaitsMs() > 0 && p.GetBusLost() == lost {
				break
			}
		}
	}
}
