package shaper

import (
	"slices"
	"testing"

	"github.com/rackfab/rackfab/fabric/unit"
)

// Figure 3. The units 302, 304 and 306 offer the requests 312, 314 and 316. The
// response of 314 would exceed the tokens, so that 314 is passed over until the
// tokens suffice.
func TestFigure3(t *testing.T) {
	// GET-42: 312 is selected, 314 is skipped, 316 is selected, 314 is selected
	// later.
	// GET-45: each request belongs to its own unit.
	// GET-6, GET-48, GET-49: a response within the threshold proceeds, one
	// beyond it is paced.
	// GET-51: the paced unit is avoided and the next one arbitrated.
	s := mustNew(t, config(3, inLimit(8*gbps, 3000)))
	const mcu302, mcu304, mcu306 = 0, 1, 2
	s.Offer(mcu302, get(1000))
	s.Offer(mcu304, get(2111))
	s.Offer(mcu306, get(500))
	for i, want := range []struct {
		unit  int
		at    unit.Time
		skips uint64 // of 304 so far
	}{
		{mcu302, 0, 0},
		{mcu306, 0, 1},               // 2000 left, 2111 wanted
		{mcu304, 611 * us / 1000, 1}, // 1500 left; the other 611 arrive at 1 byte a nanosecond
	} {
		u, at := next(t, s, 0)
		if u != want.unit || at != want.at || s.Skips(mcu304) != want.skips {
			t.Errorf("%d: unit %d at %v, 304 skipped %d times, want %+v", i, u, at, s.Skips(mcu304), want)
		}
	}
}

// GET-8: a request is eligible if the bucket holds the response's length or, in
// the other reading, if the bucket is not in debt.
func TestGates(t *testing.T) {
	for gate, want := range map[Gate][]unit.Time{
		GateFull:   {0, 1000 * us / 1000, 3000 * us / 1000},
		GateCredit: {0, 0, 1000 * us / 1000},
	} {
		s := mustNew(t, config(1, inLimit(8*gbps, 3000), func(c *Config) { c.Gate = gate }))
		var at []unit.Time
		now := unit.Time(0)
		for range want {
			s.Offer(0, get(2000))
			_, now = next(t, s, now)
			at = append(at, now)
		}
		if !slices.Equal(at, want) {
			t.Errorf("gate %s: requests at %v, want %v", gate, at, want)
		}
	}
}

// GET-4, GET-5: responses are requested at the rate of the threshold, whatever
// the link could carry.
// GET-44: thus the shaper controls the incoming traffic together with the
// outgoing.
func TestRequestRateMatchesResponseAbsorption(t *testing.T) {
	s := mustNew(t, config(2, inLimit(100*gbps, 8444)))
	sources := []source{{Packet: get(2088)}, {Packet: get(2088)}}
	saturate(t, s, 200*gbps, sources, 1000*us)
	got, want := sources[0].in+sources[1].in, (100 * gbps).In(1000*us)
	if got > want+8444 || got < want {
		t.Errorf("requested %d bytes in a millisecond, want %d and at most a burst of 8444 more", got, want)
	}
}

// GET-59: with pacing off only the link limits requests.
func TestPacingOff(t *testing.T) {
	s := mustNew(t, config(1, inLimit(gbps, 2111), func(c *Config) { c.Pacing = PacingOff }))
	sources := []source{{Packet: get(2088)}}
	saturate(t, s, 200*gbps, sources, 100*us)
	if want := int(100 * us / (200 * gbps).Serialise(78)); sources[0].sent < want {
		t.Errorf("%d requests, the link carries %d", sources[0].sent, want)
	}
}

// GET-7: a packet that requests no response needs no IN tokens.
// GET-50: it is sent without the check.
func TestPutNeedsNoInTokens(t *testing.T) {
	s := mustNew(t, config(2, inLimit(gbps, 2111)))
	s.Offer(0, get(2111))
	next(t, s, 0)
	s.Offer(0, get(2111))
	s.Offer(1, put(1062))
	if u, at := next(t, s, 0); u != 1 || at != 0 {
		t.Errorf("unit %d at %v, want the PUT at once", u, at)
	}
}

