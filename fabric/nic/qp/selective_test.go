package qp

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// repeating is the reference for selective: a list of all packets of a flow.
type repeating struct {
	packets              []listed
	acked, next          int
	recovering           bool
	target, again, bound int
}

// listed is a packet of the reference.
type listed struct {
	bytes  unit.Bytes
	placed bool
}

// reported returns the payload that is acknowledged one way or the other.
func (m *repeating) reported() (sum unit.Bytes) {
	for i, p := range m.packets {
		if i < m.acked || p.placed {
			sum += p.bytes
		}
	}
	return sum
}

// placedEnd returns the end of the placed packets, or acked.
func (m *repeating) placedEnd() int {
	for i := len(m.packets); i > m.acked; i-- {
		if m.packets[i-1].placed {
			return i
		}
	}
	return m.acked
}

func (m *repeating) acknowledge(upTo int) {
	if upTo <= m.acked || upTo > m.next {
		return
	}
	m.acked = upTo
	m.recovering = m.recovering && upTo < m.target
	switch {
	case m.recovering:
		m.bound = max(m.bound, upTo+1)
	case upTo < m.bound:
		m.recovering, m.target = true, m.next
	}
}

func (m *repeating) selected(base int, set uint64) {
	for i := range 64 {
		if n := base + i; set>>(63-i)&1 != 0 && n >= m.acked && n < m.next {
			m.packets[n].placed = true
		}
	}
}

func (m *repeating) recover() {
	m.recovering, m.target, m.again, m.bound = true, m.next, m.acked, max(m.acked+1, m.placedEnd())
}

func (m *repeating) nak(number int) {
	if number != m.acked || number == m.next {
		return
	}
	if !m.recovering {
		m.recover()
	}
	m.bound = max(m.bound, m.placedEnd())
}

// upcoming returns the packet to send next, and whether it is sent again; -1 if there is none.
func (m *repeating) upcoming(window int) (n int, again bool) {
	for n := max(m.again, m.acked); m.recovering && n < m.bound; n++ {
		if !m.packets[n].placed {
			return n, true
		}
	}
	if m.next == len(m.packets) || m.next-m.acked >= window {
		return -1, false
	}
	return m.next, false
}

// sent counts the upcoming packet as sent.
func (m *repeating) sent(n int, again bool) {
	if again {
		m.again = n + 1
		return
	}
	m.next++
}

// repeater returns a flow of the given size with selective repeat, whose window is in packets.
func repeater(t rapid.TB, size unit.Bytes, window int) *Flow {
	return flowWith(t, fabric.Flow{From: 0, To: 1, Size: size, Recovery: fabric.Selective}, func(p *cc.IRNParams) { p.Cap = unit.Bytes(window) * 1000 })
}

// reply passes an ACK or NAK with a SACK to the requester.
func (r *Flow) reply(now unit.Time, psn int, syndrome uint8, base int, set uint64) {
	p := frame.Packet{
		Src: frame.HostIP(1), Dst: frame.HostIP(0), SACK: frame.SACK{Base: uint32(base), Bitmap: set},
		BTH: frame.BTH{Opcode: frame.Acknowledge, PSN: uint32(psn), DestQP: frame.SenderQP(0)}, AETH: frame.AETH{Syndrome: syndrome},
	}
	var f frame.Frame
	p.Build(&f)
	r.Receive(now, &f, &fabric.Out{})
}

// Whatever is sent, acknowledged, reported placed or missing, and timed out, in any order,
// selective does what a list of all packets does.
func TestSelectiveMatchesAListOfPackets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size, window := unit.Bytes(rapid.Int64Range(1, 150_000).Draw(t, "size")), rapid.IntRange(1, 200).Draw(t, "window")
		r, m := repeater(t, size, window), &repeating{}
		for left := size; left > 0; left -= min(left, r.Payload) {
			m.packets = append(m.packets, listed{bytes: min(left, r.Payload)})
		}
		for now := unit.Time(1); !r.Done(); now++ {
			if got, next := r.Window(); got != int64(m.acked) || next != int64(m.next) || r.AckedBytes != m.reported() {
				t.Fatalf("%d acknowledged and %d next, %v in all; want %d and %d, %v", got, next, r.AckedBytes, m.acked, m.next, m.reported())
			}
			n, again := m.upcoming(window)
			p := r.recovery.next()
			if (p != nil) != (n >= 0) || p != nil && (p.number != int64(n) || p.again != again || p.part.Bytes != m.packets[n].bytes) {
				t.Fatalf("the next packet is %+v, want %d, sent again: %v", p, n, again)
			}
			near := rapid.IntRange(max(0, m.acked-2), m.next+2)
			psn, base, set := near.Draw(t, "PSN"), near.Draw(t, "base"), rapid.Uint64().Draw(t, "set")
			switch rapid.IntRange(0, 14).Draw(t, "event") {
			default:
				if p != nil {
					r.sendPSN(now)
					m.sent(n, again)
				}
			case 0, 1:
				r.reply(now, psn, frame.SyndromeACK, base, set)
				m.acknowledge(psn + 1)
				m.selected(base, set)
			case 2, 3, 4:
				if rapid.Bool().Draw(t, "oldest") {
					psn = m.acked
				}
				r.reply(now, psn, frame.SyndromeNAKSequence, base, set)
				m.acknowledge(psn)
				m.selected(base, set)
				m.nak(psn)
			case 5:
				if r.recovery.(*selective).due() != unit.Never != (m.next > m.acked) {
					t.Fatalf("%d packets in flight, due %v", m.next-m.acked, r.recovery.(*selective).due())
				}
				if m.next > m.acked {
					r.recovery.overdue(r.recovery.(*selective).due(), &fabric.Out{})
					m.recover()
				}
			}
		}
		if m.acked != len(m.packets) {
			t.Fatalf("done with %d of %d packets acknowledged", m.acked, len(m.packets))
		}
	})
}

