package lab_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/switching"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// randomRack draws a scenario: a star, or a dumbbell whose sides are switches
// s0 and s1; some flows and a burst, all of them finite; any scheme.
func randomRack(t *rapid.T) *topology.Scenario { return rackUnder(t, cc.Names()) }

// untrimmedRack is a random rack under a scheme whose switches do not trim.
func untrimmedRack(t *rapid.T) *topology.Scenario {
	var schemes []string
	for _, s := range cc.Schemes {
		if !s.Trim {
			schemes = append(schemes, s.Name)
		}
	}
	return rackUnder(t, schemes)
}

func rackUnder(t *rapid.T, schemes []string) *topology.Scenario {
	pick := func(label string, values ...string) string { return rapid.SampledFrom(values).Draw(t, label) }
	number := func(label string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, label) }
	senders, receivers := number("senders", 1, 5), number("receivers", 1, 2)
	var b strings.Builder
	fmt.Fprintf(&b, "name: random\nseed: %d\nduration: 20ms\nbin: 20ms\nscheme: %s\n", number("seed", 0, 9), pick("scheme", schemes...))
	fmt.Fprintf(&b, "defaults:\n  switch: {xoff: %s, arbitration: %s, alpha_shift: %d}\n  link: {rate: %s, delay: %s, overhead: %s}\n",
		pick("xoff", "0", "4KB", "8KB", "20KB"), pick("arbitration", "fifo", "ingress"), number("alpha", 3, 11),
		pick("rate", "40Gbps", "100Gbps"), pick("delay", "500ns", "3us"), pick("overhead", "0", "20B"))
	fmt.Fprintf(&b, "nics: {h0..h%d: {payload: %s, ack_every: %d}, r0..r%d: }\n", senders-1, pick("payload", "1000B", "256B"), number("ack", 1, 3), receivers-1)
	if rapid.Bool().Draw(t, "dumbbell") {
		fmt.Fprintf(&b, "switches: {s0..s1: }\nlinks:\n  - endpoints: [h0..h%d, s0]\n  - {endpoints: [s0, s1], rate: %s}\n  - endpoints: [r0..r%d, s1]\n",
			senders-1, pick("trunk", "40Gbps", "25Gbps"), receivers-1)
	} else {
		fmt.Fprintf(&b, "switches: {s0: }\nlinks:\n  - endpoints: [\"h0..h%d, r0..r%d\", s0]\n", senders-1, receivers-1)
	}
	b.WriteString("flows:\n")
	for i := range number("flows", 1, 3) {
		// Whole words: no packet is padded, and payload on the wire is payload.
		fmt.Fprintf(&b, "  - {name: F%d, from: h%d, to: r%d, size: %dB, start: %dns}\n", i, number("from", 0, senders-1), number("to", 0, receivers-1),
			4*number("words", 1, 10_000), number("start", 0, 20_000))
	}
	fmt.Fprintf(&b, "bursts:\n  - {name: burst, from: h0..h%d, to: r0, flows_per_sender: %d, size: %dB, at: %dns}\n",
		senders-1, number("mice", 1, 3), 4*number("mouse", 1, 6000), number("at", 0, 20_000))
	s, err := scenariofile.Parse("random.yaml", []byte(b.String()))
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, b.String())
	}
	return s
}

// ledger counts what has happened in a slow lab, from the frames and the notes.
type ledger struct {
	*slowLab
	inside []tally // of each switch: what has come in and not left
	sent   int64   // payload bytes that NICs have put on the wire
	flying int64   // payload bytes on links
	got    int64   // payload bytes that have come in at NICs
	posted int64   // payload bytes by the senders' notes
	taken  int64   // payload bytes by the receivers' notes
}

// tally counts frames other than PFC, which end at the next node.
type tally struct {
	frames  int
	bytes   unit.Bytes
	payload int64
}

func (c *tally) add(f *frame.Frame, sign int) {
	if f.Class() != frame.ClassPFC {
		c.frames += sign
		c.bytes += unit.Bytes(sign) * f.Len()
		c.payload += int64(sign) * int64(f.Payload)
	}
}

