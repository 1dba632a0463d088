package notify

import (
	"testing"

	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// RFC 8257 §3.2: the state is the mark of the latest packet. A packet that changes it forces
// an ACK of the earlier packets, with their state, and an ACK of its own.
func TestEchoReportsTheLatestMark(t *testing.T) {
	params := cc.Default()
	e := New(cc.NotifyEcho, &params, nil).(Carried)
	for i, c := range []struct{ marked, changes bool }{{false, false}, {true, true}, {true, false}, {false, true}} {
		if e.Changes(c.marked) != c.changes {
			t.Errorf("packet %d changes the state: %v, want %v", i, !c.changes, c.changes)
		}
		if e.Packet(0, 1000, c.marked, cc.Congestion{}) || e.Next() != unit.Never {
			t.Errorf("packet %d needs a CNP", i)
		}
		r := e.Report(0)
		ack := frame.Packet{BTH: frame.BTH{Opcode: frame.Acknowledge, BECN: !c.marked}}
		if e.Fill(r, &ack); ack.BTH.BECN != c.marked {
			t.Errorf("packet %d: BECN %v, want %v", i, ack.BTH.BECN, c.marked)
		}
		if _, noted := e.Sent(0, r); noted {
			t.Errorf("packet %d: the ACK is noted as an indication", i)
		}
	}
}
