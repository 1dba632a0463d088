package lab_test

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// reactionOf runs the scenario ceth-reaction under a scheme and follows its flow.
func reactionOf(t *testing.T, scheme string, change ...func(*topology.Scenario)) (measure.ReactionResult, []*measure.NodeResult) {
	t.Helper()
	text, _ := scenariofile.Builtin("ceth-reaction")
	s, err := scenariofile.Parse("ceth-reaction", text)
	if err != nil {
		t.Fatal(err)
	}
	s.Scheme = scheme
	for _, edit := range change {
		edit(s)
	}
	l, err := lab.New(s)
	if err != nil {
		t.Fatal(err)
	}
	followed := measure.NewReaction(s, 0)
	l.PerFrame = true
	l.Listen = func(_ int, notes []fabric.Note) { followed.Observe(notes) }
	l.Run(s.Duration)
	return followed.Result(), l.Results()
}

// CETH-64: fig. 3: packet 1 meets congestion; the CNP is held up by the receiver's
// limit, and the source slows down at packet 5; congestion ends at packet 6, but
// late CNPs slow it down until packet 7; it climbs by its timer, and is back at
// packet 10.
func TestFigure3(t *testing.T) {
	r, _ := reactionOf(t, "cnp")
	if r.SlowDown != 5 || r.Clear != 6 || r.Lowest != 7 || r.Recovered != 10 {
		t.Errorf("slows down at %d, clear at %d, lowest at %d, recovered at %d, want 5, 6, 7 and 10", r.SlowDown, r.Clear, r.Lowest, r.Recovered)
	}
	if r.Cuts < 2 {
		t.Errorf("%d cuts, want a walk", r.Cuts)
	}
}

// CETH-65: fig. 16: the source slows down at packet 4, which is at the target rate
// already.
// CETH-66: after the clear notification the rate is back at packet 8.
func TestFigure16(t *testing.T) {
	r, _ := reactionOf(t, "ceth")
	if r.SlowDown != 4 || r.Lowest != 4 || r.Clear != 6 || r.Recovered != 8 {
		t.Errorf("slows down at %d, lowest at %d, clear at %d, recovered at %d, want 4, 4, 6 and 8", r.SlowDown, r.Lowest, r.Clear, r.Recovered)
	}
	if r.Cuts != 1 || r.LowestRate != 5*unit.GigabitPerSec {
		t.Errorf("%d cuts to %v, want one to half", r.Cuts, r.LowestRate)
	}
}

// The figures do not depend on one instant: the burst may start 50 ns earlier or
// later, and the links be 10 ns shorter or longer; the recovery moves by a packet.
func TestFiguresTolerateSmallShifts(t *testing.T) {
	for _, shift := range []unit.Time{-50 * unit.Nanosecond, 50 * unit.Nanosecond} {
		for _, delay := range []unit.Time{140 * unit.Nanosecond, 160 * unit.Nanosecond} {
			change := func(s *topology.Scenario) {
				for i := range s.Flows {
					if s.Flows[i].Burst >= 0 {
						s.Flows[i].Start += shift
					}
				}
				for i := range s.Links {
					s.Links[i].Delay = delay
				}
			}
			apart, _ := reactionOf(t, "cnp", change)
			together, _ := reactionOf(t, "ceth", change)
			if apart.SlowDown != 5 || apart.Recovered != 10 || together.SlowDown != 4 || together.Recovered != 7 && together.Recovered != 8 {
				t.Errorf("burst %v, links of %v: %d and %d apart, %d and %d together", shift, delay, apart.SlowDown, apart.Recovered, together.SlowDown, together.Recovered)
			}
		}
	}
}

// CETH-63: fewer packets, earlier notices of both the beginning and the end, and
// more of the bandwidth used.
func TestAggregationAgainstTheBaseline(t *testing.T) {
	apart, baseline := reactionOf(t, "cnp")
	together, aggregated := reactionOf(t, "ceth")
	const receiver = 3 // r0
	if was, got := baseline[receiver].Notices["notified"], aggregated[receiver].Notices["notified"]; was == 0 || got != 0 {
		t.Errorf("%d CNPs apart and %d together", was, got)
	}
	if together.Notice >= apart.Notice || together.End >= apart.End {
		t.Errorf("notice after %v and %v, of the end after %v and %v", together.Notice, apart.Notice, together.End, apart.End)
	}
	if got, was := len(together.Packets), len(apart.Packets); got <= was {
		t.Errorf("F sends %d packets together and %d apart", got, was)
	}
}

