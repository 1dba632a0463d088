package nic

import (
	"slices"
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// lose makes the bench lose the nth data frames of host 0, counted from 0.
func (b *fabricBench) lose(nth ...int) {
	count := -1
	b.tap = func(from int, f *frame.Frame) bool {
		if from != 0 || !isData(f) {
			return true
		}
		count++
		return !slices.Contains(nth, count)
	}
}

// A gap is reported by one NAK with the expected PSN until it is filled. The sender goes
// back to that PSN and retransmits from there on.
func TestOneNAKPerGapAndGoBackN(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, 100_000)})
	b.lose(10)
	b.run(unit.Millisecond)
	if got, want := psns(b.from(1, isNAK)), []uint32{10}; !slices.Equal(got, want) {
		t.Fatalf("NAKs of %v, want %v", got, want)
	}
	sent := psns(b.from(0, isData))
	back := slices.Index(sent[11:], 10) + 11
	for i, psn := range sent[back:] {
		if psn != uint32(10+i) {
			t.Fatalf("after going back: %v", sent[back:])
		}
	}
	went := b.noted(0, fabric.Retransmitted)
	if len(went) != 1 || went[0].PSN() != 10 || went[0].Packets() != int64(back-10) {
		t.Errorf("Retransmitted %+v, want to 10, %d frames", went, back-10)
	}
	ooo := b.noted(1, fabric.OutOfSequence)
	if len(ooo) != back-11 || ooo[0].PSN() != 11 || ooo[0].ExpectedPSN() != 10 {
		t.Errorf("%d out of sequence, first %+v", len(ooo), ooo[0])
	}
	if nak := b.noted(1, fabric.NakSent); len(nak) != 1 || nak[0].PSN() != 10 {
		t.Errorf("NakSent %+v", nak)
	}
	if len(b.noted(0, fabric.Completed)) != 1 || b.nics[1].Stats().Receivers[0].DeliveredBytes != 100_000 {
		t.Error("not delivered")
	}
	s := b.nics[0].Stats()
	if s.PacketSeqErr != 1 || s.LocalAckTimeoutErr != 0 || b.nics[1].Stats().OutOfSequence != uint64(back-11) {
		t.Errorf("%+v", s)
	}
}

// A second gap, after the first was filled, is reported too.
func TestNextGapIsReportedAgain(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, 1_000_000)})
	b.lose(10, 300)
	b.run(unit.Millisecond)
	if naks := b.from(1, isNAK); len(naks) != 2 {
		t.Errorf("NAKs of %v", psns(naks))
	}
	if len(b.noted(0, fabric.Completed)) != 1 {
		t.Error("not completed")
	}
}

// A NAK dropped at the full control queue is created again at the next packet.
func TestLostNAKIsRepeated(t *testing.T) {
	n := mustNew(t, config(1, []FlowConfig{flow(0, Endless)}, func(c *Config) { c.ControlQueue = 1 }))
	var out fabric.Out
	for i, f := range []frame.Frame{
		dataFrame(frame.WriteFirst, 0, 1_000_000, 1000), // its ACK fills the queue
		dataFrame(frame.WriteMiddle, 2, 0, 1000),
	} {
		n.Arrive(unit.Time(i), 0, &f, &out)
	}
	n.Tick(2, &out)
	f := dataFrame(frame.WriteMiddle, 3, 0, 1000)
	n.Arrive(3, 0, &f, &out)
	at, _ := n.Next()
	n.Tick(at, &out)
	if last := out.Sends[len(out.Sends)-1].Frame; len(out.Sends) != 2 || !isNAK(last) || last.PSN() != 1 {
		t.Errorf("%d sends, the last %v", len(out.Sends), last.Opcode())
	}
}

