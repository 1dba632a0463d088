package notify

import (
	"testing"

	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// The load of a data packet comes back in the order of its path. An ACK with mirrored ports
// cannot carry it. A record that is reused has no hops of its earlier use.
func TestLoadIsEchoed(t *testing.T) {
	data := frame.Packet{BTH: frame.BTH{Opcode: frame.WriteMiddle}, Payload: 1000}
	var f frame.Frame
	data.Build(&f)
	f.Carry(frame.CarrierLoad, 5)
	for hop := range unit.Rate(3) {
		f.PushLoad(frame.Load{At: 7 * us, Sent: 900, Depth: 1536, Rate: (hop + 1) * gbps}, 1518)
	}
	var e Echo
	var echoes Records[Echo]
	e.Take(&f)
	used := echoes.Copy(&e)
	ack := frame.Packet{BTH: frame.BTH{Opcode: frame.Acknowledge}}
	ack.Build(&f)
	used.Fill(&f)
	var loads cc.Loads
	if ReadLoads(&f, &loads); loads.Count != 3 || loads.Hops[0].Rate != gbps || loads.Hops[2] != (cc.HopLoad{At: 7000, Sent: 900, Queue: 1536, Rate: 3 * gbps}) {
		t.Errorf("%+v", loads)
	}
	echoes.Put(used)
	if again := echoes.Copy(&Echo{}); again != used || again.count != 0 {
		t.Errorf("the reused record has %d hops", again.count)
	}
	ack.Mirrored = true
	ack.Build(&f)
	if e.Fill(&f); f.Carrier() != frame.CarrierNone {
		t.Error("a mirrored ACK carries telemetry")
	}
}
