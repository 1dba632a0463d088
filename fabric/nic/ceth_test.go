package nic

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// aggregated makes NICs report congestion in ACKs, with a time window of 20 us.
func aggregated(change ...func(*cc.CETHParams)) func(*Config) {
	return func(c *Config) {
		c.Scheme, c.Notification, c.CC.CETH.Window = "ceth", cc.NotifyCETH, 20*us
		for _, edit := range change {
			edit(&c.CC.CETH)
		}
	}
}

// markFrom makes the bench mark the data frames of host 0 from the first to the
// one before last, counted from 0.
func (b *fabricBench) markFrom(first, last int) {
	count := 0
	b.tap = func(from int, f *frame.Frame) bool {
		if from == 0 && isData(f) {
			if first <= count && count < last {
				f.SetECN(frame.CE)
			}
			count++
		}
		return true
	}
}

// reports returns the content of ACKs: their PSN, M for congested, and the degree.
func reports(frames []sentFrame) []string {
	var list []string
	for i := range frames {
		f := &frames[i].Frame
		word := fmt.Sprint(f.PSN())
		if f.BECN() {
			word += " M"
		}
		if h, ok := f.CETH(); ok {
			g, _ := h.Congestion()
			word += fmt.Sprint(" ", g.Ratio)
		}
		list = append(list, word)
	}
	return list
}

// CETH-13, CETH-40, CETH-41: each packet is inspected; one with CE is answered by an ACK
// with indication 1 and information.
// CETH-42, CETH-43: one without CE is answered by an ACK with indication 0 and no CETH,
// which signals the end of congestion.
// CETH-46: there is no CNP.
// CETH-4, CETH-5: the parts of source and destination.
func TestACKIndicatesCongestion(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, 8000)}, aggregated())
	b.markFrom(2, 5)
	b.run(unit.Millisecond)
	acks := b.from(1, func(*frame.Frame) bool { return true })
	want := []string{"0", "1", "2 M 1", "3 M 2", "4 M 2", "5", "6", "7"} // 1/3, 2/4, 3/5 of the window
	if diff := cmp.Diff(want, reports(acks)); diff != "" {
		t.Error(diff)
	}
	for i := range acks {
		h, ok := acks[i].CETH()
		g, known := h.Congestion()
		if !isACK(&acks[i].Frame) || ok != acks[i].BECN() || ok != known || ok && (!g.Enhanced || g.Service != frame.ServiceWrite || g.Depth != frame.NoDepth || g.Switch != frame.NoSwitch) {
			t.Errorf("ACK of %d: %+v", acks[i].PSN(), g)
		}
	}
	var notes []string
	for _, n := range b.noted(1, fabric.Indicated) {
		notes = append(notes, fmt.Sprintf("%t %s", n.Congested(), cc.Degree(n.Degree())))
	}
	if diff := cmp.Diff([]string{"true light", "true medium", "false none"}, notes); diff != "" {
		t.Error(diff)
	}
	if got := b.nics[1].Stats().NPCNPSent; got != 0 {
		t.Errorf("%d CNPs", got)
	}
}

// CETH-53: with one ACK for 4 packets, a change of the state is reported at once, in both
// directions, and every ACK covers packets of one state.
func TestStateChangeForcesAnACK(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, 20_000)}, aggregated(), func(c *Config) { c.AckEvery = 4 })
	b.markFrom(6, 11)
	b.run(unit.Millisecond)
	// 6 changes the state: 5 is acknowledged as clear, 6 as congested. 7 to 10 have one
	// state; 7 requests an ACK. 11 changes the state back, and requests an ACK too.
	want := []string{"3", "5", "6 M 1", "7 M 1", "10 M 2", "11", "15", "19"}
	if diff := cmp.Diff(want, reports(b.from(1, isACK))); diff != "" {
		t.Error(diff)
	}
	for _, verb := range []work.Verb{work.Put, work.Send} {
		b := newExchange(t, 1, aggregated(), func(c *Config) { c.AckEvery = 4 })
		b.markFrom(6, 11)
		b.post(0, work.Command{Verb: verb, Size: 20_000})
		b.run(unit.Millisecond)
		if diff := cmp.Diff(want, reports(b.from(1, isACK))); diff != "" {
			t.Errorf("%v: %s", verb, diff)
		}
	}
}

