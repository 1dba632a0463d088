package switching

import (
	"testing"

	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// carrying returns a data frame that asks for telemetry of the given number of hops.
func carrying(c frame.Carrier, hops uint8, psn uint32) *frame.Frame {
	f := packet(0, 1, lossless, frame.ECT0, psn, size)
	f.Carry(c, hops)
	return f
}

// CETH-50, CETH-51: a switch writes its number, the ports, the bytes left in the
// queue, and when the packet was in, at the start of the transmission.
// CETH-1: the switches of the path watch the traffic.
func TestTelemetryHop(t *testing.T) {
	for _, c := range []frame.Carrier{frame.CarrierINT, frame.CarrierIOAM} {
		cfg := rackConfig(3)
		cfg.Number = 7
		r := newRig(t, cfg)
		for i := range uint32(3) { // all three come in at once, from two ports
			f := carrying(c, 4, i)
			f.Arrival = 10 * us
			r.arrive(10*us, 1, f)
		}
		r.run(20 * us)
		sent := r.sent(0)
		if len(sent) != 3 {
			t.Fatalf("%d frames left", len(sent))
		}
		length := carrying(c, 4, 0).Len()
		for i := range sent {
			want := frame.Hop{Node: 7, In: 1, Out: 0, Depth: uint32(length) * uint32(2-i), Entered: 10 * us}
			if i == 0 {
				want.Depth = 0 // nothing was behind the first when it left
			}
			if got := sent[i].Hop(0); got != want || sent[i].Hops() != 1 {
				t.Errorf("carrier %d, frame %d: %+v, want %+v", c, i, got, want)
			}
		}
		// The added bytes take time on the link.
		gap := cfg.Ports[0].Rate.Serialise(length + 20)
		if got := sent[1].Arrival - sent[0].Arrival; got != gap {
			t.Errorf("carrier %d: frames are %v apart, want %v", c, got, gap)
		}
		stats := r.Stats().Ports[0].Classes[lossless]
		if stats.TelemetryBytes != 60 || stats.SentBytes != 3*length || stats.TelemetrySkipped != 0 {
			t.Errorf("carrier %d: %+v", c, stats)
		}
	}
}

// If no hop is left, or the MTU is too small, the switch forwards the frame unchanged,
// flagged and counted.
func TestTelemetryIsSkipped(t *testing.T) {
	length := carrying(frame.CarrierINT, 1, 0).Len()
	for name, c := range map[string]struct {
		hops    uint8
		mtu     unit.Bytes
		flags   byte
		skipped uint64
	}{
		"no hop left": {0, 1500, 0x04, 1},
		"too narrow":  {4, length + 19, 0x02, 1},
		"just fits":   {4, length + 20, 0, 0},
	} {
		cfg := rackConfig(2)
		cfg.Ports[0].MTU = c.mtu
		r := newRig(t, cfg)
		r.arrive(us, 1, carrying(frame.CarrierINT, c.hops, 0))
		got := r.sent(0)[0]
		if flags := got.Header()[46] & 0x0f; flags != c.flags || got.Len() > c.mtu || got.Hops() != int(1-c.skipped) {
			t.Errorf("%s: flags %x, %d bytes, %d hops", name, flags, got.Len(), got.Hops())
		}
		if n := r.Stats().Ports[0].Classes[lossless].TelemetrySkipped; n != c.skipped {
			t.Errorf("%s: %d skipped", name, n)
		}
	}
}

// A frame without telemetry is unchanged.
func TestNoTelemetryByDefault(t *testing.T) {
	r := newRig(t, rackConfig(2))
	f := data(0, 1, lossless)
	r.arrive(us, 1, f)
	got := r.sent(0)[0]
	got.Arrival = f.Arrival
	if got != *f {
		t.Error("the frame was changed")
	}
}
