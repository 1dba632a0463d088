package nic

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

func pcn(c *Config) { c.Scheme, c.Notification = "pcn", cc.NotifyPCN }

// mark makes the bench mark data frames of host 0: marked of every total.
func (b *fabricBench) mark(marked, total int) {
	count := 0
	b.tap = func(from int, f *frame.Frame) bool {
		if from == 0 && isData(f) {
			if count%total < marked {
				f.SetECN(frame.CE)
			}
			count++
		}
		return true
	}
}

// PCN-32, PCN-43: a CNP per flow every 50 us from its first packet on.
// PCN-37: also to increase the rate.
func TestCNPEvery50us(t *testing.T) {
	f := flow(0, Endless)
	f.Start, f.Initial = 3*us, 10*gbps
	b := newBench(t, 2, []FlowConfig{f, flow(1, Endless)}, pcn)
	b.run(500 * us)
	first := map[uint32]unit.Time{}
	for _, f := range b.from(0, isData) {
		if id, _, _ := frame.FlowOfQP(f.DestQP()); first[id] == 0 {
			first[id] = f.Arrival
		}
	}
	count := map[fabric.FlowID]unit.Time{}
	for _, n := range b.noted(1, fabric.Notified) {
		count[n.Flow]++
		if want := first[uint32(n.Flow)] + count[n.Flow]*50*us; n.At != want || n.Congested() {
			t.Errorf("flow %d: CNP %d at %v, want %v; congested %t", n.Flow, count[n.Flow], n.At, want, n.Congested())
		}
	}
	if count[0] != 9 || count[1] != 9 {
		t.Errorf("CNPs by flow %v, want 9 each", count)
	}
}

// PCN-39, PCN-40: a RoCEv2 CNP indicates by CE in its IP header whether the flow is
// congested; its RecRate is in Mbit/s.
// PCN-41: RecRate is filled in both cases.
func TestCNPFormat(t *testing.T) {
	for _, c := range []struct {
		marked int
		want   frame.ECN
	}{{0, frame.ECT0}, {1, frame.CE}} {
		f := flow(5, Endless)
		f.Initial = 10 * gbps
		b := newBench(t, 2, []FlowConfig{f}, pcn)
		b.mark(c.marked, 1)
		b.run(60 * us)
		cnp := b.from(1, isCNP)[0]
		var p frame.Packet
		if err := p.Parse(&cnp.Frame); err != nil {
			t.Fatal(err)
		}
		if p.ECN != c.want || p.DSCP != ctrlDSCP || p.BTH.DestQP != frame.SenderQP(5) || p.BTH.PSN != 0 || p.BTH.AckReq || !p.BTH.BECN ||
			p.Dst != frame.HostIP(0) || cnp.Len() != 78 {
			t.Errorf("%+v, %d bytes", p, cnp.Len())
		}
		if p.RecRate < 9_900 || p.RecRate > 10_200 {
			t.Errorf("RecRate is %d Mbit/s at 10 Gbit/s", p.RecRate)
		}
	}
}

// PCN-33: 19 of 20 packets marked are congestion, 18 of 20 are not.
// PCN-16: the switch marks packets, and the end system decides: 18 marks in a period are
// signals, but not congestion.
// PCN-42: on a packet: count; on the timer: classify, compute, send, clear.
func TestCNPClassification(t *testing.T) {
	for _, c := range []struct {
		marked int
		want   bool
	}{{0, false}, {18, false}, {19, true}, {20, true}} {
		f := flow(0, Endless)
		f.Initial = 10 * gbps
		b := newBench(t, 2, []FlowConfig{f}, pcn, func(c *Config) {
			// 20 frames in T: the first period has one more packet, at its start.
			c.CC.PCN.Period = 20 * f.Initial.Serialise(dataHeader+1000)
		})
		b.nics[0].qps.Senders[0].SetReaction(cc.NewFixed(f.Initial))
		b.mark(c.marked, 20)
		b.run(10 * b.nics[1].cfg.CC.PCN.Period)
		for _, n := range b.noted(1, fabric.Notified)[1:] {
			if n.Congested() != c.want {
				t.Errorf("%d of 20 marked: congested %t, want %t", c.marked, n.Congested(), c.want)
			}
		}
	}
}

// PCN-34, PCN-36: RecRate is the bytes on the wire received in T, over T, in the unit of
// the sender's pacer, so that an unhindered flow is received at its rate.
func TestRecRateIsInTheUnitOfThePacer(t *testing.T) {
	for _, overhead := range []unit.Bytes{0, 20} {
		f := flow(0, Endless)
		f.Initial = 10 * gbps
		b := newBench(t, 2, []FlowConfig{f}, pcn, func(c *Config) { c.Overhead = overhead })
		b.nics[0].qps.Senders[0].SetReaction(cc.NewFixed(f.Initial))
		b.run(1050 * us)
		var sum uint32
		periods := b.noted(1, fabric.Notified)[1:]
		for _, n := range periods {
			sum += n.RecRate()
		}
		if mean := float64(sum) / float64(len(periods)); mean < 9_990 || mean > 10_010 {
			t.Errorf("overhead %d: mean RecRate %v Mbit/s, want 10000", overhead, mean)
		}
	}
}

