package nic

import (
	"runtime"
	"slices"
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// under sets the scheme in the same way as package rack.
func under(t testing.TB, scheme string) func(*Config) {
	t.Helper()
	s, err := cc.Find(scheme)
	if err != nil {
		t.Fatal(err)
	}
	return func(c *Config) {
		c.Scheme, c.Notification, c.LaterRTT, c.Timeout = scheme, s.Notification, cc.RTTEcho, unit.Millisecond
		if s.Timestamps {
			c.RTT = cc.RTTEcho
		}
	}
}

// Frames that arrive again after flow 0 has completed and flow 1 was stopped: the receiver
// acknowledges data as before, the sender is silent, and both accept changes.
func TestLateFramesOfEndedFlows(t *testing.T) {
	for _, scheme := range cc.Names() {
		t.Run(scheme, func(t *testing.T) {
			b := newBench(t, 2, []FlowConfig{flow(0, 3000), flow(1, Endless)}, under(t, scheme))
			b.tap = func(from int, f *frame.Frame) bool {
				if from == 0 && f.ECN() == frame.ECT0 {
					f.SetECN(frame.CE)
				}
				return true
			}
			b.run(100 * us)
			b.change(0, &fabric.Change{Verb: fabric.StopFlow, Flow: 1})
			b.run(unit.Millisecond)
			if len(b.noted(0, fabric.Completed)) != 1 || len(b.noted(0, fabric.FlowStopped)) != 1 {
				t.Fatal("a flow goes on")
			}
			late, before := b.sent, b.nics[0].Stats()
			received := b.nics[1].Stats().Receivers
			b.sent = nil
			again(b, late)
			for _, f := range b.from(0, func(*frame.Frame) bool { return true }) {
				t.Fatalf("the sender sends %s", f.Class())
			}
			data := 0
			for i := range late {
				if late[i].from == 0 && late[i].UETType() != frame.UETControl {
					data++
				}
			}
			if got := b.nics[1].Stats(); got.DuplicateRequest != uint64(data) || answers(b, scheme) != data ||
				got.Receivers[0].DeliveredBytes != 3000 || got.Receivers[1].DeliveredBytes != received[1].DeliveredBytes {
				t.Errorf("%d of %d late packets are answered: %+v", answers(b, scheme), data, got)
			}
			if got := b.nics[0].Stats().Senders; !slices.Equal(got, before.Senders) {
				t.Errorf("senders were %+v, are %+v", before.Senders, got)
			}
		})
	}
}

// The next flow that is added drops the queue pairs of a flow that has ended. Late frames are answered as
// before, and counters keep what the dropped ones had counted.
func TestLateFramesOfDroppedFlows(t *testing.T) {
	for _, scheme := range []string{"pfc", "qcn", "dcqcn", "timely", "pcn", "dctcp", "swift", "hpcc", "powertcp"} {
		t.Run(scheme, func(t *testing.T) {
			b := newBench(t, 2, []FlowConfig{flow(0, 3000)}, under(t, scheme))
			b.run(unit.Millisecond)
			late, before := b.sent, b.nics[0].Stats()
			for host := range b.nics {
				b.change(host, &fabric.Change{Verb: fabric.AddFlows, Flows: []fabric.Flow{flow(1, 1000), flow(2, 1000)}[:1+host]})
			}
			b.run(2 * unit.Millisecond)
			if s, r := b.nics[0].Stats().Senders, b.nics[1].Stats().Receivers; len(s) != 1 || len(r) != 2 || s[0].Flow != 1 || r[0].Flow != 1 {
				t.Fatalf("kept senders %+v and receivers %+v", s, r)
			}
			b.sent = nil
			acks := 0
			for i, f := range late {
				b.inject(1-f.from, b.now+unit.Time(i+1)*us, f.Frame)
				if f.from == 1 && isACK(&f.Frame) {
					acks++
				}
			}
			b.run(b.now + unit.Millisecond)
			sender, receiver := b.nics[0].Stats(), b.nics[1].Stats()
			if got := answers(b, scheme); got != 3 || receiver.DuplicateRequest != 3 || receiver.Malformed != 0 {
				t.Errorf("%d of 3 late packets are acknowledged, %d count as duplicates, %d as malformed", got, receiver.DuplicateRequest, receiver.Malformed)
			}
			if want := before.RxACKs + uint64(1+acks+3); sender.RxACKs != want || sender.Malformed != 0 || len(b.from(0, func(*frame.Frame) bool { return true })) != 0 {
				t.Errorf("the sender counts %d ACKs, want %d, and %d malformed frames", sender.RxACKs, want, sender.Malformed)
			}
			sum := receiver.Ended.DeliveredBytes
			for _, r := range receiver.Receivers {
				sum += r.DeliveredBytes
			}
			if sum != 4000 {
				t.Errorf("%v delivered, want 4000B", sum)
			}
			b.change(0, &fabric.Change{Verb: fabric.AddFlows, Flows: []fabric.Flow{flow(0, 1000)}})
			if len(b.noted(0, fabric.Inapplicable)) != 1 {
				t.Error("a dropped flow was added again")
			}
		})
	}
}

// A flow that goes on keeps those before it, and what it has sent counts once.
func TestFlowsInFlightAreKept(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, 3000), flow(1, Endless)}, under(t, "pcn"))
	b.run(100 * us)
	for host := range b.nics {
		b.change(host, &fabric.Change{Verb: fabric.AddFlows, Flows: []fabric.Flow{flow(2, 1000)}})
	}
	if s, r := b.nics[0].Stats().Senders, b.nics[1].Stats().Receivers; len(s) != 3 || len(r) != 3 {
		t.Errorf("%d senders and %d receivers, want 3", len(s), len(r))
	}
}

