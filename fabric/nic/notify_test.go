package nic

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

func dcqcn(c *Config) { c.Scheme, c.Notification = "dcqcn", cc.NotifyDCQCN }

// starts returns the starts of transmission of the frames.
func starts(frames []sentFrame) []unit.Time {
	list := make([]unit.Time, len(frames))
	for i := range frames {
		list[i] = frames[i].start
	}
	return list
}

// PCN-2: DCQCN's notification point answers the first marked packet at once. While marks
// continue, it sends one CNP per flow every 50 us.
func TestDCQCNNotificationPoint(t *testing.T) {
	f := flow(0, Endless)
	f.Initial = 10 * gbps
	b := newBench(t, 2, []FlowConfig{f}, dcqcn)
	b.nics[0].qps.Senders[0].SetReaction(cc.NewFixed(f.Initial))
	b.mark(1, 1)
	b.run(400 * us)
	first := b.from(0, isData)[0].Arrival
	got := b.noted(1, fabric.Notified)
	if len(got) != 8 {
		t.Fatalf("%d CNPs in 400 us", len(got))
	}
	for i, n := range got {
		if want := first + unit.Time(i)*50*us; n.At != want || !n.Congested() {
			t.Errorf("CNP %d: %+v, want one at %s", i, n, want)
		}
	}
}

// No mark, no CNP, and no timer.
func TestDCQCNIsSilentWithoutMarks(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, 100_000)}, dcqcn)
	b.run(unit.Millisecond)
	if got := b.from(1, isCNP); len(got) != 0 {
		t.Errorf("%d CNPs", len(got))
	}
	if at, ok := b.nics[1].Next(); ok {
		t.Errorf("the receiver wants a tick at %s", at)
	}
}

// A CNP of DCQCN is the plain CNP of RoCEv2: ECN-capable and without a rate. It cuts the
// sender's rate regardless of its ECN field.
func TestDCQCNCNPIsPlain(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, Endless)}, dcqcn)
	b.mark(1, 1_000_000)
	b.run(40 * us)
	var p frame.Packet
	cnp := b.from(1, isCNP)[0]
	if err := p.Parse(&cnp.Frame); err != nil || p.ECN != frame.ECT0 || p.RecRate != 0 || p.BTH.DestQP != frame.SenderQP(0) {
		t.Errorf("%+v (%v)", p, err)
	}
	if s := b.nics[0].Stats(); s.Senders[0].Rate != testRate/2 || s.RPCNPHandled != 1 {
		t.Errorf("rate %v after %d CNPs", s.Senders[0].Rate, s.RPCNPHandled)
	}
}

// The sender's rate recovers by the timer of the reaction point, without ACKs.
func TestDCQCNRecovers(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, Endless)}, dcqcn)
	b.mark(1, 1_000_000)
	b.run(5 * unit.Millisecond)
	if got := b.nics[0].Stats().Senders[0].Rate; got < testRate-testRate/100 {
		t.Errorf("5 ms after one CNP the rate is %v", got)
	}
}

// With a minimum gap per port, CNPs of different flows keep that gap, and leave in the
// order in which the flows were marked.
func TestDCQCNGapBetweenCNPs(t *testing.T) {
	flows := []FlowConfig{flow(0, Endless), flow(1, Endless), flow(2, Endless)}
	b := newBench(t, 2, flows, dcqcn, func(c *Config) { c.CC.DCQCN.CNPGap = 20 * us })
	for i := range flows {
		b.nics[0].qps.Senders[i].SetReaction(cc.NewFixed(10 * gbps))
	}
	b.mark(1, 1)
	b.run(400 * us)
	count := map[uint32]int{}
	cnps := b.from(1, isCNP)
	at := starts(cnps)
	for i, f := range cnps {
		id, _, _ := frame.FlowOfQP(f.DestQP())
		count[id]++
		if i > 0 && at[i]-at[i-1] < 19*us { // an ACK may be in transmission
			t.Errorf("CNPs at %s and %s", at[i-1], at[i])
		}
	}
	if len(cnps) < 18 || count[0] < 5 || count[1] < 5 || count[2] < 5 {
		t.Errorf("CNPs by flow: %v", count)
	}
}

// cnmFrame returns a CNM of a switch for a data packet of flow 0 from host 0.
func cnmFrame(feedback uint8) frame.Frame {
	data, f := dataFrame(frame.WriteMiddle, 9, 0, 1000), frame.Frame{}
	m := frame.CNM{Src: frame.SwitchMAC(0), Feedback: feedback}
	m.Take(&data)
	m.Build(&f)
	return f
}

// PCN-2: a CNM of QCN identifies the flow by the sampled packet that it returns, and cuts
// the flow's rate by its feedback.
func TestCNMCutsItsFlow(t *testing.T) {
	flows := []FlowConfig{flow(0, Endless), flow(1, Endless)}
	b := newBench(t, 2, flows, func(c *Config) { c.Scheme = "qcn" })
	b.inject(0, 10*us, cnmFrame(32))
	b.run(20 * us)
	s := b.nics[0].Stats()
	if s.Senders[0].Rate != testRate*3/4 || s.Senders[1].Rate != testRate || s.CNMHandled != 1 {
		t.Errorf("%+v", s.Senders)
	}
	if in := b.noted(0, fabric.CNMIn); len(in) != 1 || in[0].Feedback() != 32 || in[0].Flow != 0 || in[0].At != 10*us {
		t.Errorf("%+v", in)
	}
}

// A CNM for a flow that has not begun or has ended is counted. A CNM for a flow that this
// host does not have is malformed.
func TestCNMOfAnUnknownFlow(t *testing.T) {
	f := flow(0, 1000)
	f.Start = 50 * us
	b := newBench(t, 2, []FlowConfig{f}, func(c *Config) { c.Scheme = "qcn" })
	b.inject(0, 10*us, cnmFrame(32))
	b.inject(0, 200*us, cnmFrame(16))
	b.inject(1, 10*us, cnmFrame(32))
	data, short := dataFrame(frame.WriteMiddle, 9, 0, 1000), frame.Frame{}
	m := frame.CNM{Src: frame.SwitchMAC(0), Feedback: 32}
	m.Take(&data)
	m.SampleLen = 20
	m.Build(&short)
	b.inject(0, 60*us, short)
	b.run(unit.Millisecond)
	s := b.nics[0].Stats()
	if s.CNMIgnored != 2 || s.CNMHandled != 0 || s.Malformed != 1 || b.nics[1].Stats().Malformed != 1 || s.Senders[0].Rate != testRate {
		t.Errorf("%+v", s)
	}
}

// A congestion point may sample an ACK that travels with data. The CNM goes to the host
// that sent the ACK. The host has no rate to cut, so it counts and ignores the CNM.
func TestCNMForAnACK(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, Endless)}, func(c *Config) { c.Scheme, c.AckWithData = "qcn", true })
	b.run(50 * us)
	ack := b.from(1, isACK)[0].Frame
	m := frame.CNM{Src: frame.SwitchMAC(0), Feedback: 32}
	m.Take(&ack)
	var f frame.Frame
	m.Build(&f)
	b.inject(1, 60*us, f)
	b.run(100 * us)
	if s := b.nics[1].Stats(); s.CNMIgnored != 1 || s.Malformed != 0 {
		t.Errorf("%d ignored, %d malformed", s.CNMIgnored, s.Malformed)
	}
}
