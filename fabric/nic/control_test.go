package nic

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/control"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Control packets precede data when the link is free.
func TestControlGoesFirst(t *testing.T) {
	flows := []FlowConfig{flow(0, Endless), {ID: 1, From: 1, To: 0, Size: Endless}}
	b := newBench(t, 2, flows)
	b.run(100 * us)
	arrived := map[uint32]unit.Time{}
	for _, f := range b.from(0, isData) {
		arrived[f.PSN()] = f.Arrival
	}
	most := testRate.Serialise(dataHeader + 1000)
	for _, f := range b.from(1, isACK) {
		if wait := f.start - arrived[f.PSN()]; wait > most {
			t.Fatalf("the ACK of %d waits %v, more than one data frame", f.PSN(), wait)
		}
	}
}

// CETH-9: the receiver has an upper limit on its packet rate; when traffic is
// heavy, ACKs queue behind one another and are delayed.
func TestControlRateLimit(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, 100_000)}, func(c *Config) { c.ControlRate = 1_000_000 })
	b.run(unit.Millisecond)
	acks := b.from(1, isACK)
	if len(acks) != 100 {
		t.Fatalf("%d ACKs", len(acks))
	}
	for i, f := range acks[1:] {
		if f.start-acks[i].start != us {
			t.Fatalf("ACKs %d and %d start %v apart, want 1 us", i, i+1, f.start-acks[i].start)
		}
	}
	received := b.noted(1, fabric.Received)
	if wait := acks[99].start - received[99].At; wait < 70*us {
		t.Errorf("the last ACK waits %v", wait)
	}
}

// The control queue is bounded. Packets that exceed it are dropped and noted.
func TestControlQueueLimit(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, 100_000)}, func(c *Config) {
		c.ControlRate, c.ControlQueue, c.Timeout = 1_000_000, 4, 100*us
	})
	b.run(10 * unit.Millisecond)
	lost := b.noted(1, fabric.Dropped)
	if len(lost) == 0 || uint64(len(lost)) != b.nics[1].Stats().ControlQueueDrops {
		t.Fatalf("%d drops noted, %d counted", len(lost), b.nics[1].Stats().ControlQueueDrops)
	}
	if d := lost[0]; d.Reason() != fabric.DropControlQueue || d.Bytes() != 66 || d.Priority != ctrlPrio || d.Flow != 0 {
		t.Errorf("%+v", d)
	}
	if sent := len(b.from(1, isACK)); sent+len(lost) != int(b.nics[1].Stats().Receivers[0].ReceivedPackets) {
		t.Errorf("%d sent and %d lost", sent, len(lost))
	}
	if len(b.noted(0, fabric.Completed)) != 1 {
		t.Error("not completed")
	}
}

// ACKs may travel in the class of the data that they answer. A PAUSE of that class delays
// them, and a CNP, which is in the control class, overtakes them. A PAUSE of the control
// class delays the CNP alone.
func TestACKsInTheDataClass(t *testing.T) {
	for _, withData := range []bool{false, true} {
		for _, paused := range []fabric.Priority{dataPrio, ctrlPrio} {
			b := newBench(t, 2, []FlowConfig{flow(0, 100_000)}, func(c *Config) {
				c.AckWithData, c.Notification, c.CC.DCQCN.CNPInterval = withData, cc.NotifyDCQCN, 0
			})
			b.tap = func(from int, f *frame.Frame) bool {
				if from == 0 && isData(f) {
					f.SetECN(frame.CE)
				}
				return true
			}
			b.inject(1, us, pfc(paused, 0xffff))
			b.inject(1, 200*us, pfc(paused, 0))
			b.run(300 * us)
			acks, cnps := b.from(1, isACK), b.from(1, isCNP)
			if len(acks) != 100 || len(cnps) == 0 {
				t.Fatalf("%d ACKs, %d CNPs", len(acks), len(cnps))
			}
			class := fabric.Priority(ctrlPrio)
			if withData {
				class = dataPrio
			}
			if got := b.nics[0].qps.ClassOf(&acks[0].Frame); got != class {
				t.Errorf("with data %v: ACKs in class %d, want %d", withData, got, class)
			}
			if got := b.nics[0].qps.ClassOf(&cnps[0].Frame); got != ctrlPrio {
				t.Errorf("with data %v: CNPs in class %d", withData, got)
			}
			if late := acks[0].start >= 200*us; late != (class == paused) {
				t.Errorf("with data %v, class %d paused: the first ACK starts at %s", withData, paused, acks[0].start)
			}
			if late := cnps[0].start >= 200*us; late != (paused == ctrlPrio) {
				t.Errorf("with data %v, class %d paused: the first CNP starts at %s", withData, paused, cnps[0].start)
			}
		}
	}
}

