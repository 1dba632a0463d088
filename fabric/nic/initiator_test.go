package nic

import (
	"slices"
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/qp"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// CETH-2: the destination's NIC returns the data that the source requested.
// GET-28, GET-37: a GET is a sequence of sub-requests, each answered by the
// target's own sending side.
func TestGet(t *testing.T) {
	b := newExchange(t, 1)
	b.post(0, get(7, 2500))
	b.run(unit.Millisecond)
	requests, responses := b.from(0, isReadRequest), b.from(1, isResponse)
	if got, want := psns(requests), []uint32{0, 1, 2}; !slices.Equal(got, want) {
		t.Errorf("requests %v, want %v", got, want)
	}
	for i, want := range []uint32{1000, 1000, 500} {
		r := requests[i]
		if r.DMALength() != want || r.Payload != 0 || r.DestQP() != frame.ReceiverQP(0) {
			t.Errorf("request %d asks for %d bytes at QP %#x", i, r.DMALength(), r.DestQP())
		}
		a := responses[i]
		if a.Opcode() != frame.ReadResponseOnly || a.Payload != want || a.PSN() != r.PSN() || a.DestQP() != frame.SenderQP(0) || a.MSN() != uint32(i+1) {
			t.Errorf("response %d: %v of %d bytes, PSN %d, MSN %d", i, a.Opcode(), a.Payload, a.PSN(), a.MSN())
		}
	}
	if !slices.Equal(b.done(), []uint32{7}) || b.delivered(0) != 2500 || b.delivered(1) != 0 {
		t.Errorf("done %v, %v delivered", b.done(), b.delivered(0))
	}
	if s := b.nics[0].Stats(); s.Engine.Completed != 1 || s.Receivers[0].DeliveredBytes != 2500 || s.Malformed != 0 {
		t.Errorf("%+v", s)
	}
}

// A sub-request of several packets is answered by first, middle and last packets; the
// request uses one PSN per response packet.
func TestReadResponseOfSeveralPackets(t *testing.T) {
	b := newExchange(t, 1, func(c *Config) { c.Engine.SubRequest = 3500 })
	b.post(0, get(0, 5001))
	b.run(unit.Millisecond)
	if got, want := psns(b.from(0, isReadRequest)), []uint32{0, 4}; !slices.Equal(got, want) {
		t.Errorf("requests %v, want %v", got, want)
	}
	responses := b.from(1, isResponse)
	want := []frame.Opcode{
		frame.ReadResponseFirst, frame.ReadResponseMiddle, frame.ReadResponseMiddle, frame.ReadResponseLast,
		frame.ReadResponseFirst, frame.ReadResponseLast,
	}
	if !slices.Equal(opcodes(responses), want) || !slices.Equal(psns(responses), []uint32{0, 1, 2, 3, 4, 5}) {
		t.Errorf("%v with PSNs %v", opcodes(responses), psns(responses))
	}
	if last := responses[5]; last.Payload != 504 || last.Pad() != 3 {
		t.Errorf("501 bytes travel as %d with a pad of %d", last.Payload, last.Pad())
	}
	if b.delivered(0) != 5001 || len(b.done()) != 1 {
		t.Errorf("%v delivered, done %v", b.delivered(0), b.done())
	}
}

// GET-1: the request for 2048 bytes is a packet of 78 bytes, its response one of 2114.
func TestGetIsSmallAndItsResponseLarge(t *testing.T) {
	b := newExchange(t, 1, func(c *Config) { c.Payload, c.Connections[0].Payload = 2048, 2048 })
	b.post(0, get(0, 2048))
	b.run(unit.Millisecond)
	requests, responses := b.from(0, isReadRequest), b.from(1, isResponse)
	if len(requests) != 1 || len(responses) != 1 {
		t.Fatalf("%d requests, %d responses", len(requests), len(responses))
	}
	if request, response := requests[0].Len(), responses[0].Len(); request != 78 || response != 2048+66 {
		t.Errorf("a request of %d bytes, a response of %d", request, response)
	}
}

// CETH-2: the source's NIC pushes the data of a WRITE.
// GET-30: the operations: GET above, PUT, SEND and atomics.
func TestPutAndSend(t *testing.T) {
	b := newExchange(t, 1)
	b.post(0, put(0, 2500))
	b.post(0, work.Command{ID: 1, Verb: work.Send, Size: 1001})
	b.post(0, work.Command{ID: 2, Verb: work.Send, Size: 10})
	b.run(unit.Millisecond)
	want := []frame.Opcode{frame.WriteFirst, frame.WriteMiddle, frame.WriteLast, frame.SendFirst, frame.SendLast, frame.SendOnly}
	if got := opcodes(b.from(0, isData)); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if b.delivered(1) != 3511 || !slices.Equal(b.done(), []uint32{0, 1, 2}) {
		t.Errorf("%v delivered, done %v", b.delivered(1), b.done())
	}
}

// GET-21: without translation, requests carry the addresses of the command, and the
// target uses them unchanged.
func TestQueuedAddressesAreUsedInOrder(t *testing.T) {
	b := newExchange(t, 1)
	read := get(0, 2500)
	read.Address = 0x7000_0000_1000
	b.post(0, read)
	b.post(0, work.Command{ID: 1, Verb: work.FetchAdd, Size: 8, Address: 24, Operand: 5})
	b.run(unit.Millisecond)
	var addresses []uint64
	for _, f := range b.from(0, isReadRequest) {
		var p frame.Packet
		if err := p.Parse(&f.Frame); err != nil {
			t.Fatal(err)
		}
		addresses = append(addresses, p.RETH.VA)
	}
	if want := []uint64{0x7000_0000_1000, 0x7000_0000_1000 + 1000, 0x7000_0000_1000 + 2000}; !slices.Equal(addresses, want) {
		t.Errorf("the sub-requests have addresses %#x, want %#x", addresses, want)
	}
	if got := b.nics[1].qps.Engine.Word(3); got != 5 {
		t.Errorf("the word at address 24 is %d", got)
	}
}

// GET-27, GET-30: atomics change the target's memory and return its previous value.
func TestAtomics(t *testing.T) {
	b := newExchange(t, 1)
	add := work.Command{ID: 0, Verb: work.FetchAdd, Size: 8, Address: 16, Operand: 5}
	b.post(0, add)
	b.post(0, add)
	b.post(0, work.Command{ID: 2, Verb: work.CompareSwap, Size: 8, Address: 16, Compare: 10, Operand: 77})
	b.post(0, work.Command{ID: 3, Verb: work.CompareSwap, Size: 8, Address: 16, Compare: 10, Operand: 88})
	b.run(unit.Millisecond)
	var found []uint64
	for _, f := range b.from(1, func(f *frame.Frame) bool { return f.Opcode() == frame.AtomicAcknowledge }) {
		found = append(found, f.Original())
	}
	if want := []uint64{0, 5, 10, 77}; !slices.Equal(found, want) || len(b.done()) != 4 {
		t.Errorf("found %v, want %v; done %v", found, want, b.done())
	}
	if got := b.nics[1].qps.Engine.Word(2); got != 77 {
		t.Errorf("the word is %d", got)
	}
}

// GET-32, GET-33, GET-34: a unit increments its count of outstanding packets when it
// creates one, decrements it when the response is processed, and stops at the limit.
func TestOrdPktActive(t *testing.T) {
	for name, c := range map[string]struct {
		cmd   work.Command
		limit int
	}{"get": {get(0, 100_000), 5}, "put": {put(0, 100_000), 3}} {
		b := newExchange(t, 1, func(c *Config) { c.Engine.GetLimit, c.Engine.PutLimit = 5, 3 })
		b.post(0, c.cmd)
		most := 0
		for at := us; at < unit.Millisecond; at += us {
			b.run(at)
			units := b.nics[0].Stats().Engine.Units
			i := slices.IndexFunc(units, func(u qp.UnitStats) bool { return u.Flow == 0 })
			if i >= 0 {
				most = max(most, units[i].OrdPktActive)
			}
		}
		if most != c.limit {
			t.Errorf("%s: at most %d packets outstanding, want the limit of %d", name, most, c.limit)
		}
		if len(b.done()) != 1 {
			t.Errorf("%s: not done", name)
		}
		if units := b.nics[0].Stats().Engine.Units; slices.ContainsFunc(units, func(u qp.UnitStats) bool { return u.OrdPktActive != 0 || u.Flow != fabric.NoFlow }) {
			t.Errorf("%s: units after the end: %+v", name, units)
		}
	}
}

// The window of a reaction point bounds the written and unacknowledged data. It does not
// bound data requests, which carry no data.
func TestWindowLimitsWrites(t *testing.T) {
	for name, c := range map[string]struct {
		cmd  work.Command
		most int
	}{"put": {put(0, 20_000), 3}, "get": {get(0, 20_000), 20}} {
		b := newExchange(t, 1)
		b.nics[0].qps.Senders[0].SetReaction(windowed{cc.NewFixed(testRate), 3500})
		b.post(0, c.cmd)
		b.run(5 * us)
		if got := len(b.from(0, func(f *frame.Frame) bool { return isData(f) || isReadRequest(f) })); got != c.most {
			t.Errorf("%s: %d packets before the first answer, want %d", name, got, c.most)
		}
		b.run(unit.Millisecond)
		if s := b.nics[0].Stats().Senders[0]; len(b.done()) != 1 || s.InFlightBytes != 0 {
			t.Errorf("%s: done %v, %v in flight", name, b.done(), s.InFlightBytes)
		}
	}
}

// GET-39: a unit serves the commands of its flow queue in order.
// GET-20, GET-22: it takes the next when it is free.
func TestCommandsOfAFlowRunInOrder(t *testing.T) {
	b := newExchange(t, 1)
	for id := range uint32(6) {
		cmd := get(id, 2000)
		if id%2 == 1 {
			cmd = put(id, 2000)
		}
		b.post(0, cmd)
	}
	b.run(unit.Millisecond)
	var sent []uint32
	for _, f := range b.from(0, func(f *frame.Frame) bool { return f.Opcode() != frame.Acknowledge }) {
		sent = append(sent, uint32(f.Trace))
	}
	if !slices.IsSorted(sent) || len(sent) != 12 {
		t.Errorf("packets of the commands %v", sent)
	}
	if len(b.done()) != 6 {
		t.Errorf("done %v", b.done())
	}
}

// GET-23: the unit passes the class and size of its packet to the shaper, which decides by
// them whether to admit the packet.
func TestShaperReceivesClassAndSize(t *testing.T) {
	b := newExchange(t, 1, func(c *Config) {
		c.Engine.Classes[0].Branch.Out.Ceiling = shaper.Limit{Rate: 8 * unit.MegabitPerSec, Depth: 2000}
		c.Engine.Out = shaper.Limit{Rate: 1, Depth: 10_000}
	})
	b.post(0, put(0, 2000))
	b.run(unit.Millisecond)
	writes := b.from(0, isData)
	// 1078 and 1062 bytes: the class lacks 140 tokens for the second packet. It gains one
	// token per microsecond.
	if len(writes) != 2 || writes[1].start != 140*us {
		t.Errorf("%d writes, the second at %v", len(writes), writes[1].start)
	}
	if got := b.nics[0].Stats().Engine.OutTokens; got != 10_000-1078-1062 {
		t.Errorf("%d tokens left of 10000, want both frames charged", got)
	}
}

// GET-38: a data request is identified by the header that the unit built: only a READ
// request costs tokens for its response.
func TestOnlyReadRequestsAreDataRequests(t *testing.T) {
	b := newExchange(t, 1)
	b.post(0, get(0, 1000))
	b.post(0, put(1, 1000))
	b.post(0, work.Command{ID: 2, Verb: work.Send, Size: 1000})
	b.post(0, work.Command{ID: 3, Verb: work.FetchAdd, Size: 8})
	b.run(unit.Millisecond)
	requested := unit.Bytes(0)
	for _, n := range b.noted(0, fabric.Requested) {
		requested += n.Response()
	}
	if reads := len(b.from(0, isReadRequest)); reads != 1 || requested != 1040 || len(b.done()) != 4 {
		t.Errorf("%d READ requests, %v of responses requested, done %v", reads, requested, b.done())
	}
}
