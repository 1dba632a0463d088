package notify

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

const (
	us   = unit.Microsecond
	gbps = unit.GigabitPerSec
)

// cnp returns the CNP that carries a report of a point.
func cnp(p Point, r Report) *frame.Packet {
	packet := &frame.Packet{BTH: frame.BTH{Opcode: frame.OpcodeCNP}, RecRate: 99}
	p.Fill(r, packet)
	return packet
}

func TestRecRateIsRounded(t *testing.T) {
	for _, c := range []struct {
		in   unit.Rate
		want uint32
	}{{0, 1}, {1, 1}, {1_499_999, 1}, {1_500_000, 2}, {40 * gbps, 40_000}, {1 << 62, 1<<32 - 1}} {
		if got := mbps(c.in); got != c.want {
			t.Errorf("%d bit/s are %d Mbit/s, want %d", c.in, got, c.want)
		}
	}
}

// The report of a period is due at its end, and has the rate and the congestion of its
// packets.
func TestPCNReportsEachPeriod(t *testing.T) {
	params := cc.Default()
	n := New(cc.NotifyPCN, &params, nil)
	if n.Next() != unit.Never {
		t.Errorf("a period ends at %v without a packet", n.Next())
	}
	for i := range unit.Time(10) {
		if n.Packet(i*us, 1250, true, cc.Congestion{}) {
			t.Error("a packet needs a CNP at once")
		}
	}
	if n.Next() != params.PCN.Period {
		t.Errorf("the period ends at %v, want %v", n.Next(), params.PCN.Period)
	}
	if _, due := n.Tick(n.Next() - 1); due {
		t.Error("a CNP is due before the end of the period")
	}
	r, due := n.Tick(n.Next())
	if want := (Report{Congested: true, RecRate: 2000}); !due || r != want {
		t.Errorf("%+v (%v), want %+v", r, due, want)
	}
	if p := cnp(n, r); p.ECN != frame.CE || p.RecRate != 2000 {
		t.Errorf("CNP with ECN %d and %d Mbit/s", p.ECN, p.RecRate)
	}
	if p := cnp(n, Report{RecRate: 7}); p.ECN != frame.ECT0 || p.RecRate != 7 {
		t.Errorf("CNP with ECN %d and %d Mbit/s", p.ECN, p.RecRate)
	}
}

// Queue pairs of a port reserve instants in turn. A reserved CNP is sent once, and the
// end of the interval needs an instant of its own.
func TestDCQCNSpacesTheCNPsOfAPort(t *testing.T) {
	params := cc.Default()
	params.DCQCN.CNPGap, params.DCQCN.CNPInterval = 20*us, 50*us
	port := NewPort(&params)
	a, b := New(cc.NotifyDCQCN, &params, &port), New(cc.NotifyDCQCN, &params, &port)
	if !a.Packet(0, 1000, true, cc.Congestion{}) {
		t.Error("the first marked packet needs no CNP")
	}
	if r, due := a.Tick(0); !due || !r.Congested || a.Next() != 50*us {
		t.Errorf("%+v (%v), next at %v", r, due, a.Next())
	}
	if b.Packet(us, 1000, true, cc.Congestion{}) || b.Next() != 20*us {
		t.Errorf("the second queue pair sends at %v, want 20us", b.Next())
	}
	if b.Packet(20*us, 1000, true, cc.Congestion{}) {
		t.Error("a queue pair whose CNP waits needs another one")
	}
	if _, due := b.Tick(20 * us); !due || b.Next() != 51*us {
		t.Errorf("CNP %v, next at %v", due, b.Next())
	}
	if _, due := b.Tick(51 * us); !due { // the marked packet at 20 us
		t.Error("no CNP at the end of an interval with marks")
	}
	if p := cnp(a, Report{Congested: true, RecRate: 5}); p.ECN != frame.ECT0 || p.RecRate != 0 {
		t.Errorf("the CNP has ECN %d and %d Mbit/s, want a plain one", p.ECN, p.RecRate)
	}
}

// With a CNP for each mark, a queue pair whose CNP waits reserves no second instant.
func TestDCQCNReservesOneInstantAtATime(t *testing.T) {
	params := cc.Default()
	params.DCQCN.CNPGap, params.DCQCN.CNPInterval = 20*us, 0
	port := NewPort(&params)
	a, b := New(cc.NotifyDCQCN, &params, &port), New(cc.NotifyDCQCN, &params, &port)
	a.Packet(0, 1000, true, cc.Congestion{})
	a.Tick(0)
	for range 3 {
		a.Packet(us, 1000, true, cc.Congestion{})
	}
	b.Packet(us, 1000, true, cc.Congestion{})
	if a.Next() != 20*us || b.Next() != 40*us {
		t.Errorf("CNPs at %v and %v, want 20us and 40us", a.Next(), b.Next())
	}
}