// CETH-44: the mode of figure 13: the indication alone.
// CETH-54: it lowers the rate.
func TestIndicationOnly(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, Endless)}, aggregated(func(p *cc.CETHParams) { p.Mode = cc.CETHIndication }))
	b.mark(1, 1)
	b.run(30 * us)
	for _, f := range b.from(1, isACK) {
		if !f.BECN() || f.Len() != frame.MinLen+2 || f.Resv6()|f.Resv7() != 0 {
			t.Fatalf("ACK of %d bytes, BECN %v, % x", f.Len(), f.BECN(), f.Header()[42:])
		}
	}
	if got := b.nics[0].Stats().Senders[0].Rate; got != testRate/2 {
		t.Errorf("%v after the first window, want half", got)
	}
}

// CETH-18, CETH-19, CETH-20, CETH-21: the forms carry the same degree.
// CETH-45, CETH-55: the mode of figure 14 sets the rate of the degree in one step.
func TestFormsMoveTheRate(t *testing.T) {
	length := map[cc.CETHForm]unit.Bytes{cc.CETHHeader: 12}
	for _, form := range []cc.CETHForm{cc.CETHHeader, cc.CETHResv6, cc.CETHResv7, cc.CETHRatio6, cc.CETHRatio7} {
		b := newBench(t, 2, []FlowConfig{flow(0, Endless)}, aggregated(func(p *cc.CETHParams) { p.Form = form }))
		b.mark(1, 1)
		b.run(20 * us)
		moved := b.noted(0, fabric.RateChanged)
		if len(moved) != 1 || moved[0].Rate() != testRate/4 {
			t.Errorf("%s: %+v", form, moved)
		}
		ack := b.from(1, isACK)[0]
		if got, want := ack.Len(), frame.MinLen+2+length[form]; got != want {
			t.Errorf("%s: ACK of %d bytes, want %d", form, got, want)
		}
		want := map[cc.CETHForm][2]uint8{cc.CETHResv6: {0b0001_11, 0}, cc.CETHResv7: {0, 0b0001_11_1}, cc.CETHRatio6: {3, 0}, cc.CETHRatio7: {0, 6}}[form]
		if ack.Resv6() != want[0] || ack.Resv7() != want[1] {
			t.Errorf("%s: Reserved 6 %06b, Reserved 7 %07b", form, ack.Resv6(), ack.Resv7())
		}
	}
}

// CETH-31, CETH-36, CETH-37: the length determines the items reported.
// CETH-50, CETH-51, CETH-52: location, depth and delay come from telemetry, which the NIC
// requests, reads and removes.
func TestInformationFromTelemetry(t *testing.T) {
	for source, carrier := range map[cc.CETHSource]frame.Carrier{cc.CETHINT: frame.CarrierINT, cc.CETHIOAM: frame.CarrierIOAM} {
		for words := 1; words <= 4; words++ {
			b := newBench(t, 2, []FlowConfig{flow(0, Endless)}, aggregated(func(p *cc.CETHParams) { p.Source, p.Words = source, words }))
			b.tap = func(from int, f *frame.Frame) bool {
				if from == 0 {
					if f.Carrier() != carrier {
						t.Errorf("%s: data with carrier %d", source, f.Carrier())
					}
					f.SetECN(frame.CE)
					entered := f.Arrival - 3*us
					f.PushHop(&frame.Hop{Node: 2, Out: 5, Depth: 150_000, Entered: entered}, 1500)
					f.PushHop(&frame.Hop{Node: 3, Out: 1, Depth: 20_000, Entered: entered + us}, 1500)
				}
				return true
			}
			b.run(8 * us)
			h, _ := b.from(1, isACK)[0].CETH()
			got, _ := h.Congestion()
			want := frame.Congestion{
				Ratio: frame.RatioHeavy, Enhanced: true, Service: frame.ServiceWrite,
				Switch: 2, Port: 5, Depth: frame.NoDepth, Delay: frame.NoDelay,
			}
			if words >= 2 {
				want.Depth = 150_000
			}
			if words >= 3 {
				want.Delay = 3000
			}
			// The instant on the wire is truncated to nanoseconds.
			if words >= 3 && got.Delay == 3001 {
				got.Delay = 3000
			}
			if int(h.Words) != words || got != want {
				t.Errorf("%s, %d words: %+v, want %+v", source, words, got, want)
			}
			if delivered := b.noted(1, fabric.Delivered); delivered[0].Bytes() != 1000 || b.nics[1].Stats().Malformed != 0 {
				t.Errorf("%s: %+v", source, delivered[0])
			}
		}
	}
}

