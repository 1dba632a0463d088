package scenariofile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric/nic/program"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// waited is a file with flows, bursts, programs and a collective that wait for each other. Tests replace its parts.
const waited = `name: waited
duration: 1ms
nics: {h0..h3: }
switches: {s0: }
links:
  - {endpoints: [h0..h3, s0], rate: 40Gbps, delay: 1us}
flows:
  - {name: ask, from: h0, to: h1, size: 1MB}
  - {name: answer, from: h1, to: h0, size: 1MB, after: [ask]}
  - {name: next, from: "h0,h3", to: "h2,h1", size: 1MB, start: 5us, after: [answer, think]}
  - {name: tail, from: h3, to: h2, size: endless, after: [sum]}
bursts:
  - {name: flood, from: h1..h2, to: h0, flows_per_sender: 2, size: 9KB, after: [answer, next-h0]}
  - {name: plain, from: h1..h2, to: h3, size: 9KB, at: 7us}
programs:
  h0: |
    think: calc 20us after answer
    calc 1us after flood once_started next-h0
  h3: calc 1us after plain, sum once_started tail
collectives:
  - {name: sum, kind: barrier, ranks: [h0, h3], after: [flood]}
`

// listedSteps returns the steps of a NIC, each with what it waits for: "flow answer: done 0".
func listedSteps(s *topology.Scenario, node int) (list []string) {
	h := s.StepsOf(node)
	for i := range h.Len() {
		var after []string
		for _, c := range h.Conditions(i) {
			after = append(after, fmt.Sprintf("%s %d", map[bool]string{true: "begun", false: "done"}[c.Begun()], c.Step()))
		}
		list = append(list, fmt.Sprintf("%s: %s", s.Label(h, i), strings.Join(after, ", ")))
	}
	return list
}

// PROG-1: Flows, bursts, steps and collectives wait for each other. Flows that wait, or are waited for, are steps of their
// senders, and at receivers that wait there is a step for their arrival. Each sender waits for what it observes.
func TestFlowsThatWaitAreSteps(t *testing.T) {
	s := parsed(t, waited)
	for node, want := range [][]string{
		{ // calc on processor 1 joins the flows of flood, calc on processor 2 ends at 5us
			"think: done 12", "calc on processor 0: done 6, begun 14",
			"arrival of flow flood/h1/0: ", "arrival of flow flood/h1/1: ", "arrival of flow flood/h2/0: ", "arrival of flow flood/h2/1: ",
			"calc on processor 1: done 2, done 3, done 4, done 5",
			"calc on processor 1: ", "calc on processor 1: done 6, done 7",
			"send to h3 message 0 of sum: done 8", "receive from h3 message 1 of sum: done 8", "calc on processor 1: done 9, done 10",
			"arrival of flow answer: ", "calc on processor 2: ", "flow next-h0: done 13, done 12, done 0", "flow ask: ",
		},
		{
			"flow flood/h1/0: done 2", "flow flood/h1/1: done 2", "flow answer: done 5",
			"calc on processor 1: ", "flow plain/h1/0: done 3", "arrival of flow ask: ",
		},
		{"flow flood/h2/0: done 4", "flow flood/h2/1: done 4", "calc on processor 1: ", "flow plain/h2/0: done 2", "arrival of flow next-h0: "},
	} {
		got := listedSteps(s, node)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("h%d: %s", node, d)
		}
	}
	var after []string
	for _, f := range s.Flows {
		after = append(after, fmt.Sprintf("%s%v%v", f.Name, f.After, f.Step))
	}
	want := "ask[]true answer[ask]true next-h0[answer think]true next-h3[]false tail[sum]true flood/h1/0[]true"
	if got := strings.Join(after, " "); !strings.HasPrefix(got, want) || strings.Count(got, "true") != 4+4+2 {
		t.Errorf("flows %s", got)
	}
	if b := s.Bursts[0]; fmt.Sprint(b.After) != "[answer next-h0]" || b.At != 0 {
		t.Errorf("%+v", b)
	}
}

