package cc

import (
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
)

// both returns a reaction point with two signals for a flow of 10 Gbit/s, with
// the RTT rules of the preset rack.
func both(t *testing.T, order Order) *TIMELYECN {
	t.Helper()
	p := Default()
	p.TIMELY = DefaultTIMELYRTTX()
	p.TIMELYECN.Order = order
	a, err := New("timely-ecn", p, Path{Rate: line}, 10*gbps)
	if err != nil {
		t.Fatal(err)
	}
	return a.(*TIMELYECN)
}

// RTTX-60: a CNP cuts by DCQCN's law: by half at first, when alpha is 1; alpha is
// updated after the cut, and decays between CNPs.
func TestTIMELYECNCutsOnCNP(t *testing.T) {
	c := both(t, OrderBoth)
	c.Handle(0, marked)
	rateIs(t, "first CNP", c, 5e9)
	c.Handle(10*us, marked)
	rateIs(t, "at once again: alpha is still 1", c, 2.5e9)
	const g = 1.0 / 256
	c.Handle(10*us+2*DefaultDCQCN().AlphaTimer, marked)
	rateIs(t, "after two decays", c, 2.5e9*(1-(1-g)*(1-g)/2))
	c.Handle(0, Signal{Kind: CNP})
	rateIs(t, "a CNP without congestion", c, 2.5e9*(1-(1-g)*(1-g)/2))
}

// RTTX-60: the conflicts of two signals. ECN marks while the RTT falls: one
// signal slows, the other raises. RTT and CNP in one phase: the cuts add up.
func TestTwoSignalsConflict(t *testing.T) {
	c := both(t, OrderBoth)
	feed(c, 1, 40*us)
	c.Handle(0, marked)
	feed(c, 1, 30*us)
	rateIs(t, "a CNP, then a falling RTT", c, (10e9+10e6)/2+10e6)

	c = both(t, OrderBoth)
	feed(c, 1, 30*us)
	c.Handle(0, marked)
	cut := c.rate
	feed(c, 1, 80*us)
	if c.rate >= cut {
		t.Errorf("rate %v after a CNP's cut to %v and a longer RTT", c.rate, cut)
	}
}

// RTTX-63: static priority, ECN first: for a while after a CNP all RTT samples
// are ignored.
func TestECNFirst(t *testing.T) {
	c := both(t, OrderECNFirst)
	feed(c, 1, 30*us)
	rate := c.rate
	c.Handle(0, marked)
	for _, rtt := range []unit.Time{90 * us, 20 * us} {
		c.Handle(49*us, Signal{Kind: Ack, Bytes: 1000, RTT: rtt})
		rateIs(t, "within the hold", c, rate/2)
	}
	c.Handle(50*us, Signal{Kind: Ack, Bytes: 1000, RTT: 20 * us})
	if c.rate <= rate/2 {
		t.Errorf("after the hold the rate is %v, was %v", c.rate, rate/2)
	}
}

// RTTX-63: both kinds of merged logic keep the state of both: TIMELY's and that
// of DCQCN's alpha. With conversion in the switches, the sender keeps TIMELY's
// state only.
func TestTwoSignalsNeedTwoLogics(t *testing.T) {
	s, err := Find("timely-ecn")
	if err != nil || s.Notification != NotifyDCQCN || !s.Timestamps || s.Rewrite != "" {
		t.Errorf("%+v, %v", s, err)
	}
	for _, bad := range []TIMELYECNParams{{Order: "rtt-first"}, {Order: OrderBoth, Hold: -1}} {
		p := Default()
		if p.TIMELYECN = bad; p.Validate("timely-ecn") == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}
