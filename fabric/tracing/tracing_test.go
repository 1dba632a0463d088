package tracing_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/tracing"
	"github.com/rackfab/rackfab/fabric/unit"
)

// traced runs a scenario in the lab with every message sampled, and returns the spans
// by message.
func traced(t rapid.TB, text string) map[uint64][]tracing.Span {
	t.Helper()
	s, err := scenariofile.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	l, err := lab.New(s)
	if err != nil {
		t.Fatal(err)
	}
	l.Follow = fabric.NewSelection(s.Seed, 1, nil)
	spans := map[uint64][]tracing.Span{}
	tracers := make([]*tracing.Tracer, len(s.Nodes))
	for i := range tracers {
		tracers[i] = tracing.New(s, i, l.Follow, func(x *tracing.Span) { spans[x.Message] = append(spans[x.Message], *x) })
	}
	l.Listen = func(node int, notes []fabric.Note) { tracers[node].Observe(notes) }
	l.Run(s.Duration)
	for _, tr := range tracers {
		tr.Finish(s.Duration)
		if tr.Cut() > 0 {
			t.Fatalf("%d spans were cut", tr.Cut())
		}
	}
	return spans
}

// whole checks that the legs of a critical path are contiguous from post to completion.
func whole(list []tracing.Span, legs []tracing.Leg) error {
	root := rootOf(list)
	at, sum := root.Start, unit.Time(0)
	for _, l := range legs {
		if l.Start != at || l.End < l.Start {
			return fmt.Errorf("%s at %s runs from %d to %d, the one before ends at %d", l.Name, l.Node, l.Start, l.End, at)
		}
		at, sum = l.End, sum+l.End-l.Start
	}
	shares, err := tracing.Divide(list)
	if err != nil {
		return err
	}
	if shares.Sum() != sum || shares.Paused < 0 || shares.Queued < 0 || shares.Waited < 0 || shares.Target < 0 {
		return fmt.Errorf("shares %+v of %d ps", shares, sum)
	}
	if at != root.End || sum != root.End-root.Start {
		return fmt.Errorf("%d ps in all, ends at %d; the message takes %d and ends at %d", sum, at, root.End-root.Start, root.End)
	}
	return nil
}

func rootOf(spans []tracing.Span) *tracing.Span {
	for i := range spans {
		if spans[i].Part == tracing.Root {
			return &spans[i]
		}
	}
	return nil
}

// get is one GET of 16 KB over two switches.
const get = `
name: one-get
seed: 1
duration: 100us
scheme: pfc
nics: {h0: , r0: }
switches: {s0: , s1: }
links:
  - {endpoints: [h0, s0], rate: 40Gbps, delay: 1us}
  - {endpoints: [s0, s1], rate: 40Gbps, delay: 1us}
  - {endpoints: [s1, r0], rate: 40Gbps, delay: 1us}
commands:
  - {name: fetch, verb: get, from: h0, to: r0, size: 4KB, at: 1us}
`

// The trace of one GET through NIC, two switches, target and back contains every part,
// and the critical path adds up to the total to the picosecond.
func TestGETOverTwoSwitches(t *testing.T) {
	spans := traced(t, get)
	if len(spans) != 1 {
		t.Fatalf("%d messages, want 1", len(spans))
	}
	for _, list := range spans {
		root := rootOf(list)
		legs, err := tracing.Critical(list)
		if err != nil {
			t.Fatal(err)
		}
		if err := whole(list, legs); err != nil {
			t.Error(err)
		}
		var names []string
		for _, l := range legs {
			names = append(names, l.Name+" "+l.Node)
		}
		const want = "request h0, wire h0->s0, switch s0, wire s0->s1, switch s1, wire s1->r0, respond r0, " +
			"wire r0->s1, switch s1, wire s1->s0, switch s0, wire s0->h0"
		if got := strings.Join(names, ", "); got != want {
			t.Errorf("path %s\nwant %s", got, want)
		}
		if root.Name != "GET" || root.Flow != "fetch" || root.Bytes != 4000 || len(list) != 13 {
			t.Errorf("root %+v with %d spans", root, len(list))
		}
	}
}

