package qp

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// sprayedResponder returns the responder of a flow that sprays, from host 1.
func sprayedResponder(t rapid.TB) *Responder {
	d := sprayer(t, 1).Device
	d.Timers.Grow(1, 1)
	r := &Responder{}
	r.Init(d, fabric.Flow{From: 1, To: 0, Recovery: fabric.Spraying}, 0, frame.SenderQP(0))
	return r
}

// sprayedData returns a data packet for the responder, as changed.
func sprayedData(psn uint32, change ...func(*frame.Packet)) *frame.Frame {
	p := frame.Packet{
		Src: frame.HostIP(1), Dst: frame.HostIP(0), Payload: 1000, SrcPort: 50000 + uint16(psn),
		BTH: frame.BTH{Opcode: frame.WriteOnly, PSN: psn, DestQP: frame.ReceiverQP(0)}, RETH: frame.RETH{Length: 1000},
	}
	for _, edit := range change {
		edit(&p)
	}
	var f frame.Frame
	p.Build(&f)
	return &f
}

func marked(p *frame.Packet) { p.ECN = frame.CE }
func asking(p *frame.Packet) { p.BTH.AckReq = true }
func again(p *frame.Packet)  { p.BTH.Resv7 = frame.SentBefore(true) }

// atLastHop sets the DSCP that a packet trimmed at the last hop has in these tests.
func atLastHop(p *frame.Packet) { p.DSCP = 41 }

// trim cuts the payload off.
func trim(f *frame.Frame) *frame.Frame {
	f.Trim(frame.MinLen, f.DSCP())
	return f
}

// response returns what the responder answers, "-" if nothing: the kind and PSN, the SACK, and the receipt.
func response(r *Responder) string {
	if r.Control.Len() == 0 {
		return "-"
	}
	var f frame.Frame
	r.Control.Send(0, 0, &f)
	text := fmt.Sprintf("%x %d", f.Syndrome(), int32(f.PSN()<<8)>>8)
	if s := f.SACK(); s.Bitmap != 0 {
		text += fmt.Sprintf(" sack %d %x", s.Base, s.Bitmap)
	}
	k, _ := f.Receipt()
	text += fmt.Sprintf(" of %d got %d", k.PSN, k.Received)
	if k.OutOfOrder > 0 {
		text += fmt.Sprintf(" early %d", k.OutOfOrder)
	}
	if k.Marked {
		text += " marked"
	}
	if k.Resent {
		text += " resent"
	}
	return text
}

// MRC-7, MRC-8: an ACK is sent at once for a packet with CE, a duplicate, one that asks for it and the
// first, and when the last missing packet after one that asked arrives; else every 16,384 bytes.
// The SACK is that of the 64 packets up to the one that is answered, but after the expected one.
func TestWhenAResponderAcknowledges(t *testing.T) {
	type step struct {
		frame *frame.Frame
		want  string
	}
	const high = "8000000000000000"
	for name, steps := range map[string][]step{
		"first":                {{sprayedData(0), "1f 0 of 0 got 4"}, {sprayedData(1), "-"}},
		"first, out of order":  {{sprayedData(2), "1f -1 sack 1 4000000000000000 of 2 got 4 early 1"}, {sprayedData(1), "-"}},
		"CE":                   {{sprayedData(0), "1f 0 of 0 got 4"}, {sprayedData(1), "-"}, {sprayedData(2, marked), "1f 2 of 2 got 12 marked"}},
		"CE, out of order":     {{sprayedData(0), "1f 0 of 0 got 4"}, {sprayedData(2), "-"}, {sprayedData(3, marked), "1f 0 sack 2 c000000000000000 of 3 got 12 early 2 marked"}},
		"duplicate":            {{sprayedData(0), "1f 0 of 0 got 4"}, {sprayedData(2), "-"}, {sprayedData(0, again), "1f 0 sack 2 " + high + " of 0 got 8 early 1 resent"}},
		"duplicate beyond":     {{sprayedData(0), "1f 0 of 0 got 4"}, {sprayedData(2), "-"}, {sprayedData(2, again), "1f 0 sack 2 " + high + " of 2 got 8 early 1 resent"}},
		"ack request":          {{sprayedData(0), "1f 0 of 0 got 4"}, {sprayedData(1, asking), "1f 1 of 1 got 8"}},
		"last gap, not asked":  {{sprayedData(0), "1f 0 of 0 got 4"}, {sprayedData(2), "-"}, {sprayedData(1), "-"}},
		"last gap, asked":      {{sprayedData(0), "1f 0 of 0 got 4"}, {sprayedData(3, asking), "1f 0 sack 2 4000000000000000 of 3 got 8 early 1"}, {sprayedData(2), "-"}, {sprayedData(1), "1f 3 of 1 got 16"}, {sprayedData(5), "-"}, {sprayedData(4), "-"}},
		"SACK of the 64 up to": {{sprayedData(0), "1f 0 of 0 got 4"}, {sprayedData(3), "-"}, {sprayedData(80), "-"}, {sprayedData(3), "1f 0 sack 2 4000000000000000 of 3 got 12 early 2"}, {sprayedData(80), "1f 0 sack 17 1 of 80 got 12 early 2"}},
	} {
		r := sprayedResponder(t)
		for i, s := range steps {
			if r.Receive(0, s.frame, &fabric.Out{}); true {
				if got := response(r); got != s.want {
					t.Errorf("%s: packet %d is answered by %q, want %q", name, i, got, s.want)
				}
			}
		}
	}
	r, answered := sprayedResponder(t), []int{}
	for n := range 40 {
		r.Receive(0, sprayedData(uint32(n)), &fabric.Out{})
		if response(r) != "-" {
			answered = append(answered, n)
		}
	}
	if fmt.Sprint(answered) != "[0 17 34]" { // 17,000 bytes are the first 16,384 or more
		t.Errorf("packets %v are acknowledged", answered)
	}
}

