package lab_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/nic/program"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// randomPrograms draws the programs of hosts h0 to h(n-1), all of which can end: each message and its receive
// come after steps that were drawn before, of whatever hosts, and no two messages have one tag.
func randomPrograms(t *rapid.T, n int) string {
	lines := make([][]string, n)
	labels := make([][]string, n)
	add := func(host int, step string) {
		label := fmt.Sprintf("s%d", len(lines[host]))
		text := label + ": " + step
		for _, word := range []string{"after", "once_started"} {
			if len(labels[host]) > 0 && rapid.Bool().Draw(t, word) {
				text += " " + word + " " + rapid.SampledFrom(labels[host]).Draw(t, "on")
			}
		}
		lines[host], labels[host] = append(lines[host], text), append(labels[host], label)
	}
	for tag := range rapid.IntRange(1, 12).Draw(t, "exchanges") {
		from, to := rapid.IntRange(0, n-1).Draw(t, "from"), rapid.IntRange(1, n-1).Draw(t, "distance")
		to = (from + to) % n
		if rapid.IntRange(0, 3).Draw(t, "calc") == 0 {
			add(from, fmt.Sprintf("calc %dns on %d", rapid.IntRange(0, 5000).Draw(t, "time"), rapid.IntRange(0, 2).Draw(t, "processor")))
		}
		add(from, fmt.Sprintf("send %dB to h%d tag %d", 4*rapid.IntRange(1, 8000).Draw(t, "words"), to, tag))
		add(to, fmt.Sprintf("receive from h%d tag %d", from, tag))
	}
	var b strings.Builder
	b.WriteString("programs:\n")
	for i, of := range lines {
		if len(of) > 0 {
			fmt.Fprintf(&b, "  h%d: |\n    %s\n", i, strings.Join(of, "\n    "))
		}
	}
	return b.String()
}

// PROG-5: Random programs under every scheme, over links that lose frames: each step runs once, after all that it
// waits for, and a message is received after it was sent.
func TestRandomProgramsRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 4).Draw(t, "hosts")
		scheme := rapid.SampledFrom(cc.Names()).Draw(t, "scheme")
		text := fmt.Sprintf("name: random\nseed: %d\nduration: 1s\nbin: 1s\nscheme: %s\ndefaults: {nic: {timeout: 300us}, link: {rate: 100Gbps, delay: 1us, loss: %v}}\n",
			rapid.IntRange(0, 9).Draw(t, "seed"), scheme, rapid.SampledFrom([]float64{0, 0.001, 0.01}).Draw(t, "loss"))
		text += fmt.Sprintf("nics: {h0..h%d: }\nswitches: {s0: }\nlinks:\n  - endpoints: [h0..h%d, s0]\n", n-1, n-1) + randomPrograms(t, n)
		s, err := scenariofile.Parse("random.yaml", []byte(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		l, err := lab.New(s)
		if err != nil {
			t.Fatal(err)
		}
		done := make([]map[int]fabric.Note, len(s.Nodes))
		for i := range done {
			done[i] = map[int]fabric.Note{}
		}
		l.Hear([]fabric.Kind{fabric.StepDone}, func(node int, notes []fabric.Note) {
			for _, note := range notes {
				if _, twice := done[node][int(note.Command())]; twice {
					t.Fatalf("step %d of h%d is done twice\n%s", note.Command(), node, text)
				}
				done[node][int(note.Command())] = note
			}
		})
		l.Run(s.Duration)
		for i := range s.Steps {
			checkSteps(t, s, &s.Steps[i], done)
		}
		run, err := measure.Merge(s, l.Results())
		if err != nil {
			t.Fatal(err)
		}
		if p := run.Programs; !p.Finished() || len(p.Waiting) > 0 {
			t.Fatalf("%+v\n%s", p, text)
		}
	})
}

func checkSteps(t *rapid.T, s *topology.Scenario, h *topology.HostSteps, done []map[int]fabric.Note) {
	for i := range h.Len() {
		note, ok := done[h.Node][i]
		if !ok {
			t.Fatalf("step %s of %s never ended", h.Labels[i], s.Nodes[h.Node].Name)
		}
		ready := unit.Time(0)
		for _, c := range h.Conditions(i) {
			met := done[h.Node][c.Step()].At
			if c.Begun() {
				met = done[h.Node][c.Step()].Start()
			}
			ready = max(ready, met)
		}
		if note.Start() != ready {
			t.Fatalf("step %s of %s began at %v, want %v", h.Labels[i], s.Nodes[h.Node].Name, note.Start(), ready)
		}
		if step := h.At(i); step.Kind == program.Receive && !sentBefore(s.StepsOf(int(step.Peer)), h.Node, step, done[step.Peer], note.At) {
			t.Fatalf("%s received %s at %v, which nothing had sent", s.Nodes[h.Node].Name, h.Labels[i], note.At)
		}
	}
}

// sentBefore reports whether a host began to send a message before an instant that a receive takes.
func sentBefore(h *topology.HostSteps, to int, receive *program.Step, done map[int]fabric.Note, at unit.Time) bool {
	for i := range h.Len() {
		if s := h.At(i); s.Kind == program.Send && int(s.Peer) == to && s.Tag == receive.Tag && done[i].Start() < at {
			return true
		}
	}
	return false
}

// programs returns a star of three hosts with programs, and more keys.
func programs(t *testing.T, more string) *topology.Scenario {
	t.Helper()
	s, err := scenariofile.Parse("programs.yaml", []byte(`name: programs
duration: 10ms
nics: {h0..h2: }
switches: {s0: }
links:
  - {endpoints: [h0..h2, s0], rate: 100Gbps, delay: 1us}
`+more))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A message that is posted when its host has neither credit nor another message requests credit at once.
func TestPostedMessageRequestsCredit(t *testing.T) {
	run := measured(t, programs(t, `scheme: cbrc
schemes: {cbrc: {start: asked}}
programs:
  h0: |
    a: send 100KB to h1
    b: calc 1ms after a
    c: send 100KB to h1 after b
    d: calc 1ms after c
    send 500KB to h1 after d
`))
	// 700 KB take 56 us at 100 Gbit/s.
	if p := run.Programs; !p.Finished() || p.End > 2100*unit.Microsecond {
		t.Errorf("%d of %d steps by %v", p.Done, p.Steps, p.End)
	}
}

// PROG-6: A run that ends before its programs says which steps wait, and for what.
func TestStepsThatWaitAreNamed(t *testing.T) {
	run := measured(t, programs(t, `scheme: pfc
programs:
  h0: |
    r: receive from h1
    never: calc 1us after r
    mark: calc 20ms once_started r
    send 100KB to h2
    early: calc 0s on 1 once_started mark
  h1: |
    w: calc 9ms
    x: calc 5ms after w
    send 1KB to h0 after x
  h2: |
    receive from any tag any
`))
	p := run.Programs
	want := []measure.WaitingStep{
		{Host: "h0", Step: "r", For: "a message of h1"},
		{Host: "h0", Step: "mark", For: "its processor"},
		{Host: "h1", Step: "x", For: "its processor"},
	}
	if d := cmp.Diff(want, p.Waiting); d != "" {
		t.Error(d)
	}
	if p.Hosts != 3 || p.Steps != 9 || p.Done != 4 || p.End != 9*unit.Millisecond {
		t.Errorf("%+v", p)
	}
}