// CETH-39: if nothing is known, the ACK has version 0, which cuts the rate as a plain CNP
// does. Here no switch had room to write telemetry.
func TestNoInformationIsVersion0(t *testing.T) {
	for _, form := range []cc.CETHForm{cc.CETHHeader, cc.CETHResv6, cc.CETHResv7, cc.CETHRatio6} {
		b := newBench(t, 2, []FlowConfig{flow(0, Endless)}, aggregated(func(p *cc.CETHParams) { p.Source, p.Form = cc.CETHINT, form }))
		b.mark(1, 1)
		b.run(20 * us)
		ack := b.from(1, isACK)[0]
		h, ok := ack.CETH()
		if ok != (form == cc.CETHHeader) || ok && h != (frame.CETH{Version: 0, Words: 1}) || ack.Resv6()|ack.Resv7() != 0 {
			t.Errorf("%s: %+v", form, h)
		}
		if got := b.nics[0].Stats().Senders[0].Rate; got != testRate/2 {
			t.Errorf("%s: %v, want half of line rate", form, got)
		}
	}
}

// CETH-38, CETH-39: an ACK of an unknown version, or of version 0, is a plain notification
// and still acknowledges.
// CETH-24: a header after the CETH has no effect.
func TestForeignCETHCuts(t *testing.T) {
	for _, h := range []frame.CETH{{Version: 0, Words: 1}, {Version: 7, Words: 4, Vendor: [15]byte{0xff, 0xff}}} {
		for _, selective := range []bool{false, true} {
			b := newBench(t, 2, []FlowConfig{flow(0, Endless)}, aggregated())
			b.inject(0, 10*us, ackFrame(3, h, selective))
			b.run(10 * us)
			s := b.nics[0].Stats()
			if s.Senders[0].Rate != testRate/2 || s.Senders[0].AckedBytes != 4000 || s.Malformed != 0 {
				t.Errorf("%+v, SACK %v: %+v", h, selective, s.Senders[0])
			}
		}
	}
}

// ackFrame returns an ACK from host 1 for flow 0 with a CETH.
func ackFrame(psn uint32, h frame.CETH, selective bool) frame.Frame {
	var f frame.Frame
	p := frame.Packet{
		Src: frame.HostIP(1), Dst: frame.HostIP(0), CETH: h,
		BTH:  frame.BTH{Opcode: frame.Acknowledge, DestQP: frame.SenderQP(0), PSN: psn},
		AETH: frame.AETH{Syndrome: frame.SyndromeACK},
	}
	if selective {
		p.SACK = frame.SACK{Base: psn + 1, Bitmap: 1}
	}
	p.Build(&f)
	return f
}