// A timeout goes back to the oldest unacknowledged packet. The timer runs from the last
// progress.
func TestTimeout(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, 10_000)}, func(c *Config) { c.Timeout = 100 * us })
	b.lose(9) // the last: no later packet shows the gap
	b.run(unit.Millisecond)
	expiries := b.noted(0, fabric.TimedOut)
	if len(expiries) != 1 || expiries[0].PSN() != 9 {
		t.Fatalf("TimedOut %+v", expiries)
	}
	acks := b.from(1, isACK)
	if want := acks[8].Arrival + 100*us; expiries[0].At != want {
		t.Errorf("at %v, want %v, 100 us after the last progress", expiries[0].At, want)
	}
	if got := psns(b.from(0, isData)); len(got) != 11 || got[10] != 9 {
		t.Errorf("sent %v", got)
	}
	if len(b.noted(0, fabric.Completed)) != 1 || b.nics[0].Stats().LocalAckTimeoutErr != 1 {
		t.Error("not completed")
	}
	if _, ok := b.nics[0].Next(); ok {
		t.Error("a completed flow keeps a timer")
	}
}

// The timer does not run while nothing is in flight, and never runs if the timeout is 0.
func TestNoSpuriousTimeout(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, 10_000)})
	b.lose(9)
	b.run(10 * unit.Millisecond)
	if len(b.noted(0, fabric.TimedOut)) != 0 {
		t.Error("fired although it is off")
	}
	b = newBench(t, 2, []FlowConfig{flow(0, 10_000)}, func(c *Config) { c.Timeout = 100 * us })
	b.run(20 * us)
	if at, ok := b.nics[0].Next(); ok {
		t.Errorf("wants a tick at %v with nothing in flight", at)
	}
	b.run(10 * unit.Millisecond)
	if len(b.noted(0, fabric.TimedOut)) != 0 {
		t.Error("fired although everything was acknowledged")
	}
}

// While PAUSE delays the retransmission, the timer does not fire repeatedly.
func TestTimerStopsWhileTheResendIsPaused(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, 1000)}, func(c *Config) { c.Timeout = 50 * us })
	b.lose(0)
	b.inject(0, 10*us, pfc(dataPrio, 0xffff)) // 838 us at 40 Gbit/s
	b.run(2 * unit.Millisecond)
	if got := len(b.noted(0, fabric.TimedOut)); got != 1 {
		t.Errorf("fired %d times", got)
	}
	if len(b.noted(0, fabric.Completed)) != 1 {
		t.Error("not completed")
	}
}

// A NAK that refuses a request puts the queue pair in the error state.
func TestRefusedFlowStops(t *testing.T) {
	for _, syndrome := range []uint8{frame.SyndromeNAKInvalid, frame.SyndromeNAKAccess} {
		b := newBench(t, 2, []FlowConfig{flow(0, 1_000_000)})
		nak := frame.Packet{
			Src: frame.HostIP(1), Dst: frame.HostIP(0), AETH: frame.AETH{Syndrome: syndrome},
			BTH: frame.BTH{Opcode: frame.Acknowledge, DestQP: frame.SenderQP(0)},
		}
		var f frame.Frame
		nak.Build(&f)
		b.inject(0, 10*us, f)
		b.run(unit.Millisecond)
		if len(b.noted(0, fabric.FlowStopped)) != 1 || b.nics[1].Stats().Receivers[0].DeliveredBytes >= 100_000 {
			t.Errorf("syndrome %#x: the flow goes on", syndrome)
		}
		if _, ok := b.nics[0].Next(); ok {
			t.Errorf("syndrome %#x: a timer is left", syndrome)
		}
	}
}

// Packets covered by an ACK that arrives after the sender went back are not
// retransmitted.
func TestLateACKAfterGoingBack(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, 3000)}, func(c *Config) { c.Timeout = 7 * us })
	b.inject(0, 5*us, pfc(dataPrio, 3000)) // until 43 us; the ACKs arrive from 10 us on
	b.run(unit.Millisecond)
	if len(b.noted(0, fabric.TimedOut)) != 1 || len(b.noted(0, fabric.Completed)) != 1 {
		t.Fatal("wants one expiry and a completion")
	}
	if got := psns(b.from(0, isData)); !slices.Equal(got, []uint32{0, 1, 2}) {
		t.Errorf("sent %v", got)
	}
}

