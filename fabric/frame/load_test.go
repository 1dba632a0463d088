package frame

import (
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
)

// loaded returns a data packet that collects load.
func loaded(hops uint8) *Frame {
	var f Frame
	p := Packet{BTH: BTH{Opcode: WriteOnly, DestQP: 7, PSN: 9}, RETH: RETH{Length: 1000}, Payload: 1000}
	p.Build(&f)
	f.Carry(CarrierLoad, hops)
	return &f
}

var firstLoad, secondLoad = Load{At: 5000 * unit.Nanosecond, Sent: 123_457, Depth: 256_000, Rate: 40 * unit.GigabitPerSec},
	Load{At: 9000 * unit.Nanosecond, Sent: 1 << 31, Depth: 0, Rate: 100 * unit.GigabitPerSec}

// Shim and header have 16 bytes, each hop 12. A frame received over the bus equals the one
// that was sent.
func TestLoadIsCollected(t *testing.T) {
	f := loaded(2)
	before := f.Len()
	if f.Carrier() != CarrierLoad || f.Hops() != 0 || f.PushLoad(firstLoad, 1518) != Pushed || f.PushLoad(secondLoad, 1518) != Pushed {
		t.Fatalf("carrier %d, %d hops", f.Carrier(), f.Hops())
	}
	if f.PushLoad(firstLoad, 1518) != PushExceeded || f.Len() != before+24 || f.Hops() != 2 {
		t.Errorf("%d hops, %s more", f.Hops(), f.Len()-before)
	}
	if f.Load(0) != secondLoad || f.Load(1) != firstLoad || f.Class() != ClassRoCE || f.PSN() != 9 {
		t.Errorf("%+v, %+v", f.Load(0), f.Load(1))
	}
	var again Frame
	if again.SetHeader(f.Header()); again.Carrier() != CarrierLoad || again.Hops() != 2 || again.Load(1) != firstLoad {
		t.Errorf("received over the bus: carrier %d, %d hops", again.Carrier(), again.Hops())
	}
	f.StripTelemetry()
	if want := loaded(0); f.Len() != want.Len()-16 || f.Carrier() != CarrierNone {
		t.Errorf("%s after the telemetry is removed", f.Len())
	}
}

func TestLoadRespectsTheMTU(t *testing.T) {
	f := loaded(5)
	if f.PushLoad(firstLoad, f.Len()+11) != PushTooLong || f.PushLoad(firstLoad, f.Len()+12) != Pushed {
		t.Error("the MTU is not the limit")
	}
}

// Values beyond their fields are the largest of the field; rates are rounded to 100 Mbit/s.
func TestLoadFields(t *testing.T) {
	f := loaded(1)
	f.PushLoad(Load{At: unit.Second * 5, Sent: 1<<32 + 8, Depth: 1 << 40, Rate: 2_560 * unit.MegabitPerSec}, 9000)
	want := Load{At: 5*unit.Second - (1<<32)*unit.Nanosecond, Sent: 8, Depth: (1<<16 - 1) * 256, Rate: 2600 * unit.MegabitPerSec}
	if got := f.Load(0); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// An ACK echoes the hops in their order; switches cannot add one.
func TestEchoOfLoads(t *testing.T) {
	var f Frame
	p := Packet{BTH: BTH{Opcode: Acknowledge, PSN: 3}}
	p.Build(&f)
	f.Echo([]Load{secondLoad, firstLoad})
	if f.Carrier() != CarrierEcho || f.Hops() != 2 || f.Load(0) != secondLoad || f.Load(1) != firstLoad || f.PSN() != 3 || f.Class() != ClassRoCE {
		t.Errorf("carrier %d, %d hops, PSN %d", f.Carrier(), f.Hops(), f.PSN())
	}
	if f.PushHop(&Hop{}, 1518) != PushNone {
		t.Error("a switch has added a hop")
	}
	var again Frame
	if again.SetHeader(f.Header()); again.Carrier() != CarrierEcho || again.Load(1) != firstLoad {
		t.Errorf("received over the bus: carrier %d", again.Carrier())
	}
}