// The steps of endless flows, and those that end at the earliest instant.
func TestStepsOfFlows(t *testing.T) {
	s := parsed(t, waited)
	h := s.StepsOf(0)
	if d := cmp.Diff(&program.Step{Kind: program.Transfer, Peer: 2, Flow: 2}, h.At(14)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(&program.Step{Kind: program.Arrival, Peer: 1, Flow: 1}, h.At(12)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(&program.Step{Kind: program.Calc, Peer: -1, Processor: 2, Amount: int64(5 * unit.Microsecond)}, h.At(13)); d != "" {
		t.Error(d)
	}
	found := false
	for h, i := s.StepsOf(3), 0; i < h.Len(); i++ {
		if step := h.At(i); step.Kind == program.Transfer {
			found = step.Amount == program.Endless && step.Flow == 4
		}
	}
	if !found {
		t.Errorf("h3 has %v", listedSteps(s, 3))
	}
}

// PROG-9: The manifest has what flows and bursts wait for.
func TestWaitsRoundTrip(t *testing.T) {
	for _, change := range [][]string{
		{},
		{"from: h1..h2, to: h3, size: 9KB, at: 7us", "from: [h2, h1], to: h3, size: 9KB, after: [flood], at: 2us"},
		{"{name: ask, from: h0, to: h1", "{name: ask, from: \"h0,h2\", to: \"h1,h3\"", "[ask]", "[ask-h0]"},
		{"{name: answer, from: h1, to: h0", "{name: answer, from: \"h1,h2\", to: \"h0,h3\"", "[answer, think]", "[answer-h1, think]", "[answer, next-h0]", "[answer-h1, next-h0]", "once_started next-h0", "", "after answer", "after answer-h1"},
	} {
		s := parsed(t, strings.NewReplacer(change...).Replace(waited))
		out, err := Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(s, parsed(t, string(out)), cmp.AllowUnexported(program.Program{})); d != "" {
			t.Errorf("%s\n%s", d, out)
		}
	}
}

// PROG-3: What no sender observes, endless flows and unknown names are refused, with the line.
func TestFaultsOfWaits(t *testing.T) {
	tests := []struct{ name, old, with, want string }{
		{"unknown", "after: [ask]", "after: [asks]", "9: flows[1].after: no flow, burst or collective is called asks, and no step of h1"},
		{"step of another host", "after: [ask]", "after: [think]", "9: flows[1].after: no flow, burst or collective is called think, and no step of h1"},
		{"flow of others", "after: [sum]", "after: [ask]", "11: flows[3].after: ask neither begins nor ends at h3, so that none would wait for it"},
		{"burst of others", "after: [sum]", "after: [flood]", "11: flows[3].after: flood neither begins nor ends at h3"},
		{"no sender", "[answer, think]", "[answer, think, plains]", "10: flows[2].after: no flow, burst or collective is called plains, and no step of its senders"},
		{"not a rank", "after: [ask]", "after: [sum]", "9: flows[1].after: sum has no rank at h1, so that none would wait for it"},
		{"endless", "size: 1MB, after: [ask]", "size: 1MB, after: [ask, forever]}\n  - {name: forever, from: h1, to: h2, size: endless", "9: flows[1].after: forever is endless and never complete, want flows with a size"},
		{"itself", "after: [ask]", "after: [answer]", "9: flows[1].after: answer waits for itself"},
		{"burst after itself", "[answer, next-h0]", "[flood]", "13: bursts[0].after: flood waits for itself"},
		{"workload", "after: [ask]", "after: [load]}\nworkloads:\n  - {name: load, from: h1..h3, to: h1..h3, sizes: [[0, 0], [1KB, 100]], load: 0.1", "9: flows[1].after: no flow, burst or collective is called load"},
		{"no processor", "after flood once", "on 4095 after flood once", "10: flows[2]: h0 has no processor left, want one below 4096"},
		{"twice", "after: [ask]", "after: [ask, ask]", "9: flows[1].after: ask is listed twice"},
		{"no list", "after: [ask]", "after: ask", "9: flows[1].after: want a list of labels, collectives, flows and bursts, like [reduce, gather]"},
		{"no instant", ", at: 7us", "", "14: bursts[1].at: is missing: when the flows are ready to send; required without after"},
		{"late", "start: 5us", "start: 1ms", "10: flows[2].start: 1ms is not before the end of the run"},
		{"step after an unknown one", "after flood once", "after floods once", "18: programs.h0: waits for floods, which is neither a step of h0 nor a collective of which it is a rank, nor a flow or burst that begins or ends there"},
		{"step after a flow of others", "once_started next-h0", "once_started tail", "18: programs.h0: waits for tail, which is neither"},
		{"step after an endless flow", "once_started tail", "after tail", "19: programs.h3: waits for tail, which is endless and never complete: want once_started, or a size"},
		{"begin of a received flow", "once_started next-h0", "once_started answer", "18: programs.h0: waits for the begin of answer, which h0 receives and does not see begin: want after"},
		{"collective after a flow of others", "after: [flood]}", "after: [plainer]}", "21: collectives[0].after: no collective above is called plainer, and no rank has a step plainer"},
		{"collective after an endless flow", "after: [flood]}", "after: [tail]}", "21: collectives[0].after: tail is endless and never complete, want flows with a size"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { replaced(t, waited, tt.old, tt.with, tt.want) })
	}
	replaced(t, strings.Replace(waited, "after plain, sum once", "after sum once", 1), "ranks: [h0, h3], after: [flood]", "ranks: [h2, h3], after: [ask]",
		"21: collectives[0].after: ask neither begins nor ends at a rank, so that none would wait for it")
	// Those that wait for a flow with a fault have none themselves.
	for _, bad := range [][2]string{
		{"ask, from: h0, to: h1", "ask, from: h0, to: h9"},
		{"ask, from: h0, to: h1", "ask, from: h9, to: h1"},
		{"answer, from: h1, to: h0", "answer, from: h1, to: h9"},
		{"flood, from: h1..h2", "flood, from: h1..h9"},
		{"ranks: [h0, h3]", "ranks: [h0, h9]"},
	} {
		_, err := Parse("f.yaml", []byte(strings.Replace(waited, bad[0], bad[1], 1)))
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: want one fault: %v", bad[1], err)
		}
	}
}

// Each sender of an entry waits for what it observes, and each rank of a collective, at either end of a flow.
func TestSendersWaitForWhatTheyObserve(t *testing.T) {
	s := parsed(t, strings.NewReplacer("[answer, think]", "[answer, think, plain]", "ranks: [h0, h3], after: [flood]", "ranks: [h3, h2], after: [flood]").Replace(waited))
	if got := fmt.Sprint(s.Flows[2].After, s.Flows[3].After); got != "[answer think] [plain]" {
		t.Error(got)
	}
	var begin string
	for _, step := range listedSteps(s, 2) {
		if strings.HasPrefix(step, "send to h3 message") {
			begin = step
		}
	}
	// Steps 0 and 1 are the flows of flood, 2 joins them, 3 is the start of sum, 4 waits for both.
	if got := listedSteps(s, 2); begin != "send to h3 message 1 of sum: done 4" || got[2] != "calc on processor 0: done 0, done 1" || got[4] != "calc on processor 0: done 2, done 3" {
		t.Errorf("%v", got)
	}
}

// Earliest instants have a processor each, which no program uses.
func TestInstantsHaveProcessors(t *testing.T) {
	text := strings.Replace(waited, "{name: tail,", "{name: more, from: h0, to: h1, size: 1KB, start: 6us, after: [answer]}\n  - {name: again, from: h0, to: h1, size: 1KB, start: 5us, after: [answer]}\n  - {name: tail,", 1)
	s := parsed(t, strings.Replace(text, "calc 20us after", "calc 20us on 7 after", 1))
	used := map[uint16]int64{}
	for h, i := s.StepsOf(0), 0; i < h.Len(); i++ {
		if step := h.At(i); step.Kind == program.Calc && step.Amount > 0 && step.Processor > 7 {
			if _, twice := used[step.Processor]; twice {
				t.Errorf("processor %d has two instants", step.Processor)
			}
			used[step.Processor] = step.Amount
		}
	}
	if d := cmp.Diff(map[uint16]int64{9: 5e6, 10: 6e6}, used); d != "" {
		t.Error(d)
	}
}

// PROG-4: Steps, flows and collectives of several hosts that wait for each other are refused, with the first line.
func TestCyclesOverHosts(t *testing.T) {
	for _, tt := range []struct{ name, old, with, want string }{
		{"two flows", "{name: ask, from: h0, to: h1, size: 1MB}", "{name: ask, from: h0, to: h1, size: 1MB, after: [answer]}", "8: flows[0].after: steps on 2 lines wait for each other, this one is the first"},
		{"flow and step", "{name: ask, from: h0, to: h1, size: 1MB}", "{name: ask, from: h0, to: h1, size: 1MB, after: [think]}", "8: flows[0].after: steps on 3 lines wait for each other"},
		{"flow and collective", "{name: ask, from: h0, to: h1, size: 1MB}", "{name: ask, from: h0, to: h1, size: 1MB, after: [sum]}", "8: flows[0].after: steps on"},
		{"message", "  h3: calc 1us after plain, sum once_started tail", "    r: receive from h3\n    send 1B to h3 after answer, r\n  h3: |\n    m: receive from h0\n    send 1B to h0 after m", "19: programs.h0: steps on 4 lines wait for each other"},
	} {
		text := strings.Replace(waited, tt.old, tt.with, 1)
		if strings.Count(waited, tt.old) != 1 {
			t.Fatalf("%s: %q occurs %d times", tt.name, tt.old, strings.Count(waited, tt.old))
		}
		if _, err := Parse("f.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), "f.yaml:"+tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}

// Steps are refused only if they certainly wait for each other: a receive may take one of two messages. If it does not come,
// the run ends with the steps that wait.
func TestMessagesThatMayCome(t *testing.T) {
	parsed(t, strings.Replace(waited, "  h3: calc 1us after plain, sum once_started tail",
		"    r: receive from h3\n    send 1B to h3 after answer, r\n    send 1B to h3\n  h3: |\n    m: receive from h0\n    send 1B to h0 after m", 1))
}

// PROG-4: Without flows that are waited for, too, hosts whose messages wait for each other are refused, and collectives that
// wait for each other at different ranks. Messages in the order of their receives are not.
func TestHostsThatWaitForEachOther(t *testing.T) {
	rack, _, _ := strings.Cut(waited, "flows:")
	for _, tt := range []struct{ name, text, want string }{
		{"messages", "programs:\n  h0: |\n    r: receive from h1\n    send 1B to h1 after r\n  h1: |\n    r: receive from h0\n    send 1B to h0 after r\n", "9: programs.h0: steps on 4 lines wait for each other"},
		{"turns", "programs:\n  h0: |\n    r: receive from h1\n    send 1B to h1 after r\n  h1: |\n    r: receive from h0\n    send 1B to h0 once_started r\n", ""},
		{"collectives", "programs:\n  h0: \"x: calc 1us after a\"\n  h1: \"y: calc 1us after b\"\ncollectives:\n" +
			"  - {name: a, kind: barrier, ranks: h0..h1, after: [y]}\n  - {name: b, kind: barrier, ranks: h0..h1, after: [x]}\n", "steps on 4 lines wait for each other"},
	} {
		_, err := Parse("f.yaml", []byte(rack+tt.text))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// A name is that of a step first.
func TestLabelsComeBeforeFlows(t *testing.T) {
	s := parsed(t, strings.Replace(waited, "think: calc 20us after answer", "think: calc 20us after answer\n    answer: calc 3us", 1))
	if got := listedSteps(s, 0)[0]; got != "think: done 1" {
		t.Error(got)
	}
}

// Thousands of flows after thousands of others are one condition each.
func TestManyFlowsAfterMany(t *testing.T) {
	text := strings.NewReplacer("flows_per_sender: 2, size: 9KB, after: [answer, next-h0]", "flows_per_sender: 2000, size: 9KB, after: [plain]",
		"name: plain, from: h1..h2, to: h3, size: 9KB, at: 7us", "name: plain, from: h1..h2, to: h3, size: 9KB, flows_per_sender: 3000, at: 7us").Replace(waited)
	s := parsed(t, text)
	h, conditions := s.StepsOf(1), 0
	for i := range h.Len() {
		conditions += len(h.Conditions(i))
	}
	if h.Len() < 5000 || conditions > 2*h.Len() {
		t.Errorf("%d steps with %d conditions", h.Len(), conditions)
	}
}

// Variants do not move bursts that wait.
func TestBurstsThatWaitAreNotMoved(t *testing.T) {
	if got := fmt.Sprint(parsed(t, waited).Moved()); got != "[plain]" {
		t.Error(got)
	}
}

// Settings change what flows wait for.
func TestSettingsOfWaits(t *testing.T) {
	s, err := ParseWith("f.yaml", []byte(waited), []topology.Setting{{Key: "answer.after", Value: "[]"}, {Key: "plain.after", Value: "[flood]"}})
	if err != nil || len(s.Flows[1].After) != 0 || fmt.Sprint(s.Bursts[1].After) != "[flood]" {
		t.Errorf("%v", err)
	}
}

// NICs whose flows wait and whose programs exchange no messages send no immediate data.
func TestFlowsThatWaitHaveNoTags(t *testing.T) {
	text, _, _ := strings.Cut(waited, "programs:")
	text = strings.NewReplacer("[answer, think]", "[answer]", "after: [sum]", "after: [plain]", "to: h3, size: 9KB, at", "to: h3, size: 9KB, at").Replace(text)
	text = strings.NewReplacer("{h0..h3: }", "{h0..h3: {payload: 1000B}}", "delay: 1us", "delay: 1us, mtu: 1086B").Replace(text)
	if _, err := Parse("f", []byte(text)); err != nil {
		t.Error(err)
	}
}
