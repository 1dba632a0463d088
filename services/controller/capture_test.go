package controller

import (
	"errors"
	"io"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/fabric/tap"
	"github.com/rackfab/rackfab/fabric/unit"
	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// captureOf begins a capture and waits until it is active.
func (r *rig) captureOf(t *testing.T, q *rackfabv1.CaptureRequest) (rackfabv1.FabricService_CaptureClient, *rackfabv1.CaptureStarted) {
	t.Helper()
	stream, err := r.API().Capture(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	first, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	return stream, first.GetStarted()
}

// rest reads a capture to its end.
func rest(t *testing.T, stream rackfabv1.FabricService_CaptureClient) (packets []*rackfabv1.CapturedPacket, end *rackfabv1.CaptureEnded) {
	t.Helper()
	for {
		event, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return packets, end
		}
		if err != nil {
			t.Fatal(err)
		}
		if end != nil {
			t.Fatal("a message after the end")
		}
		packets = append(packets, event.GetPackets().GetPackets()...)
		end = event.GetEnded()
	}
}

// A capture contains the frames that pass its ports in its window, sorted by time,
// and ends with its window or with the run. Captures do not affect each other.
func TestCapturesOfALiveRun(t *testing.T) {
	r := started(t, Options{NodeLimit: NodeLimit})
	r.step(t, 30*unit.Microsecond)
	window, begun := r.captureOf(t, &rackfabv1.CaptureRequest{At: []string{"s0:h0", "r0"}, SpanPs: int64(50 * unit.Microsecond)})
	if len(begun.GetPoints()) != 2 || begun.GetFromPs() != int64(30*unit.Microsecond) || begun.GetScenario() != "looped" {
		t.Errorf("begun with %v", begun)
	}
	acks, _ := r.captureOf(t, &rackfabv1.CaptureRequest{At: []string{"h0"}, Kinds: []string{"ack"}})
	r.step(t, 40*unit.Microsecond)
	r.step(t, 40*unit.Microsecond)
	packets, end := rest(t, window)
	if end.GetAtPs() != int64(80*unit.Microsecond) || !slices.Equal(end.GetLost(), []int64{0, 0}) {
		t.Errorf("the window ended with %v", end)
	}
	last, at := int64(0), map[int32]int{}
	for _, p := range packets {
		if p.GetAtPs() < max(last, begun.GetFromPs()) || p.GetAtPs() >= end.GetAtPs() {
			t.Fatalf("a packet at %d after %d", p.GetAtPs(), last)
		}
		last = p.GetAtPs()
		at[p.GetNode()]++
	}
	if nodes := begun.GetPoints(); at[nodes[0].GetNode()] < 100 || at[nodes[1].GetNode()] < 100 || len(at) != 2 {
		t.Errorf("packets by node: %v", at)
	}
	if _, err := r.API().StopRack(t.Context(), &rackfabv1.StopRackRequest{}); err != nil {
		t.Fatal(err)
	}
	packets, end = rest(t, acks)
	if len(packets) < 50 || end.GetAtPs() != int64(110*unit.Microsecond) {
		t.Errorf("%d ACKs until %s", len(packets), unit.Time(end.GetAtPs()))
	}
}

// A capture names the scheme of its first instant, however the run began.
func TestCaptureNamesItsScheme(t *testing.T) {
	r := started(t, Options{NodeLimit: NodeLimit})
	change, at := &rackfabv1.Change{Verb: &rackfabv1.Change_Scheme{Scheme: &rackfabv1.SchemeChoice{Name: "pcn", Flows: "h*->r0"}}}, int64(20*unit.Microsecond)
	if _, err := r.API().Apply(t.Context(), &rackfabv1.ApplyRequest{Change: change, AtPs: &at}); err != nil {
		t.Fatal(err)
	}
	for from, want := range map[int64]string{0: "dcqcn", at - 1: "dcqcn", at: "dcqcn, pcn for h*->r0", at + 1: "dcqcn, pcn for h*->r0"} {
		if _, begun := r.captureOf(t, &rackfabv1.CaptureRequest{At: []string{"s0"}, FromPs: &from}); begun.GetScheme() != want {
			t.Errorf("from %s under %s, want %s", unit.Time(from), begun.GetScheme(), want)
		}
	}
}

func TestInvalidCaptures(t *testing.T) {
	r := started(t, Options{NodeLimit: NodeLimit})
	r.step(t, 10*unit.Microsecond)
	past := int64(9 * unit.Microsecond)
	refused := func(q *rackfabv1.CaptureRequest) error {
		stream, err := r.API().Capture(t.Context(), q)
		if err == nil {
			_, err = stream.Recv()
		}
		return err
	}
	for _, c := range []struct {
		q    *rackfabv1.CaptureRequest
		want codes.Code
	}{
		{&rackfabv1.CaptureRequest{}, codes.InvalidArgument},
		{&rackfabv1.CaptureRequest{At: []string{"s0:x"}}, codes.InvalidArgument},
		{&rackfabv1.CaptureRequest{At: []string{"s0"}, Kinds: []string{"pause"}}, codes.InvalidArgument},
		{&rackfabv1.CaptureRequest{At: []string{"s0"}, ToPs: past}, codes.InvalidArgument},
		{&rackfabv1.CaptureRequest{At: []string{"s0"}, ToPs: 2 * past, SpanPs: 1}, codes.InvalidArgument},
		{&rackfabv1.CaptureRequest{At: []string{"s0"}, SpanPs: -1}, codes.InvalidArgument},
		{&rackfabv1.CaptureRequest{At: []string{"s0"}, FromPs: &past}, codes.FailedPrecondition},
	} {
		if err := refused(c.q); status.Code(err) != c.want {
			t.Errorf("%v: %v, want %s", c.q, err, c.want)
		}
	}
	for range mostCaptures {
		r.captureOf(t, &rackfabv1.CaptureRequest{At: []string{"s0"}})
	}
	if err := refused(&rackfabv1.CaptureRequest{At: []string{"s0"}}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("one capture too many: %v", err)
	}
}

// Packets that a slow client cannot receive are dropped and counted at their point,
// and so are packets that the node has dropped.
func TestDroppedPacketsAreCounted(t *testing.T) {
	c := &capturing{
		points: []tap.Point{{Node: 3, Port: 1}, {Node: 4, Port: 0}}, index: map[place]int{{3, 1}: 0, {4, 0}: 1},
		batches: make(chan *rackfabv1.CapturedPackets, 1),
		refused: make([]int64, 2), missed: make([]int64, 2),
	}
	s := &captures{active: []*capturing{c}}
	packets := func(port int32, n int) (list []*rackfabv1.CapturedPacket) {
		for range n {
			list = append(list, &rackfabv1.CapturedPacket{Port: port})
		}
		return list
	}
	s.record(3, &rackfabv1.NodeCaptured{Packets: packets(1, batchPackets), Lost: []int64{9, 2}})
	s.record(4, &rackfabv1.NodeCaptured{Packets: packets(0, 5)})
	s.record(4, &rackfabv1.NodeCaptured{Packets: packets(7, 5)}) // no capture requests it
	s.record(4, &rackfabv1.NodeCaptured{Id: 7, Packets: packets(0, 5)})
	c.offer(c.present)
	if got := c.lost(); !slices.Equal(got, []int64{2, 5}) {
		t.Errorf("lost %v", got)
	}
	if b := <-c.batches; len(b.GetPackets()) != batchPackets || b.GetPackets()[0].GetNode() != 3 {
		t.Errorf("%d packets in the batch", len(b.GetPackets()))
	}
}
