package lab_test

import (
	"fmt"
	"slices"
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

// randomWaits draws flows between hosts h0 to h(n-1), each of which waits for some of those drawn before that begin or
// end at its sender, and programs of steps that wait for flows.
func randomWaits(t *rapid.T, n int) string {
	var flows, programs strings.Builder
	ends := map[int][]string{} // by host: names of flows
	steps := make([][]string, n)
	for i := range rapid.IntRange(2, 12).Draw(t, "flows") {
		from, to := rapid.IntRange(0, n-1).Draw(t, "from"), rapid.IntRange(1, n-1).Draw(t, "distance")
		to = (from + to) % n
		var after []string
		if len(ends[from]) > 0 {
			after = rapid.SliceOfNDistinct(rapid.SampledFrom(ends[from]), 0, 3, rapid.ID[string]).Draw(t, "after")
		}
		name := fmt.Sprintf("F%d", i)
		fmt.Fprintf(&flows, "  - {name: %s, from: h%d, to: h%d, size: %dB, start: %dus, after: [%s]}\n", name, from, to,
			rapid.IntRange(1, 40000).Draw(t, "size"), rapid.IntRange(0, 9).Draw(t, "start"), strings.Join(after, ", "))
		ends[from], ends[to] = append(ends[from], name), append(ends[to], name)
		if rapid.Bool().Draw(t, "step") {
			host := rapid.SampledFrom([]int{from, to}).Draw(t, "host")
			step := fmt.Sprintf("s%d", i)
			steps[host] = append(steps[host], fmt.Sprintf("%s: calc %dus after %s", step, rapid.IntRange(0, 5).Draw(t, "time"), name))
			ends[host] = append(ends[host], step)
		}
	}
	for i, of := range steps {
		if len(of) > 0 {
			fmt.Fprintf(&programs, "  h%d: |\n    %s\n", i, strings.Join(of, "\n    "))
		}
	}
	return "flows:\n" + flows.String() + "programs:\n" + programs.String()
}

// PROG-5: Random flows that wait for flows and steps, under every scheme, over links that lose frames: each begins once,
// when all that it waits for is done, and each step happens once.
func TestRandomWaitsRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 4).Draw(t, "hosts")
		text := fmt.Sprintf("name: random\nseed: %d\nduration: 1s\nbin: 1s\nscheme: %s\ndefaults: {nic: {timeout: 300us}, link: {rate: 100Gbps, delay: 1us, loss: %v}}\n",
			rapid.IntRange(0, 9).Draw(t, "seed"), rapid.SampledFrom(cc.Names()).Draw(t, "scheme"), rapid.SampledFrom([]float64{0, 0.001, 0.01}).Draw(t, "loss"))
		text += fmt.Sprintf("nics: {h0..h%d: }\nswitches: {s0: }\nlinks:\n  - endpoints: [h0..h%d, s0]\n", n-1, n-1) + randomWaits(t, n)
		s, err := scenariofile.Parse("random.yaml", []byte(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if _, err := scenariofile.Marshal(s); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		l, err := lab.New(s)
		if err != nil {
			t.Fatal(err)
		}
		w := &waits{t: t, done: make([]map[int]fabric.Note, len(s.Nodes)), begun: map[fabric.FlowID]unit.Time{}, ended: map[fabric.FlowID]unit.Time{}}
		for i := range w.done {
			w.done[i] = map[int]fabric.Note{}
		}
		l.Hear([]fabric.Kind{fabric.StepDone, fabric.FlowStarted, fabric.Completed}, w.hear)
		l.Run(s.Duration)
		for i := range s.Steps {
			w.check(s, &s.Steps[i])
		}
		if len(w.ended) != len(s.Flows) {
			t.Fatalf("%d of %d flows are complete\n%s", len(w.ended), len(s.Flows), text)
		}
	})
}

// waits has when steps and flows began and ended.
type waits struct {
	t            *rapid.T
	done         []map[int]fabric.Note // by node and step
	begun, ended map[fabric.FlowID]unit.Time
}

func (w *waits) hear(node int, notes []fabric.Note) {
	for _, n := range notes {
		_, begun := w.begun[n.Flow]
		_, ended := w.ended[n.Flow]
		switch n.Kind {
		case fabric.StepDone:
			if _, twice := w.done[node][int(n.Command())]; twice {
				w.t.Fatalf("step %d of h%d is done twice", n.Command(), node)
			}
			w.done[node][int(n.Command())] = n
		case fabric.FlowStarted:
			if begun {
				w.t.Fatalf("flow %d begins twice", n.Flow)
			}
			w.begun[n.Flow] = n.At
		default:
			if ended || n.Start() != w.begun[n.Flow] {
				w.t.Fatalf("flow %d ends, begun at %v, want %v; ended before %v", n.Flow, n.Start(), w.begun[n.Flow], ended)
			}
			w.ended[n.Flow] = n.At
		}
	}
}