// PCN-35: the rate of a flow whose packets are more than T apart is measured by their
// distance.
func TestRecRateOfASlowFlow(t *testing.T) {
	f := flow(0, Endless)
	f.Initial = 50 * unit.MegabitPerSec // a frame every 170 us
	b := newBench(t, 2, []FlowConfig{f}, pcn)
	b.nics[0].qps.Senders[0].SetReaction(cc.NewFixed(f.Initial))
	b.run(2 * unit.Millisecond)
	cnps := b.noted(1, fabric.Notified)
	for _, n := range cnps[2:] { // the first frame is longer than the following ones
		if n.RecRate() != 50 {
			t.Errorf("RecRate is %d Mbit/s, want 50", n.RecRate())
		}
	}
	if len(cnps) != 12 {
		t.Errorf("%d CNPs for 12 packets", len(cnps))
	}
}

// PCN-38: no CNP after a period without packets, and no timer in an idle NIC.
func TestIdleFlowGetsNoCNP(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, 100_000)}, pcn)
	b.run(unit.Millisecond)
	if got := len(b.from(1, isCNP)); got != 1 {
		t.Errorf("%d CNPs for a flow of 21 us", got)
	}
	for host, n := range b.nics {
		if at, ok := n.Next(); ok {
			t.Errorf("host %d wants a tick at %v", host, at)
		}
	}
}

// PCN-46, PCN-48: CNPs on the wire decrease and increase the sender's rate.
func TestCNPsMoveTheRate(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, Endless)}, pcn)
	b.inject(0, 10*us, cnpFrame(frame.CE, 8_000))
	b.run(20 * us)
	want := unit.Rate(8_000_000_000 * 127 / 128)
	if got := b.nics[0].Stats().Senders[0].Rate; got != want {
		t.Errorf("fell to %v, want %v", got, want)
	}
	moved := b.noted(0, fabric.RateChanged)
	if len(moved) != 1 || moved[0].Rate() != want || moved[0].OldRate() != testRate || moved[0].At != 10*us {
		t.Errorf("RateChanged %+v", moved)
	}
	b.inject(0, 30*us, cnpFrame(frame.ECT0, 1))
	b.run(40 * us)
	want += (testRate - want) / 128
	if got := b.nics[0].Stats().Senders[0].Rate; got < want-2 || got > want+2 {
		t.Errorf("rose to %v, want %v", got, want)
	}
	in := b.noted(0, fabric.NotificationIn)
	if len(in) != 2 || !in[0].Congested() || in[0].RecRate() != 8000 || in[1].Congested() || in[1].RecRate() != 1 {
		t.Errorf("NotificationIn %+v", in)
	}
	gap := b.nics[0].Stats().Senders[0].Rate.Serialise(dataHeader + 1000)
	data := b.from(0, isData)
	if got := data[len(data)-1].start - data[len(data)-2].start; got < gap-1 || got > gap+1 {
		t.Errorf("frames are %v apart, want %v", got, gap)
	}
}

// A rate increase takes effect on the waiting frame, not only on the one after it.
func TestRaiseShortensTheWait(t *testing.T) {
	f := flow(0, Endless)
	f.Initial = 10 * unit.MegabitPerSec // a frame every 850 us
	b := newBench(t, 2, []FlowConfig{f}, pcn)
	b.inject(0, 100*us, cnpFrame(frame.ECT0, 0)) // to about 322 Mbit/s
	b.run(200 * us)
	if got := len(b.from(0, isData)); got < 4 {
		t.Errorf("%d frames in 200 us", got)
	}
}

// A CNP for a flow that has not begun, or has ended, is ignored.
func TestCNPForASilentFlowIsIgnored(t *testing.T) {
	f := flow(0, 1000)
	f.Start = 50 * us
	b := newBench(t, 2, []FlowConfig{f}, pcn, func(c *Config) { c.Notification = cc.NotifyNone })
	b.inject(0, 10*us, cnpFrame(frame.CE, 1))
	b.inject(0, 90*us, cnpFrame(frame.CE, 1))
	b.run(unit.Millisecond)
	if s := b.nics[0].Stats(); s.RPCNPIgnored != 2 || len(b.noted(0, fabric.RateChanged)) != 0 {
		t.Errorf("%+v", s)
	}
}

// cnpFrame returns a CNP from host 1 for flow 0.
func cnpFrame(ecn frame.ECN, recRate uint32) frame.Frame {
	var f frame.Frame
	p := frame.Packet{
		Src: frame.HostIP(1), Dst: frame.HostIP(0), ECN: ecn, RecRate: recRate,
		BTH: frame.BTH{Opcode: frame.OpcodeCNP, DestQP: frame.SenderQP(0)},
	}
	p.Build(&f)
	return f
}
