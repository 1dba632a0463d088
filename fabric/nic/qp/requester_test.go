package qp

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/control"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// requester returns an endless flow from host 0 to host 1 that has begun.
func requester(t *testing.T) *Flow { return flowOf(t, work.Endless) }

// flowOf returns a flow of the given size from host 0 to host 1 that has begun.
func flowOf(t rapid.TB, size unit.Bytes) *Flow {
	return flowWith(t, fabric.Flow{From: 0, To: 1, Size: size})
}

// flowWith returns a flow that has begun, under the settings of selective repeat as changed.
func flowWith(t rapid.TB, flow fabric.Flow, change ...func(*cc.IRNParams)) *Flow {
	t.Helper()
	s := &Settings{Rate: 40 * unit.GigabitPerSec, Payload: 1000, AckEvery: 1, Scheme: "pfc", CC: cc.Default()}
	for _, edit := range change {
		edit(&s.CC.IRN)
	}
	d := &Device{}
	d.init(s, &EventCounters{}, control.Config{Limit: 8, DSCP: &s.DSCP}, false)
	d.Arbiter.Grow(1)
	r := &Flow{}
	if err := r.Init(d, flow, 0); err != nil {
		t.Fatal(err)
	}
	r.Begin(0, &fabric.Out{})
	return r
}

// sendPSN sends and returns the PSN of the requester's next packet.
func (r *Flow) sendPSN(now unit.Time) uint32 {
	var f frame.Frame
	r.Send(now, &f, &fabric.Out{})
	return f.PSN()
}

// answer passes an ACK or NAK to the requester.
func (r *Flow) answer(now unit.Time, psn uint32, syndrome uint8) {
	p := frame.Packet{
		Src: frame.HostIP(1), Dst: frame.HostIP(0),
		BTH: frame.BTH{Opcode: frame.Acknowledge, PSN: psn, DestQP: frame.SenderQP(0)}, AETH: frame.AETH{Syndrome: syndrome},
	}
	var f frame.Frame
	p.Build(&f)
	r.Receive(now, &f, &fabric.Out{})
}

// skip makes the packets below n sent and acknowledged.
func (r *Flow) skip(n int64) {
	for w := r.queue.Front(); w.End <= n; w = r.queue.Front() {
		r.queue.MoveTo(w.End)
		r.drained(0, &fabric.Out{})
		r.queue.Drop()
	}
	r.queue.MoveTo(n)
	*r.recovery.(*goBackN) = goBackN{r: &r.Requester, acked: n, high: n}
}

// CETH-7: every data packet carries a PSN; it wraps at 2^24.
func TestPSNWraps(t *testing.T) {
	r := requester(t)
	const start = 1<<24 - 2
	r.skip(start)
	for i, want := range []uint32{start, start + 1, 0, 1} {
		if got := r.sendPSN(unit.Time(i)); got != want {
			t.Fatalf("packet %d has PSN %d, want %d", i, got, want)
		}
	}
	r.answer(10, 1<<24-1, frame.SyndromeACK)
	r.answer(11, 0, frame.SyndromeNAKSequence) // a loss right at the wrap
	if acked, next := r.Window(); acked != 1<<24 || next != 1<<24 {
		t.Fatalf("acked %d, next %d", acked, next)
	}
	if got := r.sendPSN(12); got != 0 {
		t.Errorf("PSN %d is sent again, want 0", got)
	}
	r.answer(13, 1, frame.SyndromeACK)
	if acked, next := r.Window(); acked != 1<<24+2 || next != acked {
		t.Errorf("acked %d, next %d", acked, next)
	}
}

// CETH-7: the responder follows the PSN when it wraps at 2^24.
func TestReceivedPSNWraps(t *testing.T) {
	d := requester(t).Device
	r := &Responder{}
	d.Timers.Grow(1, 1)
	r.Init(d, fabric.Flow{From: 1, To: 0, Size: work.Endless}, 0, frame.SenderQP(0))
	r.expected = 1<<24 - 2
	var got []uint32
	for i, psn := range []uint32{1<<24 - 2, 1<<24 - 1, 1, 0, 1} { // a loss right at the wrap
		p := frame.Packet{
			Src: frame.HostIP(1), Dst: frame.HostIP(0), Payload: 1000,
			BTH: frame.BTH{Opcode: frame.WriteOnly, PSN: psn, DestQP: frame.ReceiverQP(0)}, RETH: frame.RETH{Length: 1000},
		}
		var f frame.Frame
		p.Build(&f)
		r.Receive(unit.Time(i), &f, &fabric.Out{})
		d.Control.Send(unit.Time(i), 0, &f)
		got = append(got, f.PSN())
	}
	if want := []uint32{1<<24 - 2, 1<<24 - 1, 0, 0, 1}; !slices.Equal(got, want) || d.Control.TxNAKs != 1 {
		t.Errorf("answers for %v with %d NAKs, want %v with one", got, d.Control.TxNAKs, want)
	}
}

// At most half of the PSN space is unacknowledged, so that a PSN identifies one packet.
func TestUnacknowledgedPacketsStayBelowHalfThePSNSpace(t *testing.T) {
	r := requester(t)
	g := r.recovery.(*goBackN)
	g.acked, g.packet.request = -MaxUnacked, nil
	if r.Pending() {
		t.Error("sends on")
	}
	g.acked++
	if !r.Pending() {
		t.Error("does not send on after an ACK")
	}
}
