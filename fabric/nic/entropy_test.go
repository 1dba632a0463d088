package nic

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// sprayed makes the flows of a configuration choose one of 64 entropies for each packet.
func sprayed(by cc.Entropy) func(*Config) {
	return func(c *Config) { c.Entropy, c.Entropies, c.CC.IRN.Cap = by, 64, unit.Megabyte }
}

// selectiveFlow returns a flow with selective repeat from host 0 to host 1.
func selectiveFlow(size unit.Bytes) FlowConfig {
	f := flow(0, size)
	f.Recovery = fabric.Selective
	return f
}

// ports returns the UDP source ports of the frames that a host sent, each once, sorted.
func (b *fabricBench) ports(host int, of func(*frame.Frame) bool) []uint16 {
	seen := map[uint16]bool{}
	for _, s := range b.from(host, of) {
		port := s.SrcPort()
		if s.Mirrored() {
			port = s.DstPort()
		}
		seen[port] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// EV-1: packets of a flow use all entropies, by the low bits of their UDP source port, and each ACK has
// the port of the packet that it answers. A flow without a choice uses one port for all.
func TestEntropyIsTheSourcePort(t *testing.T) {
	for _, by := range cc.Entropies {
		for _, mirror := range []bool{false, true} {
			b := newBench(t, 2, []FlowConfig{selectiveFlow(200_000)}, sprayed(by), func(c *Config) { c.MirrorPorts = mirror })
			answered := true
			b.tap = func(from int, f *frame.Frame) bool {
				if from == 1 {
					port := f.SrcPort()
					if mirror {
						port = f.DstPort()
					}
					data := b.from(0, func(d *frame.Frame) bool { return isData(d) && d.PSN() == f.PSN() })
					answered = answered && len(data) == 1 && data[0].SrcPort() == port
				}
				return true
			}
			b.run(unit.Millisecond)
			ports := b.ports(0, isData)
			least, most := 20, 64 // reps: 8 in the cache, and random ones before the first ACK
			if by == cc.EntropyFlow {
				least, most = 1, 1
			}
			if len(ports) < least || len(ports) > most || ports[0] < 49152 || ports[len(ports)-1] > 49152+63 {
				t.Errorf("%s: %d ports from %d to %d, want %d to %d within 64 of 49152", by, len(ports), ports[0], ports[len(ports)-1], least, most)
			}
			if acks := b.ports(1, isACK); !answered || !slices.Equal(acks, ports) {
				t.Errorf("%s, mirrored %t: ACKs on the ports %d, data on %d", by, mirror, acks, ports)
			}
			if s := b.nics[0].Stats(); !s.Senders[0].Completed || s.Senders[0].RetransmittedPackets != 0 {
				t.Errorf("%s: %+v", by, s.Senders[0])
			}
		}
	}
}

// Flows have different orders of entropies.
func TestEntropyDependsOnTheFlow(t *testing.T) {
	flows := []FlowConfig{selectiveFlow(8_000), selectiveFlow(8_000)}
	flows[1].ID = 1
	b := newBench(t, 2, flows, sprayed(cc.EntropyREPS))
	b.run(unit.Millisecond)
	var order [2][]uint16
	for _, s := range b.from(0, isData) {
		i := s.DestQP() & 1
		order[i] = append(order[i], s.SrcPort())
	}
	if slices.Equal(order[0], order[1]) {
		t.Errorf("both flows use the ports %d", order[0])
	}
}

// lostTo returns the number of packets that a flow of 2,000 loses if packets of every fourth entropy
// are lost, as if a path were dead.
func lostTo(t *testing.T, one FlowConfig, by cc.Entropy) (lost int) {
	t.Helper()
	b := newBench(t, 2, []FlowConfig{one}, sprayed(by), func(c *Config) {
		c.CC.IRN.Cap, c.CC.MRC.Window, c.CC.MRC.AckBytes = 50_000, 128, 1
	})
	b.tap = func(from int, f *frame.Frame) bool {
		if from == 0 && f.SrcPort()%4 == 3 {
			lost++
			return false
		}
		return true
	}
	b.run(unit.Second)
	if s := b.nics[0].Stats(); !s.Senders[0].Completed {
		t.Errorf("%s: %+v", by, s.Senders[0])
	}
	return lost
}

// EV-3: the bitmap skips the entropies of a dead path, the others reuse those that ACKs returned.
// The oblivious walk goes on losing every fourth packet. So it is with selective repeat as in IRN,
// and with that of MRC and an ACK per packet.
func TestSenderAvoidsADeadPath(t *testing.T) {
	for _, recovery := range []fabric.Recovery{fabric.Selective, fabric.Spraying} {
		one, spraying := selectiveFlow(2_000_000), recovery == fabric.Spraying
		one.Recovery = recovery
		oblivious := lostTo(t, one, cc.EntropyOblivious)
		if oblivious < 600 { // a quarter of 2,000 packets, and of those sent again
			t.Errorf("oblivious, spraying %t: %d packets lost, want at least 600", spraying, oblivious)
		}
		for _, by := range []cc.Entropy{cc.EntropyBitmap, cc.EntropyMixed, cc.EntropyREPS, cc.EntropyREPSLegacy} {
			if n := lostTo(t, one, by); n > oblivious/2 {
				t.Errorf("%s, spraying %t: %d packets lost, want less than half of the %d of oblivious", by, spraying, n, oblivious)
			}
		}
	}
}

// The counters say how often entropies were skipped, recycled and frozen; also after the flow.
func TestEntropyCounters(t *testing.T) {
	for by, want := range map[cc.Entropy][]string{
		cc.EntropyFlow: nil, cc.EntropyOblivious: {}, cc.EntropyBitmap: {"entropies_skipped"},
		cc.EntropyREPS: {"entropies_recycled", "entropy_freezes"}, cc.EntropyMixed: {"entropies_recycled", "entropies_skipped"},
	} {
		b := newBench(t, 2, []FlowConfig{selectiveFlow(500_000)}, sprayed(by))
		b.tap = func(from int, f *frame.Frame) bool { // everything is lost for a while, then one path
			return (b.now < 30*us || b.now > 400*us) && (from == 1 || f.SrcPort()%16 != 3)
		}
		b.run(unit.Second)
		got := map[string]uint64{}
		for name, value := range b.nics[0].Counters() {
			got[name] = value
		}
		for _, name := range []string{"entropies_skipped", "entropies_recycled", "entropy_freezes"} {
			value, ok := got[name]
			if ok != (want != nil) || (value > 0) != slices.Contains(want, name) {
				t.Errorf("%s: %s %d (listed: %t)", by, name, value, ok)
			}
		}
	}
}

// Settings with an unknown choice, or a number of entropies that is not a power of two, are
// invalid.
func TestEntropySettingsAreValidated(t *testing.T) {
	for _, c := range []struct {
		by    cc.Entropy
		n     int
		valid bool
	}{{cc.EntropyMixed, 64, true}, {cc.EntropyMixed, 65, false}, {cc.EntropyFlow, 0, true}, {"", 0, true}, {"best", 64, false}, {cc.EntropyScheme, 64, false}} {
		if _, err := New(config(0, nil, func(k *Config) { k.Entropy, k.Entropies = c.by, c.n })); (err == nil) != c.valid {
			t.Errorf("%q, %d: %v", c.by, c.n, err)
		}
	}
}

// EV-4: whatever is lost or delayed, a flow with an entropy per packet completes, with every form
// of loss recovery, and its payload is delivered once.
func TestSprayedFlowsDeliverEverythingOnce(tb *testing.T) {
	rapid.Check(tb, func(t *rapid.T) {
		one := selectiveFlow(unit.Bytes(rapid.Int64Range(1, 300_000).Draw(t, "size")))
		one.Recovery = rapid.SampledFrom([]fabric.Recovery{fabric.GoBackN, fabric.Selective, fabric.Spraying}).Draw(t, "recovery")
		by := rapid.SampledFrom(cc.Entropies).Draw(t, "entropy")
		bits := rapid.IntRange(1, 8).Draw(t, "bits")
		b := newBench(tb, 2, []FlowConfig{one}, func(c *Config) {
			c.Entropy, c.Entropies, c.Timeout = by, 1<<bits, unit.Millisecond
		})
		dead, loss := rapid.IntRange(1, 9).Draw(t, "dead"), rapid.IntRange(0, 20).Draw(t, "loss")
		state := rapid.Uint64().Draw(t, "seed")
		b.tap = func(_ int, f *frame.Frame) bool {
			state = state*6364136223846793005 + 1442695040888963407
			f.Arrival += unit.Time(f.SrcPort()%8) * us // paths of different lengths
			// A quarter of the time, every dead-th path is dead.
			return int(state>>33%100) >= loss && (b.now/unit.Millisecond%4 != 0 || int(f.SrcPort())%dead != 0 || dead == 1)
		}
		b.run(10 * unit.Second)
		s, r := b.nics[0].Stats().Senders[0], b.nics[1].Stats().Receivers[0]
		if !s.Completed || s.AckedBytes != one.Size || r.DeliveredBytes != one.Size {
			t.Fatalf("%+v, %+v", s, r)
		}
	})
}
