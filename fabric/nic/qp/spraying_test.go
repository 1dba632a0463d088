package qp

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/control"
	"github.com/rackfab/rackfab/fabric/unit"
)

// sprayer returns a flow of the given size that sprays, under the settings as changed.
func sprayer(t rapid.TB, size unit.Bytes, change ...func(*Settings)) *Flow {
	t.Helper()
	s := &Settings{Rate: 40 * unit.GigabitPerSec, Payload: 1000, AckEvery: 1, Scheme: "pfc", CC: cc.Default(), RTT: cc.RTTEcho}
	for _, edit := range change {
		edit(s)
	}
	d := &Device{}
	d.init(s, &EventCounters{}, control.Config{Limit: 8, DSCP: &s.DSCP}, false)
	d.Arbiter.Grow(1)
	r := &Flow{}
	if err := r.Init(d, fabric.Flow{From: 0, To: 1, Size: size, Recovery: fabric.Spraying}, 0); err != nil {
		t.Fatal(err)
	}
	r.Begin(0, &fabric.Out{})
	return r
}

// told passes an ACK or NAK with a receipt to the requester.
func (r *Flow) told(now unit.Time, psn int, syndrome uint8, base int, set uint64, receipt frame.Receipt) {
	p := frame.Packet{
		Src: frame.HostIP(1), Dst: frame.HostIP(0), SACK: frame.SACK{Base: uint32(base), Bitmap: set},
		BTH: frame.BTH{Opcode: frame.Acknowledge, PSN: uint32(psn), DestQP: frame.SenderQP(0)}, AETH: frame.AETH{Syndrome: syndrome},
		Receipted: true, Receipt: receipt,
	}
	var f frame.Frame
	p.Build(&f)
	r.Receive(now, &f, &fabric.Out{})
}

// packets is the reference for spraying: a list of all packets of a flow.
type packets struct {
	list        []sprayedPacket
	acked, next int
	inFlight    unit.Bytes
	received    uint32
	expired     int
	widened     unit.Time
}

type sprayedPacket struct {
	bytes        unit.Bytes
	placed, lost bool
	sent, due    unit.Time
}

func (m *packets) reported() (sum unit.Bytes) {
	for i, p := range m.list {
		if i < m.acked || p.placed {
			sum += p.bytes
		}
	}
	return sum
}

// lost returns the payload of the lost packets.
func (m *packets) lost() (sum unit.Bytes) {
	for _, p := range m.list[m.acked:m.next] {
		if p.lost {
			sum += p.bytes
		}
	}
	return sum
}

// upcoming returns the packet to send next, -1 if there is none.
func (m *packets) upcoming(window int) (n int, again bool) {
	for n := m.acked; n < m.next; n++ {
		if m.list[n].lost {
			return n, true
		}
	}
	if m.next == len(m.list) || m.next-m.acked >= window {
		return -1, false
	}
	return m.next, false
}

func (m *packets) send(now, rto unit.Time, n int) {
	p := &m.list[n]
	p.lost, p.sent, p.due = false, now, now+rto<<min(m.expired, 6)
	m.inFlight += p.bytes
	m.next = max(m.next, n+1)
}

func (m *packets) report(upTo, base int, set uint64, received uint32) {
	before, lost := m.reported(), m.lost()
	if upTo > m.acked && upTo <= m.next {
		m.acked = upTo
	}
	for i := range 64 {
		if n := base + i; set>>(63-i)&1 != 0 && n >= m.acked && n < m.next {
			m.list[n].placed, m.list[n].lost = true, false
		}
	}
	if m.reported() > before {
		m.expired = 0
	}
	found := lost - m.lost() // in flight again, and counted
	m.inFlight -= unit.Bytes(max(received, m.received)-m.received)*256 - found
	m.received = max(m.received, received)
}

func (m *packets) lose(n int) {
	if p := &m.list[n]; n >= m.acked && n < m.next && !p.placed && !p.lost {
		p.lost = true
		m.inFlight -= p.bytes
	}
}