// IRN, SIGCOMM 2018: RTO_low applies while fewer than N packets are in flight, else RTO_high.
func TestTimeoutIsShortWithFewPacketsInFlight(t *testing.T) {
	r := repeater(t, 1_000_000, 100)
	s := r.recovery.(*selective)
	for sent, want := range map[int]unit.Time{1: 100, 2: 100, 3: 320, 4: 320} {
		for s.r.queue.Packet() < int64(sent) {
			r.sendPSN(0)
		}
		if sent == int(s.r.queue.Packet()) && s.due() != want*unit.Microsecond {
			t.Errorf("%d packets in flight: due %v, want %v us", sent, s.due(), want)
		}
	}
}

// A timer that was started with few packets in flight does not end the longer timeout of many.
func TestMorePacketsInFlightPostponeTheTimeout(t *testing.T) {
	r := repeater(t, 1_000_000, 100)
	for range 4 {
		r.sendPSN(0)
	}
	if r.deadline != 100*unit.Microsecond {
		t.Fatalf("the timer ends at %v, want RTO_low, that of one packet", r.deadline)
	}
	r.Overdue(r.deadline, &fabric.Out{})
	if r.deadline != 320*unit.Microsecond || r.LocalAckTimeoutErr != 0 {
		t.Errorf("the timer ends at %v after %d timeouts, want RTO_high after none", r.deadline, r.LocalAckTimeoutErr)
	}
}

// Timeouts in a row double the timeout, up to 64 times, and an ACK of the oldest packet restores it.
func TestTimeoutsDouble(t *testing.T) {
	r := repeater(t, 1_000_000, 100)
	for range 4 {
		r.sendPSN(0)
	}
	for i, want := range []unit.Time{320, 640, 1280, 2560, 5120, 10240, 20480, 20480} {
		s := r.recovery.(*selective)
		at := s.due()
		if at-s.started != want*unit.Microsecond {
			t.Fatalf("timeout %d is %v, want %v us", i, at-s.started, want)
		}
		s.overdue(at, &fabric.Out{})
	}
	r.reply(unit.Second, 0, frame.SyndromeACK, 0, 0)
	if s := r.recovery.(*selective); s.due() != unit.Second+320*unit.Microsecond {
		t.Errorf("after an ACK due at %v, want RTO_high later", s.due())
	}
}

// A flow fails after the given number of retries in a row, and reports that.
func TestFlowFailsWhenItsRetriesAreUsedUp(t *testing.T) {
	r := repeater(t, 1_000_000, 100)
	r.CC.IRN.Retries = 2
	r.sendPSN(0)
	var out fabric.Out
	for range 3 {
		if r.Done() {
			t.Fatal("fails too early")
		}
		r.Overdue(r.deadline, &out)
	}
	if stops := out.Notes[len(out.Notes)-1]; !r.Done() || stops.Kind != fabric.FlowStopped || r.LocalAckTimeoutErr != 3 {
		t.Errorf("done %v after %d timeouts, %+v", r.Done(), r.LocalAckTimeoutErr, stops)
	}
}

