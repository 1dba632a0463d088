package explain

import (
	"slices"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

func askLoss(t *testing.T, s *topology.Scenario, flow string) *LossReport {
	t.Helper()
	r, err := AskLoss(s, LossQuestion{Flow: flow, To: s.Duration}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const lossText = `
name: loss
duration: 5ms
scheme: pfc
defaults: {link: {rate: 40Gbps, delay: 1us}, nic: {timeout: 100us}}
nics: {h0..h2: , r0: }
switches: {s0: {buffer: 200KB, lossless: []}}
links: [{endpoints: ["h0..h2, r0", s0]}]
flows:
  - {name: F0, from: h0, to: r0, size: 200KB}
  - {name: F1, from: h1, to: r0, size: 200KB}
  - {name: F2, from: h2, to: r0, size: 200KB}
`

// The report counts the packets of the flow that a run drops, at the port that they came from,
// and names the flows that filled the buffer.
func TestLossInABuffer(t *testing.T) {
	s := parse(t, lossText)
	r := askLoss(t, s, "F0")
	l, err := lab.New(s)
	if err != nil {
		t.Fatal(err)
	}
	dropped, sent, duration := 0, 0, unit.Time(0)
	l.PerFrame = true
	l.Listen = func(_ int, notes []fabric.Note) {
		for _, n := range notes {
			switch {
			case n.Flow != 0:
			case n.Kind == fabric.Dropped:
				dropped++
			case n.Kind == fabric.Transmitted:
				sent++
			case n.Kind == fabric.Completed:
				duration = n.At - n.Start()
			}
		}
	}
	l.Run(s.Duration)
	if len(r.Losses) != 1 || dropped == 0 {
		t.Fatalf("%+v, %d dropped", r.Losses, dropped)
	}
	v := r.Losses[0]
	if v.Node != "s0" || v.Peer != "h0" || v.Reason != "buffer" || v.Packets != dropped || v.Control != 0 || v.Fill == nil {
		t.Errorf("%+v, want %d packets", v, dropped)
	}
	if v.Fill != nil && (len(v.Fill.Flows) != 3 || v.Fill.Flows[0].Egress != "r0" || v.Fill.Shared+1062 <= v.Fill.Threshold) {
		t.Errorf("filled by %+v", v.Fill)
	}
	c := r.Cost
	if r.Sent != sent || c.Retransmitted != sent-200 || c.RetransmittedBytes != unit.Bytes(c.Retransmitted)*1000 ||
		c.Completed != 1 || c.Duration != duration || c.Undisturbed != 0 || c.Stalls == 0 || c.Stalled <= 0 || c.Stalled > duration {
		t.Errorf("%d of %d sent: %+v, completed after %s", r.Sent, sent, c, duration)
	}
	text := lossReport(t, r)
	for _, want := range []string{"Loss of F0, from 0ps to 5ms, of loss under pfc", "s0, port to h0: a lossy class, no room below its threshold", "in the buffer: "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// A full egress queue is reported by its length, at most its limit, and by its flows: not by the
// account of the port that the frames arrived at. Of a frame whose rest has no room, the queue is that of
// trimmed packets.
func TestLossAtAnEgressQueue(t *testing.T) {
	for _, c := range []struct {
		settings, reason string
		limit            unit.Bytes
	}{
		{"lossless: [], class3: {queue_limit: 50KB}", "queue", 50 * unit.Kilobyte},
		{"lossless: [], class3: {trim: on, queue_limit: 20KB}, class5: {queue_limit: 1600B}, trim_size: 400B", "trimmed", 1600},
	} {
		r := askLoss(t, parse(t, strings.NewReplacer("buffer: 200KB, lossless: []", c.settings, "pfc", "irn").Replace(lossText)), "F2")
		i := slices.IndexFunc(r.Losses, func(l Loss) bool { return l.Reason == c.reason })
		if i < 0 || r.Losses[i].Peer != "h2" || r.Losses[i].Fill == nil {
			t.Fatalf("%s: %+v", c.reason, r.Losses)
		}
		f := r.Losses[i].Fill
		if f.Queue > c.limit || f.Queue < c.limit/2 || f.Occupancy != 0 || len(f.Flows) == 0 || f.Flows[0].Egress != "r0" {
			t.Errorf("%s: filled by %+v", c.reason, f)
		}
		if text := lossReport(t, r); !strings.Contains(text, "longest at ") || !strings.Contains(text, "queued for r0") || strings.Contains(text, "frames from") {
			t.Error(text)
		}
	}
}

func lossReport(t *testing.T, r *LossReport) string {
	t.Helper()
	var b strings.Builder
	if err := r.Text(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// One packet lost on a link: the report has the packet, the NAK, what go-back-N sent again, and
// the time without the loss. With retry at the link it has the replay instead.
func TestLossOnALink(t *testing.T) {
	one := func(llr string) *LossReport {
		return askLoss(t, parse(t, `
name: one
duration: 1ms
scheme: pfc
defaults: {link: {rate: 40Gbps, delay: 1us, llr: `+llr+`}, nic: {timeout: 100us}}
nics: {h0: , r0: }
switches: {s0..s1: }
links: [{endpoints: [h0, s0]}, {endpoints: [s0, s1]}, {endpoints: [s1, r0]}]
flows: [{name: F, from: h0, to: r0, size: 50KB}]
changes:
  - {at: 5us, set: s0->s1.loss=1}
  - {at: 5.2us, set: s0->s1.loss=0}
`), "F")
	}
	r := one("false")
	if len(r.Losses) != 1 || r.Losses[0].Packets != 1 || r.Losses[0].Node != "s1" || r.Losses[0].Peer != "s0" || r.Losses[0].Reason != "link-loss" {
		t.Fatalf("%+v", r.Losses)
	}
	// The facts of the story fabric/lab/testdata/llr.txt.
	c := r.Cost
	if c.Retransmitted != 33 || c.NAKs != 1 || c.Stalls != 1 || r.Order.Packets == 0 || r.Order.Depth != 32 || c.Duration != 24100*unit.Nanosecond || c.Undisturbed <= 0 || c.Undisturbed >= c.Duration {
		t.Errorf("%+v, %+v", c, r.Order)
	}
	text := lossReport(t, r)
	for _, want := range []string{"F lost 1 of ", " packets and 0 control packets: 33 retransmitted, delivery in order stopped 1 time, for ", "ahead of a missing one; 1 NAK\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nwant %q", text, want)
		}
	}
	below := one("true")
	if below.Cost.Retransmitted != 0 || below.Cost.NAKs != 0 || below.Order.Packets != 0 || len(below.Replays) != 1 ||
		below.Replays[0] != (Replay{"s0->s1", 1, 12}) || len(below.Losses) != 1 || below.Losses[0].Repaired != 1 || below.Losses[0].Packets != 0 {
		t.Errorf("%+v", below)
	}
	if below.Cost.Stalls != 1 || below.Cost.Stalled >= c.Stalled || below.Cost.Undisturbed != 17212400 && below.Cost.Undisturbed >= below.Cost.Duration {
		t.Errorf("%+v, end to end %+v", below.Cost, c)
	}
	if text := lossReport(t, below); !strings.Contains(text, "s0->s1 replayed 1 time, up to 12 frames of all flows\n") {
		t.Error(text)
	}
}

// Under selective repeat, packets that arrive early do not end a stall: the repair takes at least the
// way of the NAK and of the packet sent again, which is a round trip.
func TestStallUnderSelectiveRepeatEndsWithTheRepair(t *testing.T) {
	const delay, hops = 1 * unit.Microsecond, 3
	for until, packets := range map[string]int{"5.2us": 1, "6us": 5} {
		r := askLoss(t, parse(t, `
name: one
duration: 1ms
scheme: irn
defaults: {link: {rate: 40Gbps, delay: 1us}}
nics: {h0: , r0: }
switches: {s0..s1: }
links: [{endpoints: [h0, s0]}, {endpoints: [s0, s1]}, {endpoints: [s1, r0]}]
flows: [{name: F, from: h0, to: r0, size: 50KB}]
changes:
  - {at: 5us, set: s0->s1.loss=1}
  - {at: `+until+`, set: s0->s1.loss=0}
`), "F")
		c := r.Cost
		if c.Retransmitted < packets || r.Order.Packets == 0 || c.Stalls == 0 || c.Stalled < 2*hops*delay || c.Stalled > 4*hops*delay {
			t.Errorf("lost until %s: %d sent again, %d stalls of %s together, want a stall of more than %s", until, c.Retransmitted, c.Stalls, c.Stalled, 2*hops*delay)
		}
	}
}

// A lost last packet costs the time-out, which the report has.
func TestLossOfTheLastPacket(t *testing.T) {
	r := askLoss(t, parse(t, `
name: last
duration: 1ms
scheme: pfc
defaults: {link: {rate: 40Gbps, delay: 1us}, nic: {timeout: 100us}}
nics: {h0: , r0: }
switches: {s0: }
links: [{endpoints: [h0, s0]}, {endpoints: [s0, r0]}]
flows: [{name: F, from: h0, to: r0, size: 5KB}]
changes:
  - {at: 3.2us, set: s0->r0.loss=1}
  - {at: 3.4us, set: s0->r0.loss=0}
`), "F")
	c := r.Cost
	if c.Timeouts != 1 || c.Waited < 90*unit.Microsecond || c.Waited > 101*unit.Microsecond || c.Retransmitted != 1 || c.Stalls != 1 {
		t.Errorf("%+v of %+v", c, r.Losses)
	}
}

func TestNoLoss(t *testing.T) {
	s := parse(t, strings.Replace(lossText, "lossless: []", "lossless: [3]", 1), topology.Setting{Key: "s0.buffer", Value: "12MB"})
	r := askLoss(t, s, "F0")
	if len(r.Losses) != 0 || r.Cost.Retransmitted != 0 || !strings.HasPrefix(r.Verdict, "no packet of F0 was lost: 200 sent") {
		t.Errorf("%+v", r)
	}
	text := lossReport(t, r)
	for _, want := range []string{"  timeouts       0\n", "  stalls         0\n", "completion     1 of 1"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestAskLossRefusesUnknownFlowsAndRanges(t *testing.T) {
	s := parse(t, lossText)
	for _, q := range []LossQuestion{{Flow: "F9", To: s.Duration}, {Flow: "F0"}, {Flow: "F0", From: s.Duration, To: 2 * s.Duration}, {Flow: "F0", From: -1, To: 1}} {
		if r, err := AskLoss(s, q, nil); err == nil {
			t.Errorf("%+v: %+v", q, r)
		}
	}
	if r, err := AskLoss(s, LossQuestion{Flow: "F0", To: s.Duration}, func() bool { return false }); r != nil || err != nil {
		t.Errorf("stopped: %+v, %v", r, err)
	}
}

// Trimmed packets are counted at the egress queue that had no room for their payload, with the
// flows in it.
func TestLossOfPayload(t *testing.T) {
	s := parse(t, `
name: trim
duration: 2ms
scheme: irn
defaults: {link: {rate: 40Gbps, delay: 1us}, switch: {trim: "on"}}
nics: {h0..h11: , r0: }
switches: {s0: }
links: [{endpoints: ["h0..h11, r0", s0]}]
bursts:
  - {name: B, from: h0..h11, to: r0, flows_per_sender: 2, size: 100KB, at: 1us}
`)
	r := askLoss(t, s, "B")
	l, err := lab.New(s)
	if err != nil {
		t.Fatal(err)
	}
	cut := 0
	l.Listen = func(_ int, notes []fabric.Note) {
		for _, n := range notes {
			if n.Kind == fabric.Trimmed {
				cut++
			}
		}
	}
	l.Run(s.Duration)
	if len(r.Losses) != 1 || cut == 0 {
		t.Fatalf("%d trimmed, %+v", cut, r.Losses)
	}
	v := r.Losses[0]
	if v.Peer != "r0" || v.Reason != trimmed || v.Packets != cut || v.Fill == nil || v.Fill.Queue == 0 || len(v.Fill.Flows) != 1 || v.Fill.Flows[0].Flow != "B" {
		t.Errorf("%d trimmed, %+v, %+v", cut, v, v.Fill)
	}
	if text := lossReport(t, r); !strings.Contains(text, "switches trimmed") || !strings.Contains(text, "queued for r0") {
		t.Error(text)
	}
}
