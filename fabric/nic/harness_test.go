package nic

import (
	"slices"
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/qp"
	"github.com/rackfab/rackfab/fabric/unit"
)

const (
	us         = unit.Microsecond
	gbps       = unit.GigabitPerSec
	testRate   = 40 * gbps
	dataDSCP   = 26
	ctrlDSCP   = 48
	dataPrio   = 3
	ctrlPrio   = 6
	dataHeader = 62 // Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4
	testDelay  = 5 * us
)

// config returns a NIC configuration for tests, edited by change.
func config(host int, flows []FlowConfig, change ...func(*Config)) Config {
	c := Config{
		Name: "h", Delay: testDelay, ControlQueue: 1024,
		Settings: qp.Settings{
			Host: host, Rate: testRate, Payload: 1000, AckEvery: 1, ControlDSCP: ctrlDSCP,
			Notification: cc.NotifyNone, Scheme: "pfc", CC: cc.Default(),
		},
	}
	c.DSCP[dataDSCP], c.DSCP[ctrlDSCP] = dataPrio, ctrlPrio
	for _, f := range flows {
		if f.From == host || f.To == host {
			c.Flows = append(c.Flows, f)
		}
	}
	for _, edit := range change {
		edit(&c)
	}
	return c
}

func mustNew(t testing.TB, c Config) *NIC {
	t.Helper()
	n, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// flow returns a flow from host 0 to host 1.
func flow(id fabric.FlowID, size unit.Bytes) FlowConfig {
	return FlowConfig{ID: id, From: 0, To: 1, Size: size, Source: 49152, DSCP: dataDSCP}
}

// sentFrame is a frame sent by a host, with the start of its transmission.
type sentFrame struct {
	from  int
	start unit.Time
	frame.Frame
}

// fabricBench connects NICs by a network that only delays frames: host i is nics[i].
type fabricBench struct {
	t     testing.TB
	nics  []*NIC
	inbox [][]frame.Frame
	now   unit.Time
	sent  []sentFrame
	notes [][]fabric.Note
	// tap is called with each frame before delivery. It may change the frame, and drops
	// it by returning false.
	tap func(from int, f *frame.Frame) bool
}

func newBench(t testing.TB, hosts int, flows []FlowConfig, change ...func(*Config)) *fabricBench {
	t.Helper()
	b := &fabricBench{t: t, inbox: make([][]frame.Frame, hosts), notes: make([][]fabric.Note, hosts)}
	for host := range hosts {
		b.nics = append(b.nics, mustNew(t, config(host, flows, change...)))
	}
	return b
}

// inject delivers a frame to a host at a future instant.
func (b *fabricBench) inject(host int, at unit.Time, f frame.Frame) {
	f.Arrival = at
	box := b.inbox[host]
	i, _ := slices.BinarySearchFunc(box, at+1, func(f frame.Frame, at unit.Time) int { return int(f.Arrival - at) })
	b.inbox[host] = slices.Insert(box, i, f)
}

// run handles all events up to and including the instant until.
func (b *fabricBench) run(until unit.Time) {
	b.t.Helper()
	for range 50_000_000 {
		host, at, arrival := b.next()
		if at > until {
			b.now = until
			return
		}
		b.now = at
		var out fabric.Out
		if arrival {
			f := b.inbox[host][0]
			b.inbox[host] = b.inbox[host][1:]
			b.nics[host].Arrive(at, 0, &f, &out)
		} else {
			b.nics[host].Tick(at, &out)
		}
		b.take(host, &out)
	}
	b.t.Fatal("the bench does not end")
}

func (b *fabricBench) next() (host int, at unit.Time, arrival bool) {
	at = unit.Never
	for h, n := range b.nics {
		if box := b.inbox[h]; len(box) > 0 && (box[0].Arrival < at || box[0].Arrival == at && !arrival) {
			host, at, arrival = h, box[0].Arrival, true
		}
		if own, ok := n.Next(); ok && own < at {
			if own < b.now {
				b.t.Fatalf("host %d wants a tick at %v, now is %v", h, own, b.now)
			}
			host, at, arrival = h, own, false
		}
	}
	return host, at, arrival
}

func (b *fabricBench) take(host int, out *fabric.Out) {
	b.notes[host] = append(b.notes[host], out.Notes...)
	for _, s := range out.Sends {
		b.sent = append(b.sent, sentFrame{host, b.now, *s.Frame})
		to := s.Frame.DstIP().Host()
		if s.Frame.Class() == frame.ClassPFC {
			to = 1 - host // link partners, in a bench of two
		}
		if (b.tap == nil || b.tap(host, s.Frame)) && to < len(b.inbox) {
			b.inject(to, s.Frame.Arrival, *s.Frame)
		}
	}
}

// from returns the frames of the host that satisfy keep.
func (b *fabricBench) from(host int, keep func(*frame.Frame) bool) []sentFrame {
	var kept []sentFrame
	for i := range b.sent {
		if b.sent[i].from == host && keep(&b.sent[i].Frame) {
			kept = append(kept, b.sent[i])
		}
	}
	return kept
}

func isData(f *frame.Frame) bool { return f.Opcode().IsData() }
func isACK(f *frame.Frame) bool {
	return f.Opcode() == frame.Acknowledge && f.Syndrome() == frame.SyndromeACK
}

func isNAK(f *frame.Frame) bool {
	return f.Opcode() == frame.Acknowledge && f.Syndrome() == frame.SyndromeNAKSequence
}
func isCNP(f *frame.Frame) bool { return f.Opcode() == frame.OpcodeCNP }

// noted returns the host's notes of a kind.
func (b *fabricBench) noted(host int, kind fabric.Kind) []fabric.Note {
	var kept []fabric.Note
	for _, n := range b.notes[host] {
		if n.Kind == kind {
			kept = append(kept, n)
		}
	}
	return kept
}

// psns returns the PSNs of frames.
func psns(frames []sentFrame) []uint32 {
	list := make([]uint32, len(frames))
	for i := range frames {
		list[i] = frames[i].PSN()
	}
	return list
}

// pfc returns a PFC frame for one class.
func pfc(class fabric.Priority, quanta uint16) frame.Frame {
	var f frame.Frame
	p := frame.PFC{Source: frame.SwitchMAC(0), Enable: 1 << class}
	p.Quanta[class] = quanta
	p.Build(&f)
	return f
}

// dataFrame returns a data packet of flow 0 from host 0 to host 1.
func dataFrame(op frame.Opcode, psn uint32, length uint32, payload uint32) frame.Frame {
	var f frame.Frame
	p := frame.Packet{
		SrcMAC: frame.HostMAC(0), DstMAC: frame.HostMAC(1), Src: frame.HostIP(0), Dst: frame.HostIP(1),
		TTL: 64, DSCP: dataDSCP, ECN: frame.ECT0, Payload: payload,
		BTH:  frame.BTH{Opcode: op, PKey: frame.DefaultPKey, DestQP: frame.ReceiverQP(0), PSN: psn},
		RETH: frame.RETH{Length: length},
	}
	p.Build(&f)
	return f
}
