package nic

import (
	"slices"
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// CETH-7: the destination answers with an ACK that identifies the delivered packets to
// the source.
func TestEveryPacketIsAcknowledged(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, 5000)})
	b.run(unit.Millisecond)
	acks := b.from(1, isACK)
	if want := []uint32{0, 1, 2, 3, 4}; !slices.Equal(psns(acks), want) {
		t.Errorf("ACKs of %v, want %v", psns(acks), want)
	}
	last := acks[4]
	if last.MSN() != 1 || acks[3].MSN() != 0 || last.DestQP() != frame.SenderQP(0) || last.DSCP() != ctrlDSCP || last.ECN() != frame.NotECT {
		t.Errorf("MSN %d, QP %#x, DSCP %d", last.MSN(), last.DestQP(), last.DSCP())
	}
}

// One ACK covers AckEvery packets; the last of a message is acknowledged at once.
func TestACKsAreCoalesced(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, 10_000)}, func(c *Config) { c.AckEvery = 4 })
	b.run(unit.Millisecond)
	if got, want := psns(b.from(1, isACK)), []uint32{3, 7, 9}; !slices.Equal(got, want) {
		t.Errorf("ACKs of %v, want %v", got, want)
	}
	requested := b.from(0, func(f *frame.Frame) bool { return isData(f) && f.AckReq() })
	if got, want := psns(requested), []uint32{3, 7, 9}; !slices.Equal(got, want) {
		t.Errorf("ACKs requested at %v, want %v", got, want)
	}
	if len(b.noted(0, fabric.Completed)) != 1 {
		t.Error("not completed")
	}
}

// A packet with AckReq is acknowledged at once, whatever AckEvery says.
func TestAckReqIsAnsweredAtOnce(t *testing.T) {
	n := mustNew(t, config(1, []FlowConfig{flow(0, Endless)}, func(c *Config) { c.AckEvery = 100 }))
	var out fabric.Out
	f := dataFrame(frame.WriteFirst, 0, 1_000_000, 1000)
	n.Arrive(1, 0, &f, &out)
	if n.qps.Control.Len() != 0 {
		t.Fatal("acknowledged without a request")
	}
	p := frame.Packet{}
	if err := p.Parse(&f); err != nil {
		t.Fatal(err)
	}
	p.BTH.Opcode, p.BTH.PSN, p.BTH.AckReq = frame.WriteMiddle, 1, true
	p.Build(&f)
	n.Arrive(2, 0, &f, &out)
	if n.qps.Control.Len() != 1 {
		t.Error("not acknowledged")
	}
}

// The last packet of a message is acknowledged at once, even without AckReq.
func TestLastOfAMessageIsAcknowledgedAtOnce(t *testing.T) {
	n := mustNew(t, config(1, []FlowConfig{flow(0, 1000)}, func(c *Config) { c.AckEvery = 100 }))
	var out fabric.Out
	f := dataFrame(frame.WriteOnly, 0, 1000, 1000)
	n.Arrive(1, 0, &f, &out)
	if f.AckReq() || n.qps.Control.Len() != 1 {
		t.Errorf("%d ACKs queued", n.qps.Control.Len())
	}
}

// A duplicate is acknowledged again with the last in-order PSN. It is not delivered twice.
func TestDuplicateIsAcknowledgedAgain(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, 3000)}, func(c *Config) { c.Timeout = 100 * us })
	b.tap = func(from int, f *frame.Frame) bool { return from == 0 || b.now > 50*us } // ACKs are lost at first
	b.run(unit.Millisecond)
	acks := b.from(1, isACK)
	if got, want := psns(acks), []uint32{0, 1, 2, 2, 2, 2}; !slices.Equal(got, want) {
		t.Errorf("ACKs of %v, want %v", got, want)
	}
	s := b.nics[1].Stats()
	if s.Receivers[0].DeliveredBytes != 3000 || s.DuplicateRequest != 3 {
		t.Errorf("%d bytes delivered, %d duplicates", s.Receivers[0].DeliveredBytes, s.DuplicateRequest)
	}
	if n := b.noted(0, fabric.Completed); len(n) != 1 || n[0].Bytes() != 3000 || n[0].Start() != 0 {
		t.Errorf("Completed %+v", n)
	}
}

// ACKs are cumulative: the loss of one has no effect.
func TestLostACKIsCoveredByTheNext(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, 100_000)})
	odd := 0
	b.tap = func(from int, f *frame.Frame) bool { odd++; return from == 0 || odd%2 == 0 || f.PSN() == 99 }
	b.run(unit.Millisecond)
	if len(b.noted(0, fabric.Retransmitted)) != 0 || len(b.noted(0, fabric.Completed)) != 1 {
		t.Error("not completed without a resend")
	}
}

// An ACK for a packet that was never sent has no effect, nor has an old ACK.
func TestACKForAnUnsentPacketIsIgnored(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, 10_000_000)})
	b.run(50 * us)
	r, _ := b.nics[0].qps.Flow(0)
	acked, high := r.Window()
	for _, psn := range []uint32{uint32(high), uint32(high) + 1000, 0, 1<<24 - 5} {
		for _, syndrome := range []uint8{frame.SyndromeACK, frame.SyndromeNAKSequence} {
			p := frame.Packet{
				Src: frame.HostIP(1), Dst: frame.HostIP(0), AETH: frame.AETH{Syndrome: syndrome},
				BTH: frame.BTH{Opcode: frame.Acknowledge, DestQP: frame.SenderQP(0), PSN: psn},
			}
			var f frame.Frame
			p.Build(&f)
			var out fabric.Out
			if syndrome == frame.SyndromeNAKSequence && psn == uint32(high) {
				continue // acknowledges all sent packets
			}
			b.nics[0].Arrive(b.now, 0, &f, &out)
			if got, _ := r.Window(); got != acked {
				t.Fatalf("PSN %d, syndrome %#x: acknowledged up to %d, was %d", psn, syndrome, got, acked)
			}
		}
	}
}

// RFC 8257 §3.2: under the echo of marks, each ACK covers packets of one mark, and reports it
// to the sender in BECN.
func TestACKsEchoMarks(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, 10_000)}, func(c *Config) {
		c.AckEvery, c.Scheme, c.Notification = 4, "dctcp", cc.NotifyEcho
		c.CC = cc.Default()
	})
	b.tap = func(from int, f *frame.Frame) bool {
		if from == 0 && isData(f) && (f.PSN() == 5 || f.PSN() == 6) {
			f.SetECN(frame.CE)
		}
		return true
	}
	b.run(unit.Millisecond)
	acks := b.from(1, isACK)
	if got, want := psns(acks), []uint32{3, 4, 5, 6, 7, 9}; !slices.Equal(got, want) {
		t.Errorf("ACKs of %v, want %v", got, want)
	}
	for _, a := range acks {
		if marked := a.PSN() == 5 || a.PSN() == 6; a.BECN() != marked {
			t.Errorf("ACK of %d: BECN %v", a.PSN(), a.BECN())
		}
	}
	if cuts := b.noted(0, fabric.RateChanged); len(cuts) == 0 || cuts[0].Rate() != b.nics[0].cfg.Rate/2 {
		t.Errorf("rates %+v, want half of the line after the first echo", cuts)
	}
}