// MRC-3, MRC-9: a trimmed packet is answered by a NAK that names it, and does not count as received; a
// trimmed duplicate is acknowledged.
func TestTrimmedPacketsAreRequestedAgain(t *testing.T) {
	r := sprayedResponder(t)
	r.Receive(0, sprayedData(0), &fabric.Out{})
	r.Receive(0, sprayedData(2), &fabric.Out{})
	response(r)
	r.TrimmedLastHop = 1 << 41
	for _, c := range []struct {
		frame *frame.Frame
		want  string
	}{
		{sprayedData(5, marked), "70 1 sack 2 8000000000000000 of 5 got 8 early 1 marked"},
		{sprayedData(5, atLastHop), "71 1 sack 2 8000000000000000 of 5 got 8 early 1"},
		{sprayedData(1, again), "70 1 sack 2 8000000000000000 of 1 got 8 early 1 resent"},
		{sprayedData(0, again), "1f 0 sack 2 8000000000000000 of 0 got 8 early 1 resent"},
		{sprayedData(2), "1f 0 sack 2 8000000000000000 of 2 got 8 early 1"},
	} {
		r.Receive(0, trim(c.frame), &fabric.Out{})
		if got := response(r); got != c.want {
			t.Errorf("trimmed packet %d is answered by %q, want %q", c.frame.PSN(), got, c.want)
		}
	}
	if r.DeliveredBytes != 2000 || r.expected != 1 {
		t.Errorf("%v delivered, expects %d", r.DeliveredBytes, r.expected)
	}
}

// MRC-7, MRC-13: while a packet that arrived trimmed is missing, every packet is acknowledged at once.
func TestNoACKIsHeldBackAfterANAK(t *testing.T) {
	r := sprayedResponder(t)
	for i, c := range []struct {
		frame *frame.Frame
		want  string
	}{
		{sprayedData(0), "1f 0 of 0 got 4"},
		{sprayedData(1), "-"},
		{trim(sprayedData(4)), "70 2 of 4 got 8"},
		{trim(sprayedData(2)), "70 2 of 2 got 8"},
		{sprayedData(3), "1f 1 sack 3 8000000000000000 of 3 got 12 early 1"},
		{sprayedData(5), "1f 1 sack 3 a000000000000000 of 5 got 16 early 2"},
		{sprayedData(2, again), "1f 3 sack 5 8000000000000000 of 2 got 20 early 1 resent"},
		{sprayedData(6), "1f 3 sack 5 c000000000000000 of 6 got 24 early 2"},
		{sprayedData(4, again), "-"},
		{sprayedData(8), "-"},
		{sprayedData(7), "-"},
	} {
		r.Receive(0, c.frame, &fabric.Out{})
		if got := response(r); got != c.want {
			t.Errorf("packet %d is answered by %q, want %q", i, got, c.want)
		}
	}
}

// MRC-3, MRC-8: whatever arrives, whole or trimmed, in any order, the receipts echo its entropy and count each new packet once, and packets out of
// order are those placed beyond the expected one.
func TestReceiptsCountNewPackets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, came := sprayedResponder(t), map[int]bool{}
		for range rapid.IntRange(1, 150).Draw(t, "packets") {
			n := rapid.IntRange(0, 100).Draw(t, "number")
			if rapid.IntRange(0, 4).Draw(t, "trimmed") == 0 {
				r.Receive(0, trim(sprayedData(uint32(n))), &fabric.Out{})
			} else {
				r.Receive(0, sprayedData(uint32(n), asking), &fabric.Out{})
				came[n] = true
			}
			expected, early := 0, 0
			for came[expected] {
				expected++
			}
			for k := range came {
				if k > expected {
					early++
				}
			}
			var f frame.Frame
			r.Control.Send(0, 0, &f)
			k, ok := f.Receipt()
			if !ok || int(k.PSN) != n || int(k.Received) != (1000*len(came)+255)/256 || int(k.OutOfOrder) != early || k.SrcPort != 50000+uint16(n) {
				t.Fatalf("packet %d is answered by %+v; want %d received, %d early", n, k, 1000*len(came), early)
			}
			if r.expected != uint32(expected) || r.DeliveredBytes != unit.Bytes(1000*len(came)) || r.Control.Len() != 0 {
				t.Fatalf("expects %d, %v delivered, %d more answers", r.expected, r.DeliveredBytes, r.Control.Len())
			}
		}
	})
}