func TestNoNotification(t *testing.T) {
	params := cc.Default()
	for _, mode := range []cc.Notification{cc.NotifyNone, cc.NotifyCredit, ""} {
		n := New(mode, &params, nil)
		if n.Packet(0, 1000, true, cc.Congestion{}) || n.Next() != unit.Never {
			t.Errorf("%q: next CNP at %v", mode, n.Next())
		}
		if _, ok := n.(Carried); ok {
			t.Errorf("%q: ACKs carry reports", mode)
		}
	}
}

// mustChange checks that a report that was sent is noted if and only if it is new.
func mustChange(t *testing.T, n Point, now unit.Time, r Report, want bool) {
	t.Helper()
	event, changed := n.Sent(now, r)
	if changed != want || event.Kind != fabric.Indicated {
		t.Errorf("report %+v: event %v, new %v, want %v", r, event.Kind, changed, want)
	}
}

// An ACK reports the packets since the previous ACK. A report that was not sent is
// repeated.
func TestCETHReportsInACKs(t *testing.T) {
	params := cc.Default()
	n := New(cc.NotifyCETH, &params, nil).(Carried)
	if n.Changes(false) || !n.Changes(true) {
		t.Error("the state before the first packet is congested")
	}
	n.Packet(0, 1000, true, cc.Congestion{})
	if n.Changes(true) || !n.Changes(false) || n.Next() != unit.Never {
		t.Errorf("the state after a mark is clear, or a CNP is due at %v", n.Next())
	}
	n.Packet(us, 1000, false, cc.Congestion{})
	r := n.Report(us)
	if !r.Congested || r.Path.Degree != cc.DegreeMedium || r != n.Report(us) {
		t.Errorf("%+v, then %+v", r, n.Report(us))
	}
	mustChange(t, n, us, r, true)
	if r = n.Report(us); r.Congested {
		t.Errorf("%+v after the ACK", r)
	}
	mustChange(t, n, us, r, true)
	mustChange(t, n, us, r, false)
}

// If the switches write the information, the NIC inspects nothing.
func TestCETHOfSwitchesIsNotInspected(t *testing.T) {
	params := cc.Default()
	params.CETH.Source = cc.CETHSwitch
	n := New(cc.NotifyCETH, &params, nil).(Carried)
	n.Packet(0, 1000, true, cc.Congestion{})
	if n.Changes(true) || n.Report(0) != (Report{}) {
		t.Errorf("reports %+v", n.Report(0))
	}
}

// A marked response schedules a CNP after the interval. A READ request before that
// carries the report instead.
func TestCETHOfResponses(t *testing.T) {
	params := cc.Default()
	n := ForResponses(cc.NotifyCETH, &params, nil).(Carried)
	n.Packet(us, 1000, true, cc.Congestion{})
	due := us + params.CETH.Interval
	if n.Next() != due || n.Changes(false) {
		t.Errorf("CNP at %v, want %v", n.Next(), due)
	}
	r := n.Report(2 * us)
	request := &frame.Packet{BTH: frame.BTH{Opcode: frame.ReadRequest}}
	if n.Fill(r, request); !request.BTH.BECN || request.CETH.Version != frame.CETHVersion {
		t.Errorf("READ request with BECN %v and %+v", request.BTH.BECN, request.CETH)
	}
	if mustChange(t, n, 2*us, r, true); n.Next() != unit.Never {
		t.Errorf("CNP at %v after the request has reported", n.Next())
	}
	n.Packet(3*us, 1000, false, cc.Congestion{})
	due = 3*us + params.CETH.Interval
	if _, ok := n.Tick(due - 1); ok || n.Next() != due {
		t.Errorf("CNP at %v, want %v", n.Next(), due)
	}
	r, ok := n.Tick(due)
	if !ok || r.Congested || r.Path.Degree != cc.DegreeNone || r.Path.Known != cc.ItemDegree {
		t.Errorf("the end of congestion is reported by %+v (%v)", r, ok)
	}
	g, known := cnp(n, r).CETH.Congestion()
	if !known || g.Service != frame.ServiceReadResponse || g.Ratio != frame.RatioNone {
		t.Errorf("CNP with %+v", g)
	}
	mustChange(t, n, due, r, true)
}

// If the marks have ended before a request reports them, their end is due an interval after
// the request.
func TestCETHOfResponsesReportsTheEndLater(t *testing.T) {
	params := cc.Default()
	n := ForResponses(cc.NotifyCETH, &params, nil).(Carried)
	n.Packet(us, 1000, true, cc.Congestion{})
	n.Packet(2*us, 1000, false, cc.Congestion{})
	r := n.Report(3 * us)
	if n.Sent(3*us, r); !r.Congested || n.Next() != 3*us+params.CETH.Interval {
		t.Errorf("after %+v, CNP at %v, want %v", r, n.Next(), 3*us+params.CETH.Interval)
	}
}