// timeouts loses all packets that are due. Those sent before the timeout doubled last do not double it.
func (m *packets) timeouts(now unit.Time) {
	doubles := false
	for n := m.acked; n < m.next; n++ {
		if p := &m.list[n]; !p.placed && !p.lost && p.due <= now {
			m.lose(n)
			doubles = doubles || m.expired == 0 || p.sent >= m.widened
		}
	}
	if doubles {
		m.expired, m.widened = m.expired+1, now
	}
}

// due returns the end of the first timeout of a packet in flight.
func (m *packets) due() unit.Time {
	first := unit.Never
	for n := m.acked; n < m.next; n++ {
		if p := &m.list[n]; !p.placed && !p.lost {
			first = min(first, p.due)
		}
	}
	return first
}

// MRC-1, MRC-3, MRC-4: whatever is sent, acknowledged, reported placed or trimmed, and timed out, in any order,
// spraying does what a list of all packets does.
func TestSprayingMatchesAListOfPackets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const rto = 100 * unit.Microsecond
		size := unit.Bytes(rapid.Int64Range(1, 150_000).Draw(t, "size"))
		r, m := sprayer(t, size, func(s *Settings) { s.CC.MRC.RTO, s.CC.MRC.Window = rto, 128 }), &packets{}
		for left := size; left > 0; left -= min(left, r.Payload) {
			m.list = append(m.list, sprayedPacket{bytes: min(left, r.Payload)})
		}
		for now := unit.Time(1); !r.Done(); now += unit.Microsecond {
			if got, next := r.Window(); got != int64(m.acked) || next != int64(m.next) || r.AckedBytes != m.reported() || r.InFlight() != m.inFlight {
				t.Fatalf("%d acknowledged and %d next, %v in all, %v in flight; want %d and %d, %v, %v", got, next, r.AckedBytes, r.InFlight(), m.acked, m.next, m.reported(), m.inFlight)
			}
			n, again := m.upcoming(128)
			p := r.recovery.next()
			if (p != nil) != (n >= 0) || p != nil && (p.number != int64(n) || p.again != again || p.flight != m.list[n].bytes) {
				t.Fatalf("the next packet is %+v, want %d, sent again: %v", p, n, again)
			}
			near := rapid.IntRange(max(0, m.acked-2), m.next+2)
			psn, base, set := near.Draw(t, "PSN"), near.Draw(t, "base"), rapid.Uint64().Draw(t, "set")
			receipt := frame.Receipt{PSN: uint32(near.Draw(t, "packet")), Received: max(m.received, 2) + uint32(rapid.IntRange(-2, 8).Draw(t, "received"))}
			switch rapid.IntRange(0, 14).Draw(t, "event") {
			default:
				if p != nil {
					r.sendPSN(now)
					m.send(now, rto, n)
				}
			case 0, 1:
				r.told(now, psn, frame.SyndromeACK, base, set, receipt)
				m.report(psn+1, base, set, receipt.Received)
			case 2, 3:
				r.told(now, psn, frame.SyndromeNAKTrimmed, base, set, receipt)
				m.report(psn, base, set, receipt.Received)
				if n := int(receipt.PSN); n < len(m.list) {
					m.lose(n)
				}
			case 4:
				due := m.due()
				if r.deadline > due {
					t.Fatalf("the timer ends at %v, want %v or before", r.deadline, due)
				}
				if due == unit.Never {
					continue
				}
				now = max(now, due)
				r.Overdue(now, &fabric.Out{})
				m.timeouts(now)
			}
		}
		if m.acked != len(m.list) {
			t.Fatalf("done with %d of %d packets acknowledged", m.acked, len(m.list))
		}
	})
}