// marking runs the paper's rack under CETH with RED that marks everything above 100 KB.
func marking(t *testing.T, scheme string, set ...topology.Setting) *measure.Run {
	t.Helper()
	text, _ := scenariofile.Builtin("pcn-16to2")
	s, err := scenariofile.ParseWith("pcn-16to2", text, append(set,
		topology.Setting{Key: "duration", Value: "6ms"}, topology.Setting{Key: "scheme", Value: scheme},
		topology.Setting{Key: "switch.kmin", Value: "100KB"}, topology.Setting{Key: "switch.kmax", Value: "100KB"}))
	if err != nil {
		t.Fatal(err)
	}
	return measured(t, s)
}

// The degree spares the victim of the paper's rack where it leaves a share of the
// current rate, at ten instants of the burst. A table of four shares of line rate
// does not: 15 senders that go to a quarter of it overload the port as before.
// CETH-56: what the queue of the congested port still takes, as a budget of each
// sender, spares it as well.
func TestDegreeAndBudgetProtectTheVictim(t *testing.T) {
	set := func(key, value string) topology.Setting { return topology.Setting{Key: key, Value: value} }
	for _, g := range []struct {
		settings []topology.Setting
		spared   bool
	}{
		{nil, true},
		{[]topology.Setting{set("ceth.degree", "table")}, false},
		{[]topology.Setting{set("ceth.source", "int")}, true},
		{[]topology.Setting{set("ceth.source", "int"), set("ceth.degree", "table"), set("ceth.depth", "budget")}, true},
	} {
		for _, r := range instants(t, 20, "ceth", append(g.settings, set("duration", "4ms"), set("switch.kmin", "100KB"), set("switch.kmax", "100KB"))...) {
			victim := r.Flows[0].BurstGoodput
			spared := r.Tree < 200*unit.Microsecond && victim > 25*unit.GigabitPerSec
			hurt := r.Tree > 2*unit.Millisecond && victim < 5*unit.GigabitPerSec
			if r.Burst.Completed != 224 || r.Drops != 0 || g.spared && !spared || !g.spared && !hurt {
				t.Errorf("%v: tree %v, F0 %v, %d done, %d lost", g.settings, r.Tree, victim, r.Burst.Completed, r.Drops)
			}
		}
	}
}

// CETH-9, CETH-63: a receiver that sends an ACK for every packet and no more loses
// ACKs and CNPs where they go apart, and the burst waits for retransmission; where the
// ACK carries the indication, the limit has no effect.
func TestLimitedReceiverOnTheRack(t *testing.T) {
	limit := topology.Setting{Key: "r0..r1.control_rate", Value: "4800000"}
	free, together, apart := marking(t, "ceth"), marking(t, "ceth", limit), marking(t, "cnp", limit)
	if together.Drops != 0 || together.Burst.P99 > free.Burst.P99+free.Burst.P99/100 || together.Burst.Completed != 224 {
		t.Errorf("together: %d lost, %d done, p99 %v, %v without the limit", together.Drops, together.Burst.Completed, together.Burst.P99, free.Burst.P99)
	}
	if apart.Drops < 1000 || apart.Burst.Completed > 200 {
		t.Errorf("apart: %d lost, %d done in 6 ms", apart.Drops, apart.Burst.Completed)
	}
}

// With DCQCN's published timer and steps the baseline takes thousands of packets to
// recover, compared to 10 in the drawing.
func TestPublishedBaselineRecoversLate(t *testing.T) {
	r, _ := reactionOf(t, "cnp", func(s *topology.Scenario) {
		s.CC.DCQCN, s.Duration, s.Bin = cc.DefaultDCQCN(), 40*unit.Millisecond, unit.Millisecond
	})
	if r.SlowDown != 5 || r.Recovered < 1000 {
		t.Errorf("slows down at %d, recovered at %d", r.SlowDown, r.Recovered)
	}
}

// CETH-3: a switch that indicates congestion does so in the ACK of an earlier packet, before
// the receiver could.
func TestSwitchIndicatesEarlierThanReceiver(t *testing.T) {
	together, _ := reactionOf(t, "ceth")
	early, _ := reactionOf(t, "ceth", func(s *topology.Scenario) {
		s.CC.CETH.Source, s.CC.CETH.Form = cc.CETHSwitch, cc.CETHResv6
	})
	if early.SlowDown == 0 || early.SlowDown >= together.SlowDown || early.LowestRate != together.LowestRate {
		t.Errorf("slows down at %d to %v, by the receiver at %d to %v", early.SlowDown, early.LowestRate, together.SlowDown, together.LowestRate)
	}
}