// GET-46: PUT requests and GET responses are charged to the same OUT tokens:
// their sum stays within the branch's limit.
func TestPutsAndResponsesShareTheOutTokens(t *testing.T) {
	for name, sources := range map[string][]source{
		"puts":      {{Packet: put(1062)}},
		"responses": {{Packet: Packet{Leaf: 1, Out: 1066}}},
		"both":      {{Packet: put(1062)}, {Packet: Packet{Leaf: 1, Out: 1066}}},
	} {
		s := mustNew(t, config(2, func(c *Config) { c.Branches[0].Out.Ceiling = Limit{100 * gbps, 8444} }))
		saturate(t, s, 200*gbps, sources, 1000*us)
		sum := unit.Bytes(0)
		for _, src := range sources {
			sum += src.out
		}
		want := (100 * gbps).In(1000 * us)
		if sum < want-maxFrame || sum > want+8444+maxFrame {
			t.Errorf("%s: %d bytes out in a millisecond, want %d", name, sum, want)
		}
		if len(sources) == 2 && (sources[0].out < want*45/100 || sources[1].out < want*45/100) {
			t.Errorf("both: %d of PUTs and %d of responses", sources[0].out, sources[1].out)
		}
	}
}

// The second mode limits the responses outstanding, and those solicited in a
// period (US 11,750,522 claim 1).
func TestOutstanding(t *testing.T) {
	s := mustNew(t, config(1, func(c *Config) {
		c.Pacing, c.Outstanding = PacingOutstanding, Outstanding{Bytes: 5000, PerPeriod: 6000, Period: 10 * us}
	}))
	ask := func(now unit.Time) bool {
		s.Offer(0, get(2000))
		_, ok := s.Pick(now)
		return ok
	}
	for i, want := range []bool{true, true, false} {
		if ask(0) != want {
			t.Errorf("response %d of 2000 bytes: want %v, 5000 may be outstanding", i, want)
		}
	}
	if s.Due() != unit.Never {
		t.Errorf("due %v: only a response makes room", s.Due())
	}
	s.Arrived(2000)
	if !ask(us) || s.Open() != 4000 {
		t.Errorf("a response arrived, %d are open", s.Open())
	}
	s.Arrived(4000)
	if ask(2*us) || s.Due() != 10*us {
		t.Errorf("6000 were solicited in the period; due %v, want its end", s.Due())
	}
	if !ask(10 * us) {
		t.Error("a new period begins with nothing solicited")
	}
}

// GET-61: the time that a class waits for IN tokens and for OUT tokens, and the
// tokens themselves.
func TestStallsAndTokens(t *testing.T) {
	s := mustNew(t, config(2, inLimit(8*gbps, 2111), func(c *Config) { c.Leaves[1].Out.Ceiling = Limit{8 * gbps, 2111} }))
	s.Offer(0, get(2111))
	s.Offer(1, Packet{Leaf: 1, Out: 2111})
	next(t, s, 0)
	next(t, s, 0)
	if _, in := s.Tokens(us); in != 1000 {
		t.Errorf("%d IN tokens after a microsecond at 8 Gbit/s, want 1000", in)
	}
	s.Offer(0, get(2111))
	s.Offer(1, Packet{Leaf: 1, Out: 2000})
	if _, ok := s.Pick(us); ok {
		t.Fatal("there are tokens for neither")
	}
	_, first := next(t, s, us)
	_, second := next(t, s, first)
	stall := s.Stalls(second)
	if first != 2*us || second != 2111*us/1000 {
		t.Fatalf("tokens at %v and %v", first, second)
	}
	if stall[0] != (Stall{In: second - us}) || stall[1] != (Stall{Out: first - us}) {
		t.Errorf("stalls %v, want the requests to wait for IN and the responses for OUT tokens", stall)
	}
}

func TestOfferWaitsForItsInstant(t *testing.T) {
	s := mustNew(t, config(1))
	p := put(100)
	p.At = 5 * us
	s.Offer(0, p)
	if _, at := next(t, s, 0); at != 5*us {
		t.Errorf("sent at %v", at)
	}
}

// A withdrawn packet does not go, and no tokens are reserved for it any more.
func TestWithdraw(t *testing.T) {
	s := mustNew(t, config(2, inLimit(8*gbps, 2111)))
	s.Offer(0, get(100))
	next(t, s, 0)
	s.Offer(0, get(2111))
	for range 40 { // other units are granted more than a round's worth
		s.Offer(1, get(60))
		next(t, s, 0)
	}
	if s.reserved < 0 && s.Skips(0) == 0 {
		t.Fatal("the first unit was never passed over")
	}
	s.Withdraw(0)
	s.Offer(1, get(60))
	if u, _ := next(t, s, 1000*us); u != 1 || s.reserved >= 0 {
		t.Errorf("unit %d goes, tokens are kept for %d", u, s.reserved)
	}
	if s.Withdraw(0); s.Due() != unit.Never {
		t.Error("nothing is offered")
	}
}