// check checks the steps of a host. PROG-2: A Transfer ends with the last ACK, an Arrival with the last byte before it.
func (w *waits) check(s *topology.Scenario, h *topology.HostSteps) {
	checkSteps(w.t, s, h, w.done)
	for i := range h.Len() {
		step, note := h.At(i), w.done[h.Node][i]
		switch step.Kind {
		case program.Transfer:
			if note.Start() != w.begun[step.Flow] || note.At != w.ended[step.Flow] {
				w.t.Fatalf("step %s took %v to %v, its flow %v to %v", s.Label(h, i), note.Start(), note.At, w.begun[step.Flow], w.ended[step.Flow])
			}
			if f := &s.Flows[step.Flow]; note.Start() < f.Start {
				w.t.Fatalf("%s began at %v, want %v or later", f.Name, note.Start(), f.Start)
			}
		case program.Arrival:
			if note.At <= w.begun[step.Flow] || note.At >= w.ended[step.Flow] {
				w.t.Fatalf("%s arrived at %v, begun at %v, acknowledged at %v", s.Label(h, i), note.At, w.begun[step.Flow], w.ended[step.Flow])
			}
		default:
		}
	}
}

// PROG-6: A run whose programs cannot finish ends, and names the steps that wait, and for what.
func TestWaitsThatCannotEnd(t *testing.T) {
	run := measured(t, programs(t, `scheme: pfc
flows:
  - {name: ask, from: h0, to: h1, size: 100MB}
  - {name: answer, from: h1, to: h0, size: 1MB, after: [ask]}
  - {name: more, from: h2, to: h1, size: endless, after: [first]}
  - {name: lone, from: h2, to: h0, size: 1KB, after: [cut]}
  - {name: cut, from: h2, to: h0, size: 100MB}
  - {name: first, from: h2, to: h1, size: 1KB}
  - {name: halted, from: h2, to: h1, size: 1KB, after: [first]}
bursts:
  - {name: flood, from: h0, to: h2, size: 1KB, after: [answer]}
programs:
  h0: calc 1us after answer
changes:
  - {at: 1us, stop_flow: cut}
  - {at: 1us, stop_flow: halted}
`))
	want := []measure.WaitingStep{
		{Host: "h0", Step: "arrival of flow answer", For: "flow answer of h1"},
		{Host: "h0", Step: "flow ask", For: "acknowledgement by h1"},
		{Host: "h1", Step: "arrival of flow ask", For: "flow ask of h0"},
		{Host: "h2", Step: "flow cut", For: "acknowledgement by h0"},
		{Host: "h2", Step: "flow halted", For: "acknowledgement by h1"}, // stopped before it began
	}
	slices.SortStableFunc(run.Programs.Waiting, func(a, b measure.WaitingStep) int { return strings.Compare(a.Host+a.Step, b.Host+b.Step) })
	if d := cmp.Diff(want, run.Programs.Waiting); d != "" {
		t.Error(d)
	}
	if p := run.Programs; p.Done != 2 || p.Steps != 11 { // first and more, which is endless
		t.Errorf("%+v", p)
	}
	// Flows that never began have no goodput, and the burst that never began begins at the end.
	if f := run.Flow("answer"); f.Start != 10*unit.Millisecond || f.Bytes != 0 || f.Goodput != 0 {
		t.Errorf("%+v", f)
	}
	if b := run.Burst; b.Start != 10*unit.Millisecond || b.Completed != 0 || b.Flows != 1 {
		t.Errorf("%+v", b)
	}
}

// The figures of flows and bursts that wait count from the instants at which they begin.
func TestFiguresOfWaits(t *testing.T) {
	run := measured(t, programs(t, `scheme: pfc
bin: 10us
flows:
  - {name: ask, from: h0, to: h1, size: 1250KB, start: 5us}
  - {name: answer, from: h1, to: h0, size: 1250KB, after: [ask], start: 7us}
bursts:
  - {name: flood, from: h2, to: h1, size: 125KB, flows_per_sender: 3, after: [late]}
  - {name: late, from: h2, to: h1, size: 12500B, at: 900us}
`))
	ask, answer := run.Flow("ask"), run.Flow("answer")
	// 1250 KB take 100 us and the headers' 6 %.
	if ask.Start != 5*unit.Microsecond || answer.Start < 105*unit.Microsecond || answer.Start > 120*unit.Microsecond {
		t.Errorf("%+v, %+v", ask, answer)
	}
	for _, f := range []*measure.Flow{ask, answer} {
		if took := f.End - f.Start; took < 100*unit.Microsecond || took > 115*unit.Microsecond || f.Goodput < 85*unit.GigabitPerSec {
			t.Errorf("%+v took %v", f, took)
		}
	}
	if b := run.Burst; b.Start != 900*unit.Microsecond || b.Completed != 4 || b.P99 > 60*unit.Microsecond {
		t.Errorf("%+v", b)
	}
	run = measured(t, programs(t, `scheme: pfc
flows:
  - {name: ask, from: h0, to: h1, size: 1250KB, start: 5us}
bursts:
  - {name: reply, from: h1..h2, to: h0, size: 125KB, after: [ask]}
`))
	// h2 does not observe ask, so that its flow begins at once.
	if b := run.Burst; b.Start != 0 || b.Completed != 2 || b.P99 > 15*unit.Microsecond {
		t.Errorf("%+v", b)
	}
	run = measured(t, programs(t, `scheme: pfc
flows:
  - {name: ask, from: h0, to: h1, size: 1250KB, start: 5us}
bursts:
  - {name: reply, from: h1, to: h0, size: 125KB, after: [ask]}
`))
	if b := run.Burst; b.Start < 105*unit.Microsecond || b.Start > 120*unit.Microsecond || b.End < b.Start+10*unit.Microsecond || b.P99 > 15*unit.Microsecond {
		t.Errorf("%+v", b)
	}
}
