package program

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

const us = unit.Microsecond

// host runs a program and records what it posts and when steps are done.
type host struct {
	*Run
	posted []int
	log    []string
	out    fabric.Out
}

func newHost(t testing.TB, p *Program) *host {
	t.Helper()
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	h := &host{}
	h.Run = New(p, func(_ unit.Time, step int, _ *Step, _ *fabric.Out) { h.posted = append(h.posted, step) })
	return h
}

// until handles what is due by the instant, and records the steps that are done.
func (h *host) until(at unit.Time) {
	for now := h.Next(); now <= at; now = h.Next() {
		h.Tick(now, &h.out)
	}
	h.drain()
}

func (h *host) drain() {
	for _, n := range h.out.Notes {
		h.log = append(h.log, fmt.Sprintf("%d@%v-%v", n.Command(), n.Start(), n.At))
	}
	h.out.Notes = nil
}

func calc(time unit.Time, processor uint16) Step {
	return Step{Kind: Calc, Amount: int64(time), Processor: processor}
}

func TestCalculations(t *testing.T) {
	var p Program
	a := p.Add(calc(10*us, 0))
	p.Add(calc(5*us, 0)) // waits for the processor, not for a step
	p.Add(calc(5*us, 1))
	p.Add(calc(1*us, 1), Done(a))
	p.Add(calc(0, 2), Begun(a))
	h := newHost(t, &p)
	h.until(20 * us)
	want := []string{"4@0ps-0ps", "2@0ps-5us", "0@0ps-10us", "3@10us-11us", "1@0ps-15us"}
	if d := cmp.Diff(want, h.log); d != "" {
		t.Error(d)
	}
	if h.Next() != unit.Never {
		t.Errorf("an idle program wants a tick at %v", h.Next())
	}
}

func TestSendsAndReceives(t *testing.T) {
	var p Program
	r := p.Add(Step{Kind: Receive, Peer: 1, Tag: 7})
	s := p.Add(Step{Kind: Send, Peer: 2, Amount: 100}, Done(r))
	p.Add(calc(0, 0), Done(s))
	h := newHost(t, &p)
	h.until(0)
	h.Received(3*us, 2, 7, &h.out) // another sender
	h.Received(4*us, 1, 8, &h.out) // another tag
	if len(h.posted) != 0 {
		t.Fatalf("posted %v before the message came", h.posted)
	}
	h.Received(5*us, 1, 7, &h.out)
	if !slices.Equal(h.posted, []int{s}) {
		t.Fatalf("posted %v, want %d", h.posted, s)
	}
	h.Sent(9*us, s, &h.out)
	h.drain()
	if d := cmp.Diff([]string{"0@0ps-5us", "1@5us-9us", "2@9us-9us"}, h.log); d != "" {
		t.Error(d)
	}
}

func TestCycles(t *testing.T) {
	var p Program
	for range 5 {
		p.Add(calc(us, 0))
	}
	if c := p.Cycle(); c != nil {
		t.Errorf("cycle %v without conditions", c)
	}
	p = Program{}
	p.Add(calc(us, 0))
	p.Add(calc(us, 0), Done(3))
	p.Add(calc(us, 0), Done(0), Begun(1))
	p.Add(calc(us, 0), Done(2))
	p.Add(calc(us, 0), Done(3)) // waits for the cycle, and is not in it
	got := p.Cycle()
	slices.Sort(got)
	if !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("cycle %v, want 1, 2 and 3", got)
	}
	if err := p.Validate(); err == nil || !strings.Contains(err.Error(), "wait for each other") {
		t.Errorf("got %v", err)
	}
}

