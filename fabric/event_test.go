package fabric

import (
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Every value that a constructor takes is read back by its accessor, in the unit in which
// it was given.
func TestAccessorsReadWhatConstructorsTake(t *testing.T) {
	both := func(a, b int64) [2]int64 { return [2]int64{a, b} }
	size := func(a, b unit.Bytes) [2]int64 { return both(int64(a), int64(b)) }
	for _, c := range []struct {
		e   Event
		got func(e Event) [2]int64
	}{
		{NewEnqueued(7, 9), func(e Event) [2]int64 { return size(e.Bytes(), e.Queue()) }},
		{NewDequeued(7, 9), func(e Event) [2]int64 { return size(e.Bytes(), e.Queue()) }},
		{NewQueueSampled(7, 9), func(e Event) [2]int64 { return size(e.Peak(), e.Queue()) }},
		{NewCreditWasted(7, 9), func(e Event) [2]int64 { return size(e.Bytes(), e.Lost()) }},
		{NewRoomExceeded(PassedOver, 7, 9, BoundPeriod), func(e Event) [2]int64 { return size(e.Response(), e.Room()) }},
		{NewRoomExceeded(PassedOver, 7, -9, BoundOpen), func(e Event) [2]int64 { return size(e.Response(), -e.Room()) }},
		{NewRoomExceeded(TokensAwaited, 7, -1, 9), func(e Event) [2]int64 { return both(int64(e.Response()), int64(e.Bound())) }},
		{NewMarked(7, 9), func(e Event) [2]int64 { return both(int64(e.Queue()), int64(e.PSN())) }},
		{NewTransmitted(7, 9), func(e Event) [2]int64 { return both(int64(e.Bytes()), int64(e.PSN())) }},
		{NewReceived(7, 9), func(e Event) [2]int64 { return both(int64(e.Bytes()), int64(e.PSN())) }},
		{NewRequested(7, 9), func(e Event) [2]int64 { return both(int64(e.Response()), int64(e.PSN())) }},
		{NewExcessSignalled(7, 9), func(e Event) [2]int64 { return both(int64(e.Credit()), int64(e.PSN())) }},
		{NewOutOfSequence(7, 9), func(e Event) [2]int64 { return both(int64(e.PSN()), int64(e.ExpectedPSN())) }},
		{NewRetransmitted(7, 9), func(e Event) [2]int64 { return both(int64(e.PSN()), e.Packets()) }},
		{NewPosted(7, 9), func(e Event) [2]int64 { return both(int64(e.Bytes()), e.Packets()) }},
		{NewPauseSent(7, 9), func(e Event) [2]int64 { return both(e.Quanta(), int64(e.Queue())) }},
		{NewCNMSent(7, 9), func(e Event) [2]int64 { return both(int64(e.Feedback()), int64(e.Queue())) }},
		{NewPortSampled(7, 9), func(e Event) [2]int64 { return both(int64(e.Bytes()), int64(e.Marks())) }},
		{NewCreditSampled(7, 9), func(e Event) [2]int64 { return both(int64(e.Bytes()), e.Excess()) }},
		{NewCreditGranted(7, 9), func(e Event) [2]int64 { return both(e.Quanta(), int64(e.Coefficient())) }},
		{NewArrived(7, 9), func(e Event) [2]int64 { return both(int64(e.Bytes()), int64(e.Arrival())) }},
		{NewDeparted(7, 9), func(e Event) [2]int64 { return both(int64(e.In()), int64(e.Arrival())) }},
		{NewMessageDone(7, 9), func(e Event) [2]int64 { return both(int64(e.In()), int64(e.By())) }},
		{NewCompleted(7, 9), func(e Event) [2]int64 { return both(int64(e.Bytes()), int64(e.Start())) }},
		{NewCommandDone(7, 9), func(e Event) [2]int64 { return both(int64(e.Command()), int64(e.Start())) }},
		{NewCommandPosted(7, 9), func(e Event) [2]int64 { return both(int64(e.Command()), int64(e.Size())) }},
		{NewRateChanged(7, 9), func(e Event) [2]int64 { return both(int64(e.Rate()), int64(e.OldRate())) }},
		{NewRewritten(7, 9), func(e Event) [2]int64 { return both(int64(e.Duration()), int64(e.Level())) }},
		{NewLevelChanged(7, 9), func(e Event) [2]int64 { return both(int64(e.Level()), int64(e.OldLevel())) }},
		{NewDropped(7, 9), func(e Event) [2]int64 { return both(int64(e.Bytes()), int64(e.Reason())) }},
		{NewDroppedFor(7, DropQueue, 9), func(e Event) [2]int64 { return both(int64(e.Bytes()), int64(e.Egress())) }},
		{NewTrimmed(7, 9), func(e Event) [2]int64 { return size(e.Bytes(), e.Cut()) }},
		{NewTrimmedIn(7, 9), func(e Event) [2]int64 { return both(int64(e.Bytes()), int64(e.PSN())) }},
		{NewTokensSampled(7, 9), func(e Event) [2]int64 { return both(int64(e.Bytes()), int64(e.Direction())) }},
		{NewStallSampled(7, 9), func(e Event) [2]int64 { return both(int64(e.Duration()), int64(e.Direction())) }},
		{NewTuned(7, 9), func(e Event) [2]int64 { k, v := e.Setting(); return both(int64(k), v) }},
	} {
		if got := c.got(c.e); got != [2]int64{7, 9} {
			t.Errorf("%v: got %v, want [7 9]", c.e, got)
		}
		if a, b := c.e.Encoded(); EventOf(c.e.Kind, a, b) != c.e {
			t.Errorf("%v is encoded as %d, %d", c.e, a, b)
		}
	}
	if !NewAcked(1, true).Congested() || NewAcked(1, false).Congested() || NewCNP(Notified, false, 1).Congested() ||
		!NewIndication(Indicated, true, 0).Congested() || !NewUntracked(true).Collided() || !NewListSearched(0, true).Found() {
		t.Error("a flag does not round-trip")
	}
}

// A dropped frame has its reason and, if an egress queue had no room for it, that port.
func TestEgressOfDropped(t *testing.T) {
	if e := NewDroppedFor(7, DropQueue, 0); e.Reason() != DropQueue || e.Egress() != 0 {
		t.Errorf("%v at port %d", e.Reason(), e.Egress())
	}
	if e := NewDropped(7, DropBuffer); e.Reason() != DropBuffer || e.Egress() != -1 {
		t.Errorf("%v at port %d, want none", e.Reason(), e.Egress())
	}
}