// Without information, a CNP cannot report the end of congestion.
func TestCETHIndicationOfResponses(t *testing.T) {
	params := cc.Default()
	params.CETH.Mode = cc.CETHIndication
	n := ForResponses(cc.NotifyCETH, &params, nil).(Carried)
	n.Packet(0, 1000, true, cc.Congestion{})
	r, ok := n.Tick(n.Next())
	if !ok || !r.Congested || r.Path != (cc.Congestion{}) {
		t.Errorf("%+v (%v)", r, ok)
	}
	n.Sent(params.CETH.Interval, r)
	n.Packet(2*params.CETH.Interval, 1000, false, cc.Congestion{})
	if r, ok := n.Tick(n.Next()); ok {
		t.Errorf("a CNP reports %+v", r)
	}
	n.Packet(4*params.CETH.Interval, 1000, false, cc.Congestion{})
	if n.Packet(4*params.CETH.Interval, 1000, true, cc.Congestion{}); n.Next() != unit.Never {
		t.Errorf("CNP at %v to repeat the latest report", n.Next())
	}
}

// ReadACK reads in each form what Fill writes. The header carries all items, the bits of
// the BTH the degree alone.
func TestCETHIsReadBack(t *testing.T) {
	path := cc.Congestion{
		Known:  cc.ItemDegree | cc.ItemLocation | cc.ItemDepth | cc.ItemDelay,
		Degree: cc.DegreeMedium, Location: 3<<8 | 7, Depth: 150_000, Delay: 3 * us,
	}
	for _, form := range []cc.CETHForm{cc.CETHHeader, cc.CETHResv6, cc.CETHResv7, cc.CETHRatio6, cc.CETHRatio7} {
		params := cc.Default()
		params.CETH.Form, params.CETH.Words = form, 4
		want := path
		if form != cc.CETHHeader {
			want = cc.Congestion{Known: cc.ItemDegree, Degree: path.Degree}
		}
		for congested, want := range map[bool]cc.Congestion{true: want, false: {}} {
			var f frame.Frame
			p := frame.Packet{BTH: frame.BTH{Opcode: frame.Acknowledge}}
			New(cc.NotifyCETH, &params, nil).Fill(Report{Congested: congested, Path: path}, &p)
			p.Build(&f)
			if got := ReadACK(&f, &params.CETH); got != want || f.BECN() != congested {
				t.Errorf("%s, congested %v: %+v, want %+v", form, congested, got, want)
			}
		}
	}
}

// Strip returns the deepest of the hops, and a packet without them. A packet without
// telemetry is returned as it is.
func TestSinkReadsAndRemovesTelemetry(t *testing.T) {
	var s Sink
	var f frame.Frame
	p := frame.Packet{BTH: frame.BTH{Opcode: frame.WriteOnly}, RETH: frame.RETH{Length: 1000}, Payload: 1000}
	p.Build(&f)
	if got, path := s.Strip(0, &f); got != &f || path != (cc.Congestion{}) {
		t.Errorf("%+v without telemetry", path)
	}
	f.Carry(frame.CarrierINT, 4)
	f.PushHop(&frame.Hop{Node: 1, Out: 3, Depth: 20_000, Entered: 2 * us}, 1500)
	f.PushHop(&frame.Hop{Node: 2, Out: 5, Depth: 150_000, Entered: 3 * us}, 1500)
	f.PushHop(&frame.Hop{Node: 3, Out: 1, Depth: 20_000, Entered: 3 * us}, 1500)
	got, path := s.Strip(5*us, &f)
	if path.Depth != 150_000 || path.Location != 2<<8|5 || path.Delay != 3*us || got.Carrier() != frame.CarrierNone {
		t.Errorf("%+v, carrier %d", path, got.Carrier())
	}
	if f.Carrier() != frame.CarrierINT {
		t.Error("the received packet has changed")
	}
}

func TestOnlyCETHRequestsTelemetry(t *testing.T) {
	params := cc.Default()
	params.CETH.Source, params.CETH.Hops = cc.CETHINT, 3
	if carrier, hops := Telemetry(cc.NotifyCETH, &params.CETH); carrier != frame.CarrierINT || hops != 3 {
		t.Errorf("carrier %d, %d hops", carrier, hops)
	}
	if carrier, _ := Telemetry(cc.NotifyPCN, &params.CETH); carrier != frame.CarrierNone {
		t.Errorf("PCN requests telemetry by carrier %d", carrier)
	}
}