// CETH-36: the depth sets a budget at the sender, which bounds the packets in flight from
// then on.
// CETH-56: the NIC observes the budget.
func TestBudgetBoundsPacketsInFlight(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, Endless)}, aggregated(func(p *cc.CETHParams) {
		p.Source, p.Degree, p.Depth = cc.CETHINT, cc.CETHIgnore, cc.CETHBudget
	}))
	b.tap = func(from int, f *frame.Frame) bool {
		if from == 0 {
			f.SetECN(frame.CE)
			f.PushHop(&frame.Hop{Depth: 200_000 - 5*1100}, 1500)
		}
		return true
	}
	b.run(100 * us)
	s := b.nics[0].Stats().Senders[0]
	if s.InFlightBytes != 5000 || s.Rate != testRate {
		t.Errorf("%d bytes in flight at %v, want 5 packets at line rate", s.InFlightBytes, s.Rate)
	}
}

// A NAK reports congestion as an ACK does.
func TestNAKIndicatesCongestion(t *testing.T) {
	b := newBench(t, 2, []FlowConfig{flow(0, 8000)}, aggregated())
	count := 0
	b.tap = func(from int, f *frame.Frame) bool {
		if from == 0 {
			f.SetECN(frame.CE)
			count++
			return count != 3
		}
		return true
	}
	b.run(8 * us)
	if got := reports(b.from(1, isNAK)); len(got) != 1 || got[0] != "2 M 3" {
		t.Errorf("NAKs %v", got)
	}
}

// If the control queue has no room for an ACK, the next ACK carries its report.
func TestLostIndicationIsRepeated(t *testing.T) {
	n := mustNew(t, config(1, []FlowConfig{flow(0, Endless)}, aggregated(), func(c *Config) { c.ControlQueue = 1 }))
	var out fabric.Out
	n.Arrive(us, 0, pointer(dataFrame(frame.WriteFirst, 0, 1_000_000, 1000)), &out)
	marked := dataFrame(frame.WriteMiddle, 1, 0, 1000)
	marked.SetECN(frame.CE)
	n.Arrive(us, 0, &marked, &out) // no room for its ACK
	n.Tick(us, &out)
	n.Arrive(2*us, 0, pointer(dataFrame(frame.WriteMiddle, 2, 0, 1000)), &out)
	n.Tick(2*us, &out)
	n.Arrive(3*us, 0, pointer(dataFrame(frame.WriteMiddle, 3, 0, 1000)), &out)
	n.Tick(3*us, &out)
	var acks []sentFrame
	for _, s := range out.Sends {
		acks = append(acks, sentFrame{Frame: *s.Frame})
	}
	if diff := cmp.Diff([]string{"0", "2 M 1", "3"}, reports(acks)); diff != "" || n.Stats().ControlQueueDrops != 1 {
		t.Errorf("%d dropped, %s", n.Stats().ControlQueueDrops, diff)
	}
}

func pointer(f frame.Frame) *frame.Frame { return &f }

// CETH-60: the clear notification sets the rate to the preset rate.
// CETH-59: or keeps the rate.
func TestClearNotificationRestoresTheRate(t *testing.T) {
	for clear, want := range map[cc.CETHClear]unit.Rate{cc.CETHPreset: testRate, cc.CETHKeep: testRate / 4} {
		b := newBench(t, 2, []FlowConfig{flow(0, Endless)}, aggregated(func(p *cc.CETHParams) { p.Clear = clear }))
		b.markFrom(0, 40)
		b.run(100 * us)
		if got := b.nics[0].Stats().Senders[0].Rate; got != want {
			t.Errorf("%s: %v, want %v", clear, got, want)
		}
	}
}

// Inspection, aggregation and telemetry allocate nothing in the steady state.
func TestCETHDoesNotAllocate(t *testing.T) {
	b := newBackToBack(t, 30, aggregated(func(p *cc.CETHParams) { p.Source = cc.CETHINT }))
	b.mark = true
	for range 100_000 {
		b.step()
	}
	if got := testing.AllocsPerRun(100, func() {
		for range 1000 {
			b.step()
		}
	}); got != 0 {
		t.Errorf("%v allocations per 1000 events", got)
	}
}