func TestValidate(t *testing.T) {
	tests := []struct {
		name string
		step Step
		on   []Condition
		want string
	}{
		{"kind", Step{Kind: Arrival + 1}, nil, "unknown kind 5"},
		{"empty message", Step{Kind: Send}, nil, "message of 0 bytes"},
		{"long message", Step{Kind: Send, Amount: 1<<31 + 1}, nil, "want 1 to"},
		{"time", Step{Kind: Calc, Amount: -1}, nil, "want 0 or more"},
		{"processor", Step{Kind: Calc, Processor: MaxProcessors}, nil, "processor 4096"},
		{"condition", Step{Kind: Calc}, []Condition{Done(1)}, "waits for step 1 of 1"},
		{"itself", Step{Kind: Calc}, []Condition{Done(0)}, "wait for each other"},
	}
	for _, tt := range tests {
		var p Program
		p.Add(tt.step, tt.on...)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}

// PROG-5: Random programs of one host, whose messages and flows come and are acknowledged at random instants: each step
// runs once, begins when all that it waits for has happened and at no other instant, and a processor runs
// one calculation at a time.
func TestEachStepRunsOnceAfterWhatItWaitsFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p Program
		n := rapid.IntRange(1, 40).Draw(t, "steps")
		for i := range n {
			s := Step{Kind: Kind(rapid.IntRange(0, int(Arrival)).Draw(t, "kind")), Peer: 1, Tag: uint32(i), Flow: fabric.FlowID(i), Processor: uint16(rapid.IntRange(0, 2).Draw(t, "processor"))}
			switch {
			case s.Kind == Calc || s.Kind == Send:
				s.Amount = int64(rapid.IntRange(1, 5).Draw(t, "amount")) * int64(us)
			case s.Kind == Transfer && rapid.Bool().Draw(t, "endless"):
				s.Amount = Endless
			}
			var on []Condition
			for range rapid.IntRange(0, min(i, 3)).Draw(t, "conditions") {
				c := Done(rapid.IntRange(0, i-1).Draw(t, "on"))
				if rapid.Bool().Draw(t, "begun") {
					c++
				}
				on = append(on, c)
			}
			p.Add(s, on...)
		}
		h := &host{}
		var acked []int
		h.Run = New(&p, func(_ unit.Time, step int, s *Step, _ *fabric.Out) {
			if s.Amount != Endless {
				acked = append(acked, step)
			}
		})
		var arrivals []int
		for i := range n {
			if k := p.At(i).Kind; k == Receive || k == Arrival {
				arrivals = append(arrivals, i)
			}
		}
		now := unit.Time(0)
		for h.Next() != unit.Never || len(acked)+len(arrivals) > 0 {
			switch pick := rapid.IntRange(0, 2).Draw(t, "event"); {
			case h.Next() == 0 || pick == 0 && h.Next() != unit.Never:
				now = max(now, h.Next())
				h.Tick(now, &h.out)
			case len(acked) > 0 && (pick == 1 || len(arrivals) == 0):
				step := acked[0]
				acked = acked[1:]
				h.Sent(now, step, &h.out)
			case len(arrivals) > 0:
				i := rapid.IntRange(0, len(arrivals)-1).Draw(t, "which")
				if p.At(arrivals[i]).Kind == Arrival {
					h.Arrived(now, p.At(arrivals[i]).Flow, &h.out)
				} else {
					h.Received(now, 1, uint32(arrivals[i]), &h.out)
				}
				arrivals = slices.Delete(arrivals, i, i+1)
			}
		}
		ran := map[int]fabric.Note{}
		for _, note := range h.out.Notes {
			if _, twice := ran[int(note.Command())]; twice {
				t.Fatalf("step %d is done twice", note.Command())
			}
			ran[int(note.Command())] = note
		}
		busy := map[uint16]unit.Time{}
		for i := range n {
			note, ok := ran[i]
			if !ok {
				t.Fatalf("step %d of %d never ran", i, n)
			}
			ready := unit.Time(0)
			for _, c := range p.Conditions(i) {
				met := ran[c.Step()].At
				if c.Begun() {
					met = ran[c.Step()].Start()
				}
				ready = max(ready, met)
			}
			if note.Start() != ready {
				t.Fatalf("step %d began at %v, want %v", i, note.Start(), ready)
			}
			if s := p.At(i); s.Kind == Calc {
				busy[s.Processor] += unit.Time(s.Amount)
				if note.At < note.Start()+unit.Time(s.Amount) {
					t.Fatalf("calculation %d took %v of %v", i, note.At-note.Start(), unit.Time(s.Amount))
				}
			}
		}
		for processor, time := range busy {
			if now < time {
				t.Errorf("processor %d calculated %v in %v", processor, time, now)
			}
		}
	})
}

// BenchmarkProgram runs a million steps. Memory per step is that of the program and its run.
func BenchmarkProgram(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		const n = 1_000_000
		var p Program
		for i := range n {
			if i == 0 {
				p.Add(calc(us, 0))
				continue
			}
			p.Add(calc(us, 0), Done(i-1))
		}
		r := New(&p, nil)
		out := fabric.Out{}
		for r.Next() != unit.Never {
			r.Tick(r.Next(), &out)
			out.Reset()
		}
	}
}