// windowed is a reaction point with a window and without pacing.
type windowed struct {
	*cc.Fixed
	window unit.Bytes
}

func (w windowed) Window() unit.Bytes { return w.window }

// A window bounds the unacknowledged payload; a window below one packet admits one packet.
func TestWindow(t *testing.T) {
	for _, c := range []struct {
		window unit.Bytes
		want   unit.Bytes
	}{{4500, 4000}, {4000, 4000}, {10, 1000}} {
		b := newBench(t, 2, []FlowConfig{flow(0, 50_000)})
		b.nics[0].qps.Senders[0].SetReaction(windowed{cc.NewFixed(testRate), c.window})
		b.run(3 * us)
		if got := b.nics[0].Stats().Senders[0].InFlightBytes; got != c.want {
			t.Errorf("window of %d: %d in flight, want %d", c.window, got, c.want)
		}
		b.run(10 * unit.Millisecond)
		if len(b.noted(0, fabric.Completed)) != 1 {
			t.Errorf("window of %d: not completed", c.window)
		}
	}
}

// stepping is a reaction point that halves its rate at each tick, every 10 us.
type stepping struct {
	cc.Fixed
	rate unit.Rate
	next unit.Time
}

func (s *stepping) Rate() unit.Rate         { return s.rate }
func (s *stepping) Next() (unit.Time, bool) { return s.next, s.rate > gbps }
func (s *stepping) Tick(now unit.Time)      { s.rate, s.next = s.rate/2, now+10*us }

// The NIC ticks a reaction point at its instants and applies its rate, until the flow is
// complete.
func TestReactionPointTimers(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, 100_000)})
	b.nics[0].qps.Senders[0].SetReaction(&stepping{rate: testRate, next: 5 * us})
	b.run(unit.Millisecond)
	var at []unit.Time
	for _, n := range b.noted(0, fabric.RateChanged) {
		at = append(at, n.At)
	}
	if want := []unit.Time{5 * us, 15 * us, 25 * us, 35 * us}; !slices.Equal(at[:4], want) {
		t.Errorf("the rate moved at %v, want %v", at, want)
	}
	done := b.noted(0, fabric.Completed)
	if len(done) != 1 || at[len(at)-1] > done[0].At {
		t.Errorf("completed %+v, the rate moved at %v", done, at)
	}
}

// losses records the losses that a reaction point is signalled.
type losses struct {
	cc.Algorithm
	kinds []cc.SignalKind
}

func (l *losses) Handle(now unit.Time, s cc.Signal) {
	if s.Kind == cc.Lost || s.Kind == cc.TimedOut {
		l.kinds = append(l.kinds, s.Kind)
	}
	l.Algorithm.Handle(now, s)
}

// A NAK is one loss to the reaction point, however often it is repeated; so is a timeout.
func TestLossesReachTheReactionPoint(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, 10_000)}, func(c *Config) { c.Timeout = 100 * us })
	dropped := map[uint32]bool{}
	b.tap = func(from int, f *frame.Frame) bool {
		lost := from == 0 && (f.PSN() == 3 || f.PSN() == 9) && !dropped[f.PSN()] // the last one causes no NAK
		dropped[f.PSN()] = dropped[f.PSN()] || lost
		return !lost
	}
	got := &losses{Algorithm: cc.NewFixed(gbps)}
	f, _ := b.nics[0].qps.Flow(0)
	f.SetReaction(got)
	b.run(unit.Millisecond)
	if want := []cc.SignalKind{cc.Lost, cc.TimedOut}; !slices.Equal(got.kinds, want) || len(b.noted(0, fabric.Completed)) != 1 {
		t.Errorf("losses %v, want %v", got.kinds, want)
	}
}