// The classes share the capacity of the control queue.
func TestControlQueueLimitSpansClasses(t *testing.T) {
	n := mustNew(t, config(1, []FlowConfig{flow(0, 5000)}, func(c *Config) { c.AckWithData, c.ControlQueue = true, 2 }))
	var out fabric.Out
	r := n.qps.Responders[0]
	for i, c := range []control.Packet{{Kind: control.ACK, From: r, DSCP: dataDSCP}, {Kind: control.CNP, From: r}, {Kind: control.ACK, From: r, DSCP: dataDSCP}} {
		if room := n.qps.Control.Put(0, &c, &out); room != (i < 2) {
			t.Errorf("packet %d: room %v", i, room)
		}
	}
	if d := out.Notes[len(out.Notes)-1]; d.Kind != fabric.Dropped || d.Priority != dataPrio {
		t.Errorf("%+v", d)
	}
}

// Unexpected frames are discarded and noted: for an unknown queue pair, for another host,
// from a host other than the peer, with an unsupported opcode, or not fitting the message.
func TestMalformed(t *testing.T) {
	change := func(edit func(*frame.Packet)) frame.Frame {
		f := dataFrame(frame.WriteFirst, 0, 5000, 1000)
		var p frame.Packet
		if err := p.Parse(&f); err != nil {
			t.Fatal(err)
		}
		edit(&p)
		p.Build(&f)
		return f
	}
	for name, f := range map[string]frame.Frame{
		"empty":              {},
		"unknown queue pair": change(func(p *frame.Packet) { p.BTH.DestQP = frame.ReceiverQP(9) }),
		"management":         change(func(p *frame.Packet) { p.BTH.DestQP = 1 }),
		"data for a sender":  change(func(p *frame.Packet) { p.BTH.DestQP = frame.SenderQP(0) }),
		"another host's":     change(func(p *frame.Packet) { p.Dst = frame.HostIP(2) }),
		"a stranger's":       change(func(p *frame.Packet) { p.Src = frame.HostIP(2) }),
		"send":               change(func(p *frame.Packet) { p.BTH.Opcode = frame.SendOnly }),
		"immediate data":     change(func(p *frame.Packet) { p.BTH.Opcode = frame.WriteOnlyImm }),
		"middle first":       dataFrame(frame.WriteMiddle, 0, 0, 1000),
		"last first":         dataFrame(frame.WriteLast, 0, 0, 1000),
		"only, too long":     dataFrame(frame.WriteOnly, 0, 996, 1000),
		"first, whole":       dataFrame(frame.WriteFirst, 0, 1000, 1000),
		"first, empty":       dataFrame(frame.WriteFirst, 0, 1000, 0),
		"acknowledge":        change(func(p *frame.Packet) { p.BTH.Opcode, p.Payload = frame.Acknowledge, 0 }),
	} {
		n := mustNew(t, config(1, []FlowConfig{flow(0, 5000)}))
		var out fabric.Out
		n.Arrive(1, 0, &f, &out)
		if len(out.Notes) != 1 || out.Notes[0].Kind != fabric.Malformed || out.Notes[0].Bytes() != f.Len() || n.Stats().Malformed != 1 {
			t.Errorf("%s: %+v", name, out.Notes)
		}
		if n.qps.Responders[0].Expected() != 0 || n.qps.Control.Len() != 0 {
			t.Errorf("%s: took effect", name)
		}
	}
}

// RTTX-6: a receiver may swap the UDP ports in its answers, so that the 5-tuple of the ACK
// is the reverse of the data packet's. The sender accepts such an ACK.
func TestMirroredPortsOfAnACK(t *testing.T) {
	for _, mirror := range []bool{false, true} {
		b := newBench(t, 2, []FlowConfig{flow(0, 10_000)}, func(c *Config) { c.MirrorPorts = mirror })
		b.run(unit.Millisecond)
		data, acks := b.from(0, isData), b.from(1, isACK)
		for _, f := range acks {
			want := [2]uint16{data[0].SrcPort(), data[0].DstPort()}
			if mirror {
				want[0], want[1] = want[1], want[0]
			}
			if got := [2]uint16{f.SrcPort(), f.DstPort()}; got != want {
				t.Fatalf("mirror %v: ports %v, want %v", mirror, got, want)
			}
		}
		if got := len(b.noted(0, fabric.Completed)); got != 1 || len(acks) != 10 {
			t.Errorf("mirror %v: %d flows completed, %d ACKs", mirror, got, len(acks))
		}
	}
}

// A NIC discards an acknowledgement with an unknown syndrome, and a PFC frame with nonzero
// padding.
func TestMalformedControl(t *testing.T) {
	var nak, pause frame.Frame
	p := frame.Packet{
		Src: frame.HostIP(1), Dst: frame.HostIP(0), AETH: frame.AETH{Syndrome: 0x7f},
		BTH: frame.BTH{Opcode: frame.Acknowledge, DestQP: frame.SenderQP(0)},
	}
	p.Build(&nak)
	pause = pfc(dataPrio, 9)
	pause.Header()[59] = 1
	for _, f := range []frame.Frame{nak, pause} {
		n := mustNew(t, config(0, []FlowConfig{flow(0, 5000)}))
		var out fabric.Out
		n.Arrive(1, 0, &f, &out)
		if len(out.Notes) != 1 || out.Notes[0].Kind != fabric.Malformed || n.pauses.Set() != 0 {
			t.Errorf("%v: %+v", f.Class(), out.Notes)
		}
	}
}