// random draws a rack of one to three switches in a line, with hosts on each, flows and
// commands between them, and possibly too small buffers.
func random(t *rapid.T) string {
	switches := rapid.IntRange(1, 3).Draw(t, "switches")
	hosts := rapid.IntRange(2, 6).Draw(t, "hosts")
	var b strings.Builder
	scheme := rapid.SampledFrom([]string{"pfc", "qcn", "dcqcn", "timely", "pcn", "ceth", "cbrc"}).Draw(t, "scheme")
	fmt.Fprintf(&b, "name: random\nseed: %d\nduration: 2ms\nscheme: %s\n", rapid.Uint32().Draw(t, "seed"), scheme)
	nic := fmt.Sprintf("payload: %dB, ack_every: %d, timeout: 100us", rapid.SampledFrom([]int{256, 1000}).Draw(t, "payload"), rapid.IntRange(1, 9).Draw(t, "ack every"))
	box := fmt.Sprintf("arbitration: %s", rapid.SampledFrom([]string{"fifo", "ingress"}).Draw(t, "arbitration"))
	if rapid.Bool().Draw(t, "lossy") {
		box += ", lossless: [], buffer: 20KB"
	}
	fmt.Fprintf(&b, "defaults: {nic: {%s}, switch: {%s}, link: {rate: 40Gbps, delay: %dns}}\n", nic, box, rapid.IntRange(1, 3000).Draw(t, "delay"))
	fmt.Fprintf(&b, "nics: {h0..h%d: }\nswitches: {s0..s%d: }\nlinks:\n", hosts-1, switches-1)
	for i := range hosts {
		fmt.Fprintf(&b, "  - {endpoints: [h%d, s%d]}\n", i, rapid.IntRange(0, switches-1).Draw(t, "at"))
	}
	for i := range switches - 1 {
		fmt.Fprintf(&b, "  - {endpoints: [s%d, s%d], rate: %dGbps}\n", i, i+1, rapid.SampledFrom([]int{10, 40}).Draw(t, "rate"))
	}
	pair := func() (int, int) {
		from := rapid.IntRange(0, hosts-1).Draw(t, "from")
		return from, (from + rapid.IntRange(1, hosts-1).Draw(t, "to")) % hosts
	}
	b.WriteString("flows:\n")
	for i := range rapid.IntRange(1, 8).Draw(t, "flows") {
		from, to := pair()
		fmt.Fprintf(&b, "  - {name: F%d, from: h%d, to: h%d, size: %dB, start: %dns}\n", i, from, to,
			rapid.IntRange(1, 100_000).Draw(t, "size"), rapid.IntRange(0, 100_000).Draw(t, "start"))
	}
	if scheme == "cbrc" {
		return b.String()
	}
	b.WriteString("commands:\n")
	for i := range rapid.IntRange(1, 4).Draw(t, "commands") {
		from, to := pair()
		verb := rapid.SampledFrom([]string{"put", "get", "send", "fetch-add"}).Draw(t, "verb")
		size := rapid.IntRange(1, 20_000).Draw(t, "command size")
		if verb == "fetch-add" {
			size = 8
		}
		fmt.Fprintf(&b, "  - {name: C%d, verb: %s, from: h%d, to: h%d, size: %dB, count: 3, every: 10us}\n", i, verb, from, to, size)
	}
	return b.String()
}

// overflowing is an incast into a buffer that drops frames: its senders retransmit whatever
// the random racks do.
const overflowing = `
name: overflowing
seed: 1
duration: 2ms
scheme: pfc
defaults: {nic: {timeout: 100us}, switch: {lossless: [], buffer: 20KB}, link: {rate: 40Gbps, delay: 1us}}
nics: {h0..h2: }
switches: {s0: , s1: }
links: [{endpoints: [h0..h1, s0]}, {endpoints: [s0, s1]}, {endpoints: [h2, s1]}]
flows:
  - {name: F0, from: h0, to: h2, size: 100KB}
  - {name: F1, from: h1, to: h2, size: 100KB}
commands: [{name: C0, verb: get, from: h0, to: h2, size: 20KB, count: 3, every: 10us}]
`

// On any rack, the parts of the path that completed a message add up to its time.
func TestCriticalPathsAreComplete(t *testing.T) {
	complete, elsewhere, open, again := 0, 0, 0, 0
	check := func(t rapid.TB, text string) {
		for message, list := range traced(t, text) {
			for _, e := range rootOf(list).Events {
				if e.Kind == fabric.Retransmitted {
					again++
				}
			}
			legs, err := tracing.Critical(list)
			switch {
			case errors.Is(err, tracing.ErrOpen):
				open++
				continue
			case errors.Is(err, tracing.ErrElsewhere):
				elsewhere++
				continue
			case err == nil:
				err = whole(list, legs)
			}
			if complete++; err != nil {
				t.Fatalf("message %x: %v\n%s", message, err, dump(list))
			}
		}
	}
	check(t, overflowing)
	if again == 0 {
		t.Error("no sender of the overflowing rack went back")
	}
	rapid.Check(t, func(t *rapid.T) { check(t, random(t)) })
	t.Logf("%d messages with a path, %d completed by a frame of another, %d open; senders went back %d times", complete, elsewhere, open, again)
	if complete < 10*(elsewhere+1) {
		t.Errorf("only %d messages have a path of their own, %d have not", complete, elsewhere)
	}
}

func dump(list []tracing.Span) string {
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintf(&b, "%-8s %-3s->%-3s %12d %12d in %d role %s %s frames %d by %x\n", s.Name, s.Node, s.Peer, s.Start, s.End, s.In, s.Role, s.Direction(), s.Frames, s.By)
	}
	return b.String()
}

// A datagram is complete without an answer, and so without a critical path.
func TestDatagramsHaveNoCriticalPath(t *testing.T) {
	const text = `name: ud
duration: 100us
nics: {a: {}, b: {}}
switches: {s: {}}
links: [{endpoints: ["a, b", s], rate: 40Gbps, delay: 1us}]
commands: [{name: U, verb: send, transport: ud, from: a, to: b, size: 1KB, count: 3}]
`
	messages := traced(t, text)
	for message, list := range messages {
		if _, err := tracing.Critical(list); !errors.Is(err, tracing.ErrUnanswered) {
			t.Errorf("message %x: %v\n%s", message, err, dump(list))
		}
	}
	if len(messages) != 3 {
		t.Errorf("%d messages", len(messages))
	}
}
