package qp

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// MRC-5: a sample is valid if it answers the only transmission of a packet, or the second of two
// (UE specification §3.6.13.1).
func TestValidSamples(t *testing.T) {
	for _, c := range []struct {
		sends  int
		resent bool
		want   bool
	}{{1, false, true}, {1, true, false}, {2, false, false}, {2, true, true}, {3, true, false}, {3, false, false}, {6, true, false}} {
		r := sprayer(t, 1_000_000)
		r.sendPSN(0)
		for range c.sends - 1 {
			r.told(1, 1<<24-1, frame.SyndromeNAKTrimmed, 0, 0, frame.Receipt{})
			r.sendPSN(1)
		}
		if got := r.spray.samples(0, c.resent); got != c.want {
			t.Errorf("%d transmissions, answer resent %v: valid %v", c.sends, c.resent, got)
		}
	}
}

// MRC-6: under SLEEK max(min(1.5 windows, the largest window), 5 packets) out of order show a loss. All
// packets sent so far are sent again, each once, until they have arrived.
func TestSLEEK(t *testing.T) {
	path := cc.Path{Rate: 40 * unit.GigabitPerSec, MTU: 1000, BaseRTT: 2 * unit.Microsecond} // largest window 15,000 bytes
	for _, c := range []struct{ window, threshold int }{{2, 5}, {6, 9}, {12, 15}} {
		r := sprayer(t, 1_000_000, func(s *Settings) { s.CC.MRC.Loss, s.Path = cc.LossSLEEK, func(int) cc.Path { return path } })
		for range 10 {
			r.sendPSN(0)
		}
		r.live.window = unit.Bytes(c.window) * 1000
		if got := r.spray.outOfOrder(c.threshold - 1); got != 0 {
			t.Fatalf("window %d: %v lost below the threshold", c.window, got)
		}
		want := unit.Bytes(min(c.window, 10)) * 1000
		if got := r.spray.outOfOrder(c.threshold); got != want {
			t.Fatalf("window %d: %v lost, want the packets of a window, %v", c.window, got, want)
		}
		if got := r.spray.outOfOrder(c.threshold + 1); got != 0 {
			t.Fatalf("window %d: %v lost again", c.window, got)
		}
	}
}

// recorder is an algorithm that records its signals, with a window.
type recorder struct {
	cc.Algorithm
	window unit.Bytes
	got    []cc.Signal
}

func (r *recorder) Handle(_ unit.Time, s cc.Signal) {
	if s.Kind != cc.Sent {
		r.got = append(r.got, s)
	}
}

func (r *recorder) Window() unit.Bytes { return r.window }

// MRC-10: an ACK signals the bytes that the receiver has newly counted, its mark, and a valid sample; a NAK the payload
// of the trimmed packet, whose RTT is no sample for the bytes that it acknowledges; a timeout the payload of all lost
// packets. What is lost is not in flight.
func TestSignalsOfReports(t *testing.T) {
	const us = unit.Microsecond
	r := sprayer(t, 1_000_000, func(s *Settings) { s.CC.MRC.RTO = 100 * us })
	k := &recorder{Algorithm: r.live.cc, window: cc.NoWindow}
	r.SetReaction(k)
	for range 10 {
		r.sendPSN(0)
	}
	stamped := func(now unit.Time, psn int, syndrome uint8, receipt frame.Receipt) {
		p := frame.Packet{
			Src: frame.HostIP(1), Dst: frame.HostIP(0), BTH: frame.BTH{Opcode: frame.Acknowledge, PSN: uint32(psn), DestQP: frame.SenderQP(0)},
			AETH: frame.AETH{Syndrome: syndrome}, Receipted: true, Receipt: receipt, Timestamped: true,
		}
		var f frame.Frame
		p.Build(&f)
		r.Receive(now, &f, &fabric.Out{})
	}
	stamped(20*us, 1, frame.SyndromeACK, frame.Receipt{PSN: 1, Received: 8, Marked: true, Service: 10, Penalty: 7})
	stamped(21*us, 1, frame.SyndromeACK, frame.Receipt{PSN: 0, Received: 8})
	stamped(22*us, 2, frame.SyndromeNAKTrimmedLastHop, frame.Receipt{PSN: 4, Received: 12, Restore: true})
	stamped(23*us, 2, frame.SyndromeNAKTrimmed, frame.Receipt{PSN: 5, Received: 12})
	r.Overdue(100*us, &fabric.Out{})
	want := []cc.Signal{
		{Kind: cc.Ack, Bytes: 2048, InFlight: 7952, RTT: 18720 * unit.Nanosecond, Marked: true, Penalty: 7},
		{Kind: cc.Ack, Bytes: 1024, InFlight: 6928, Restore: true},
		{Kind: cc.Trimmed, Bytes: 1000, InFlight: 5928, RTT: 22 * us, LastHop: true},
		{Kind: cc.Trimmed, Bytes: 1000, InFlight: 4928, RTT: 23 * us},
		{Kind: cc.TimedOut, Bytes: 6000, InFlight: 0},
	}
	if diff := cmp.Diff(want, k.got); diff != "" {
		t.Error(diff)
	}
}

// MRC-11: a packet asks for an ACK if it is the last of its message or sent again, if the window has no room for
// another, or while the window is below the bytes of one ACK.
func TestWhichPacketsAskForAnACK(t *testing.T) {
	for _, c := range []struct {
		size, window unit.Bytes
		want         string
	}{
		{5000, cc.NoWindow, "----a"},
		{1_000_000, 20_000, "-------------------a"},
		{1_000_000, 20_500, "-------------------a"},
		{1_000_000, 10_000, "aaaaaaaaaa"},
	} {
		r := sprayer(t, c.size)
		r.SetReaction(&recorder{Algorithm: r.live.cc, window: c.window})
		got := ""
		for r.Pending() {
			var f frame.Frame
			r.Send(0, &f, &fabric.Out{})
			got += map[bool]string{true: "a", false: "-"}[f.AckReq()]
		}
		if got != c.want {
			t.Errorf("%v under a window of %v: %s, want %s", c.size, c.window, got, c.want)
		}
	}
}