// again delivers the frames once more, one per microsecond, and then a CNM. In between it
// makes every change that is possible.
func again(b *fabricBench, late []sentFrame) {
	start := b.now + unit.Millisecond
	for i, f := range late {
		b.inject(1-f.from, start+unit.Time(i)*us, f.Frame)
		if f.from == 0 && i < 4 {
			c := frame.CNM{Dst: frame.HostMAC(0), Src: frame.SwitchMAC(0), Feedback: 63, Priority: dataPrio}
			c.Take(&f.Frame)
			var cnm frame.Frame
			c.Build(&cnm)
			b.inject(0, start+unit.Time(i)*us+1, cnm)
		}
	}
	b.run(start + unit.Time(len(late)/2)*us)
	for host := range b.nics {
		b.change(host, &fabric.Change{Verb: fabric.Tune, Key: fabric.KeyAckEvery, Value: 7})
		b.change(host, &fabric.Change{Verb: fabric.StopFlow, Flow: 0})
		b.change(host, &fabric.Change{Verb: fabric.Choose, Name: "pcn", Pairs: []fabric.Pair{{From: 0, To: 1}}})
		b.change(host, &fabric.Change{Verb: fabric.Choose, Name: "timely", Pairs: []fabric.Pair{{From: 0, To: 1}}})
	}
	b.run(b.now + unit.Millisecond)
}

// answers returns the number of ACKs of the receiver.
func answers(b *fabricBench, scheme string) int {
	acks := b.from(1, isACK)
	if s, _ := cc.Find(scheme); s.Notification.UET() {
		acks = b.from(1, func(f *frame.Frame) bool { return f.UETType() == frame.UETAck })
	}
	return len(acks)
}

// change makes a change at a host now.
func (b *fabricBench) change(host int, c *fabric.Change) {
	var out fabric.Out
	b.nics[host].Control(b.now, c, &out)
	b.take(host, &out)
}

// Memory per ended flow in NICs, in bytes: docs/guide/live.md states these figures.
func TestMemoryOfEndedFlows(t *testing.T) {
	for scheme, most := range map[string]struct{ sender, receiver int64 }{
		"pfc": {16, 24}, "dcqcn": {16, 24}, "timely": {16, 24}, "pcn": {16, 24}, "ceth": {16, 1200},
	} {
		sender, receiver := kept(t, scheme, 1<<13)
		t.Logf("%s: %d bytes at the sender, %d at the receiver", scheme, sender, receiver)
		if sender > most.sender || receiver > most.receiver {
			t.Errorf("%s: %d bytes at the sender and %d at the receiver, want at most %+v", scheme, sender, receiver, most)
		}
	}
}

// kept returns the memory in bytes per flow of a sender's and a receiver's NIC, after the
// given number of flows have come in bursts and have ended.
func kept(t testing.TB, scheme string, flows int) (sender, receiver int64) {
	t.Helper()
	b := newBench(t, 2, nil, under(t, scheme))
	const burst = 256
	for id := 0; id < flows; id += burst {
		list := make([]fabric.Flow, burst)
		for i := range list {
			list[i] = fabric.Flow{ID: fabric.FlowID(id + i), From: 0, To: 1, Size: 1500, Start: b.now, DSCP: dataDSCP}
		}
		for host := range b.nics {
			b.change(host, &fabric.Change{Verb: fabric.AddFlows, Flows: list})
		}
		b.run(b.now + unit.Millisecond)
		if done := b.noted(0, fabric.Completed); len(done) != burst {
			t.Fatalf("%s: %d of %d flows are done", scheme, len(done), burst)
		}
		b.sent, b.notes = nil, make([][]fabric.Note, 2)
	}
	b.inbox = nil
	return memoryOf(&b.nics[0]) / int64(flows), memoryOf(&b.nics[1]) / int64(flows)
}

// memoryOf returns the memory of a NIC in bytes, and releases the NIC.
func memoryOf(n **NIC) int64 {
	before := heap()
	*n = nil
	return before - heap()
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // the second run empties pools
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