// MRC-3: a trimmed packet is sent again at once, before new ones, and says that it was sent before. A
// second NAK of the same transmission changes nothing.
func TestTrimmedPacketIsSentAgainAtOnce(t *testing.T) {
	r := sprayer(t, 1_000_000)
	for range 5 {
		r.sendPSN(0)
	}
	r.told(1, 0, frame.SyndromeNAKTrimmed, 0, 0, frame.Receipt{PSN: 3})
	r.told(1, 0, frame.SyndromeNAKTrimmed, 0, 0, frame.Receipt{PSN: 3})
	if r.InFlight() != 4000 {
		t.Errorf("%v in flight, want 4 packets", r.InFlight())
	}
	var f frame.Frame
	r.Send(2, &f, &fabric.Out{})
	if f.PSN() != 3 || !f.Resent() || !f.AckReq() || r.InFlight() != 5000 {
		t.Errorf("PSN %d, resent %v, %v in flight; want 3, resent", f.PSN(), f.Resent(), r.InFlight())
	}
	if r.Send(3, &f, &fabric.Out{}); f.PSN() != 5 || f.Resent() {
		t.Errorf("then PSN %d, resent %v, want a new packet", f.PSN(), f.Resent())
	}
}

// MRC-1: packets that are missing below one that has arrived are not lost, however many there are.
func TestGapIsNoLoss(t *testing.T) {
	r := sprayer(t, 1_000_000)
	for range 60 {
		r.sendPSN(0)
	}
	r.told(1, 1<<24-1, frame.SyndromeACK, 1, 1<<63-1, frame.Receipt{PSN: 58, OutOfOrder: 58})
	r.told(2, 0, frame.SyndromeNAKSequence, 0, 0, frame.Receipt{})
	if r.RetransmittedPackets != 0 || r.recovery.next().number != 60 {
		t.Errorf("packet %d is next", r.recovery.next().number)
	}
}

// MRC-4: the timeout is that of each packet. It doubles with every timeout in a row, up to 64 times, not with
// every packet of one loss, and progress ends that.
func TestTimeoutOfEachPacket(t *testing.T) {
	const us = unit.Microsecond
	r := sprayer(t, 1_000_000, func(s *Settings) { s.CC.MRC.RTO = 100 * us })
	s := r.spray
	for i := range unit.Time(3) {
		r.sendPSN(i * 40 * us)
	}
	for i, at := range []unit.Time{100, 140, 180} {
		if r.deadline != at*us {
			t.Fatalf("the timer ends at %v, want that of packet %d, %v us", r.deadline, i, at)
		}
		r.Overdue(at*us, &fabric.Out{})
		if !s.losses.has(int64(i)) || s.losses.has(int64(i+1)) || s.expired != 1 {
			t.Fatalf("packet %d lost: %v, packet %d: %v; doubled %d times", i, s.losses.has(int64(i)), i+1, s.losses.has(int64(i+1)), s.expired)
		}
	}
	at := 180 * us
	for i, want := range []unit.Time{200, 400, 800, 1600, 3200, 6400, 6400} {
		for r.recovery.next().again {
			r.sendPSN(at)
		}
		if r.deadline-at != want*us {
			t.Fatalf("timeout %d is %v, want %v us", i, r.deadline-at, want)
		}
		at = r.deadline
		r.Overdue(at, &fabric.Out{})
	}
	r.told(at, 0, frame.SyndromeACK, 0, 0, frame.Receipt{})
	if r.sendPSN(at); r.deadline != at+100*us {
		t.Errorf("after an ACK the timer ends at %v, want 100 us after %v", r.deadline, at)
	}
}

// A flow fails after the given number of timeouts in a row.
func TestSprayingFlowFailsWhenItsRetriesAreUsedUp(t *testing.T) {
	r := sprayer(t, 1_000_000, func(s *Settings) { s.CC.MRC.Retries = 2 })
	var out fabric.Out
	for i := range 3 {
		if r.Done() {
			t.Fatalf("fails after %d timeouts", i)
		}
		r.sendPSN(max(0, r.deadline-1))
		r.Overdue(r.deadline, &out)
	}
	if stops := out.Notes[len(out.Notes)-1]; !r.Done() || stops.Kind != fabric.FlowStopped {
		t.Errorf("done %v, %+v", r.Done(), stops)
	}
}