func TestNoAllocations(t *testing.T) {
	s := mustNew(t, config(72, inLimit(100*gbps, 8444)))
	for u := range 72 {
		s.Offer(u, get(2088))
	}
	now := unit.Time(0)
	if got := testing.AllocsPerRun(1000, func() {
		u, ok := s.Pick(now)
		if !ok {
			now = s.Due()
			return
		}
		s.Offer(u, get(2088))
	}); got != 0 {
		t.Errorf("%v allocations per pick", got)
	}
}

func BenchmarkPick(b *testing.B) {
	s := mustNew(b, config(72, inLimit(100*gbps, 8444)))
	for u := range 16 {
		s.Offer(u, get(2088))
	}
	now := unit.Time(0)
	for b.Loop() {
		u, ok := s.Pick(now)
		if !ok {
			now = s.Due()
			continue
		}
		s.Offer(u, get(2088))
	}
}

// The stall of a packet ends when the packet is withdrawn. The sum over the
// leaves equals Stalled.
func TestWithdrawnPacketDoesNotStall(t *testing.T) {
	s := mustNew(t, config(1, inLimit(8*gbps, 3000)))
	s.Offer(0, get(2000))
	if _, at := next(t, s, 0); at != 0 || !s.Changing() {
		t.Fatalf("goes at %v, changing: %v", at, s.Changing())
	}
	s.Offer(0, get(2000))
	s.Pick(0)
	s.Withdraw(0)
	if s.Due() != 0 {
		t.Fatalf("due at %v, the stall has to be settled", s.Due())
	}
	s.Pick(500 * us / 1000)
	if got := s.Due(); got != unit.Never {
		t.Errorf("due at %v with nothing to send", got)
	}
	sum := s.Stalled(us)
	if want := (Stall{In: 500 * us / 1000}); sum != want || s.Stalls(us)[0] != want {
		t.Errorf("stalled %+v, by leaf %+v, want %+v", sum, s.Stalls(us), want)
	}
	if s.Tokens(3 * us); s.Changing() {
		t.Error("changing with a full bucket and nothing that waits")
	}
}

// A request that waits has the bound that its response exceeds, the first in the order in
// which they are checked, and the room below that bound when it was judged.
func TestExcessIsTheBoundThatWasExceeded(t *testing.T) {
	outstanding := func(o Outstanding) func(*Config) {
		return func(c *Config) { c.Pacing, c.Outstanding = PacingOutstanding, o }
	}
	for _, tt := range []struct {
		change func(*Config)
		want   Excess
	}{
		{inLimit(1, 5000), Excess{2000, 1000, HeadTokens}},
		{func(c *Config) { c.Branches[0].In.Ceiling = Limit{1, 5000} }, Excess{2000, 1000, BranchTokens}},
		{func(c *Config) { c.Leaves[0].In.Ceiling = Limit{1, 5000} }, Excess{2000, 1000, LeafTokens}},
		{func(c *Config) { c.In, c.Leaves[0].In.Ceiling = Limit{1, 4500}, Limit{1, 5000} }, Excess{2000, 1000, LeafTokens}},
		{outstanding(Outstanding{Bytes: 5000}), Excess{2000, 1000, OpenBytes}},
		{outstanding(Outstanding{PerPeriod: 5000, Period: us}), Excess{2000, 1000, PeriodBytes}},
		{outstanding(Outstanding{Bytes: 5000, PerPeriod: 4500, Period: us}), Excess{2000, 1000, OpenBytes}},
		{outstanding(Outstanding{Bytes: 9000, PerPeriod: 5000, Period: us}), Excess{2000, 1000, PeriodBytes}},
	} {
		s := mustNew(t, config(1, tt.change))
		for range 2 {
			s.Offer(0, get(2000))
			if _, ok := s.Pick(0); !ok {
				t.Fatalf("%+v: a response within the bounds waits", tt.want)
			}
		}
		s.Offer(0, get(2000))
		_, ok := s.Pick(0)
		var got []Excess
		for _, x := range s.PassedOver() {
			got = append(got, x)
		}
		if ok || len(got) != 1 || got[0] != tt.want {
			t.Errorf("got %v, %+v, want %+v", ok, got, tt.want)
		}
	}
}