func (l *ledger) count(e event, arrived *frame.Frame) error {
	nic := l.s.Nodes[e.node].Kind == topology.NIC
	here := &l.inside[e.node]
	if arrived != nil {
		l.flying -= int64(arrived.Payload)
		here.add(arrived, 1)
		if nic {
			l.got += int64(arrived.Payload)
		}
	}
	for i := range l.out.Sends {
		f := l.out.Sends[i].Frame
		l.flying += int64(f.Payload)
		here.add(f, -1)
		if nic {
			l.sent += int64(f.Payload)
		}
	}
	for i := range l.out.Notes {
		switch n := &l.out.Notes[i]; n.Kind {
		case fabric.Transmitted:
			l.posted += int64(n.Bytes())
		case fabric.Delivered:
			l.taken += int64(n.Bytes())
		case fabric.Dropped, fabric.Retransmitted, fabric.OutOfSequence, fabric.TimedOut, fabric.Malformed:
			return fmt.Errorf("%s in a lossless rack: %+v", n.Kind, *n)
		default:
		}
	}
	if nic {
		return nil
	}
	return l.check(e.node)
}

// check compares the queues that a switch reports with the expected ones.
func (l *ledger) check(node int) error {
	stats := l.machines[node].(*switching.Switch).Stats()
	var queued tally
	var accounted unit.Bytes
	inside := l.inside[node]
	for _, p := range stats.Ports {
		for _, c := range p.Classes {
			queued.frames += int(c.QueueFrames)
			queued.bytes += c.QueueBytes
			accounted += c.OccupancyBytes
			inside.frames += int(c.OriginatedFrames)
			inside.bytes += c.OriginatedBytes + c.TelemetryBytes
		}
	}
	switch {
	case queued.frames != inside.frames || queued.bytes != inside.bytes:
		return fmt.Errorf("it queues %d frames of %d bytes; %d of %d have come in, or were added, and not left", queued.frames, queued.bytes, inside.frames, inside.bytes)
	case accounted != queued.bytes:
		return fmt.Errorf("its ingress accounts add up to %d bytes, its queues to %d", accounted, queued.bytes)
	case stats.SharedUsed < 0 || stats.SharedUsed > min(accounted, stats.SharedSize):
		return fmt.Errorf("%d bytes of its pool of %d are in use, its accounts add up to %d", stats.SharedUsed, stats.SharedSize, accounted)
	case queued.frames == 0 && (inside.payload != 0 || stats.SharedUsed != 0):
		return fmt.Errorf("it is empty, and holds %d bytes of payload and %d of the pool", inside.payload, stats.SharedUsed)
	}
	return nil
}

func (l *ledger) balance() error {
	within := int64(0)
	for i, n := range l.s.Nodes {
		if n.Kind == topology.Switch {
			within += l.inside[i].payload
		}
	}
	if l.sent != l.posted || l.got != l.taken || l.sent != l.taken+l.flying+within {
		return fmt.Errorf("%d bytes sent (%d by the notes), %d delivered (%d came in), %d on links, %d in switches", l.sent, l.posted, l.taken, l.got, l.flying, within)
	}
	return nil
}

// empty checks that all state of the run is released at its end.
func (l *ledger) empty() error {
	total := int64(0)
	for _, f := range l.s.Flows {
		total += int64(f.Size)
	}
	if l.done != len(l.s.Flows) || l.taken != total || l.flying != 0 {
		return fmt.Errorf("%d of %d flows done, %d of %d bytes delivered, %d on links", l.done, len(l.s.Flows), l.taken, total, l.flying)
	}
	for i, n := range l.s.Nodes {
		if n.Kind != topology.Switch {
			continue
		}
		stats := l.machines[i].(*switching.Switch).Stats()
		if stats.SharedUsed != 0 {
			return fmt.Errorf("%s: %d bytes of the pool are in use", n.Name, stats.SharedUsed)
		}
		for port, p := range stats.Ports {
			for class, c := range p.Classes {
				if c.QueueFrames != 0 || c.QueueBytes != 0 || c.OccupancyBytes != 0 || c.HeadroomBytes != 0 || c.PeerIsPaused || c.Paused || c.DroppedFrames != 0 {
					return fmt.Errorf("%s port %d class %d: %+v", n.Name, port, class, c)
				}
			}
		}
	}
	return nil
}

// At every instant of a random scenario each byte sent is delivered, on a link or in a
// switch. A switch queues exactly what it received and has not sent. A lossless class
// loses nothing. At the end every gauge of buffered data is 0 again. The lab records
// the same notes as the slow one. TestBytesAreConservedWithTrimming has the schemes that trim.
func TestFramesAreConserved(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := untrimmedRack(rt)
		l := &ledger{slowLab: newSlowLab(t, s), inside: make([]tally, len(s.Nodes))}
		for l.next(rt, l, s.Duration) {
		}
		if err := l.empty(); err != nil {
			rt.Fatalf("under %s, at the end: %v", s.Scheme, err)
		}
		l.sameNotes(rt, s.Duration)
	})
}