// A responder places packets in any order, each once, and moves on and delivers in order. Each note of
// a delivery has the payload since the one before it, and the last PSN delivered.
func TestPlacementMatchesAListOfPackets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := flowOf(t, 1).Device
		r := &Responder{}
		d.Timers.Grow(1, 1)
		r.Init(d, fabric.Flow{From: 1, To: 0, Recovery: fabric.Selective}, 0, frame.SenderQP(0))
		const start = 1<<24 - 100 // the PSNs wrap
		r.expected, r.early = start, &placement{placed: bitmap{first: start, end: start}}
		came, before, length := map[int]bool{}, 0, func(n int) int { return 4 + 4*n }
		for range rapid.IntRange(1, 200).Draw(t, "packets") {
			n := rapid.IntRange(0, 150).Draw(t, "number")
			p := frame.Packet{
				Src: frame.HostIP(1), Dst: frame.HostIP(0), Payload: uint32(length(n)), BTH: frame.BTH{Opcode: frame.WriteOnly, PSN: PSN(start + int64(n)), AckReq: true, DestQP: frame.ReceiverQP(0)},
				RETH: frame.RETH{Length: uint32(length(n))},
			}
			var f, answer frame.Frame
			var out fabric.Out
			p.Build(&f)
			r.Receive(0, &f, &out)
			came[n] = true
			expected, delivered, fresh := 0, 0, 0
			for came[expected] {
				delivered += length(expected)
				if expected++; expected > before {
					fresh += length(expected - 1)
				}
			}
			if r.expected != PSN(start+int64(expected)) || r.msn != uint32(expected) || r.DeliveredBytes != unit.Bytes(delivered) {
				t.Fatalf("expects %d after %d messages and %v, want %d and %dB", r.expected, r.msn, r.DeliveredBytes, expected, delivered)
			}
			for _, note := range out.Notes {
				if note.Kind == fabric.Delivered {
					fresh -= int(note.Bytes())
					if note.PSN() != PSN(start+int64(expected)-1) {
						t.Fatalf("delivered up to %d, want %d", note.PSN(), PSN(start+int64(expected)-1))
					}
				}
			}
			if before = expected; fresh != 0 {
				t.Fatalf("%dB of deliveries are not noted", fresh)
			}
			d.Control.Send(0, 0, &answer)
			syndrome, psn := uint8(frame.SyndromeACK), PSN(start+int64(expected)-1)
			if n > expected {
				syndrome, psn = frame.SyndromeNAKSequence, PSN(start+int64(expected))
			}
			if answer.Syndrome() != syndrome || answer.PSN() != psn || d.Control.Len() != 0 {
				t.Fatalf("packet %d is answered by %#x for PSN %d, want %#x for %d", n, answer.Syndrome(), answer.PSN(), syndrome, psn)
			}
			sackTells(t, answer.SACK(), came, expected, n, start)
		}
	})
}

// sackTells checks a SACK against the packets that came: the latest of them up to n.
func sackTells(t *rapid.T, s frame.SACK, came map[int]bool, expected, n int, start int64) {
	beyond := false
	for k := range came {
		beyond = beyond || k > expected
	}
	if beyond != (s.Bitmap != 0) && (n > expected || !beyond) {
		t.Fatalf("SACK %+v, packets beyond the expected one: %v", s, beyond)
	}
	if s.Bitmap == 0 {
		return
	}
	base := int(nearest(start, s.Base) - start)
	if n > expected && (n < base || n > base+63) {
		t.Fatalf("the SACK of %d to %d does not cover packet %d", base, base+63, n)
	}
	for i := range 64 {
		if s.Bitmap>>(63-i)&1 != 0 != (came[base+i] && base+i > expected) {
			t.Fatalf("SACK %+v: packet %d came: %v", s, base+i, came[base+i])
		}
	}
}

// A packet that is too far ahead, or no WRITE of its own, is discarded.
func TestPlacementRefusesWhatItCannotPlace(t *testing.T) {
	d := requester(t).Device
	d.Timers.Grow(1, 1)
	r := &Responder{}
	r.Init(d, fabric.Flow{From: 1, To: 0, Recovery: fabric.Selective}, 0, frame.SenderQP(0))
	for i, p := range []frame.Packet{
		{BTH: frame.BTH{Opcode: frame.WriteOnly, PSN: MaxWindow}, RETH: frame.RETH{Length: 1000}},
		{BTH: frame.BTH{Opcode: frame.WriteMiddle, PSN: 2}},
		{BTH: frame.BTH{Opcode: frame.WriteFirst, PSN: 2}, RETH: frame.RETH{Length: 3000}},
		{BTH: frame.BTH{Opcode: frame.WriteOnly, PSN: 2}, RETH: frame.RETH{Length: 996}}, // a longer one is that of a trimmed packet
	} {
		p.Src, p.Dst, p.Payload, p.BTH.DestQP = frame.HostIP(1), frame.HostIP(0), 1000, frame.ReceiverQP(0)
		var f frame.Frame
		p.Build(&f)
		r.Receive(0, &f, &fabric.Out{})
		if r.Malformed != uint64(i+1) || r.DeliveredBytes != 0 || d.Control.Len() != 0 {
			t.Errorf("packet %d: %d discarded, %v delivered, %d answers", i, r.Malformed, r.DeliveredBytes, d.Control.Len())
		}
	}
}

// An ACK of packets that a SACK has reported already makes room in the window.
func TestAckOfPlacedPacketsOpensTheWindow(t *testing.T) {
	r := repeater(t, 1_000_000, 2)
	r.Offer()
	for range 2 {
		r.sendPSN(0)
	}
	r.Arbiter.Turns.Pick(unit.Second, 0)               // parks it
	r.reply(1, 5, frame.SyndromeNAKSequence, 0, 3<<62) // out of date, but its SACK reports both
	if r.AckedBytes != 2000 || !r.Arbiter.Parked(0) {
		t.Fatalf("%v reported, parked: %v", r.AckedBytes, r.Arbiter.Parked(0))
	}
	r.reply(2, 1, frame.SyndromeACK, 0, 0)
	if r.AckedBytes != 2000 || r.Arbiter.Parked(0) {
		t.Errorf("%v reported, parked: %v", r.AckedBytes, r.Arbiter.Parked(0))
	}
}
