// Package program runs the program of a host: steps that send messages, wait for messages of other
// hosts, compute for a time, begin flows, and wait for flows, each after the steps that it depends on. It
// knows no packet and no queue pair: the NIC posts what it asks for, and reports which messages and flows
// are complete.
//
// The meaning of the steps is that of GOAL (Hoefler et al., "LogGOPSim", HPDC 2010): a step may wait
// until others are done (requires) or have begun (irequires), and a receive takes the messages of its
// source and tag in the order of their arrival, as MPI does.
package program

import (
	"fmt"
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Kind is what a step does.
type Kind uint8

// Kinds of steps.
const (
	Calc     Kind = iota // a processor is busy for Amount picoseconds
	Send                 // a message of Amount bytes is written to another host; done when it is acknowledged
	Receive              // done when a message with the tag from the host Peer has arrived whole
	Transfer             // begins Flow to the host Peer; done when the flow is complete, or has begun if it is endless
	Arrival              // done when Flow from the host Peer has arrived whole
)

// Step is one step. The host of a program runs it once.
type Step struct {
	Kind Kind
	// AnyTag makes a Receive take messages with any tag.
	AnyTag bool
	// Processor is that of a Calc. A processor runs one Calc at a time, in the order in which they
	// became ready.
	Processor uint16
	// Peer is the host of the other end, by its index among the NICs, or AnyHost.
	Peer   int32
	Tag    uint32
	Flow   fabric.FlowID // of a Send: the flow to Peer; of Transfer and Arrival: the flow itself
	Amount int64         // Send: bytes, at least 1; Calc: picoseconds, at least 0; Transfer: Endless or 0; else 0
}

// Endless is the Amount of a Transfer whose flow sends until the run ends.
const Endless int64 = -1

// AnyHost is the Peer of a Receive that takes messages of all hosts.
const AnyHost int32 = -1

// MaxProcessors is the maximum number of processors of a host.
const MaxProcessors = 1 << 12

// Program is the steps of one host and their dependencies. Its methods add steps; it does not change
// while it runs.
type Program struct {
	steps []Step
	// The conditions of step i are conditions[first[i]:first[i+1]].
	first      []uint32
	conditions []Condition
}

// Condition is what a step waits for: a step, twice its number, plus 1 if that step must only have
// begun.
type Condition uint32

// Done is the condition that a step is done.
func Done(step int) Condition { return Condition(2 * step) }

// Begun is the condition that a step has begun.
func Begun(step int) Condition { return Condition(2*step + 1) }

// Step returns the number of the step.
func (c Condition) Step() int { return int(c / 2) }

// Begun reports whether the step must only have begun.
func (c Condition) Begun() bool { return c&1 != 0 }

// Add appends a step that waits for steps, which may come later in the program, and returns its number.
func (p *Program) Add(s Step, after ...Condition) int {
	if len(p.first) == 0 {
		p.first = append(p.first, 0)
	}
	p.steps = append(p.steps, s)
	p.conditions = append(p.conditions, after...)
	p.first = append(p.first, uint32(len(p.conditions)))
	return len(p.steps) - 1
}

// Trim frees the memory that is kept for further steps.
func (p *Program) Trim() {
	p.steps, p.first, p.conditions = slices.Clone(p.steps), slices.Clone(p.first), slices.Clone(p.conditions)
}

// Len returns the number of steps.
func (p *Program) Len() int { return len(p.steps) }

// At returns a step.
func (p *Program) At(i int) *Step { return &p.steps[i] }

// Conditions returns what a step waits for.
func (p *Program) Conditions(i int) []Condition { return p.conditions[p.first[i]:p.first[i+1]] }

// Validate returns the first fault of the steps of a host, nil if there is none: a value out of
// range, a condition of an unknown step, two steps of one kind for a flow, or steps that wait for each
// other.
func (p *Program) Validate() error {
	flows := map[ofFlow]int{}
	for i := range p.steps {
		s := &p.steps[i]
		switch {
		case s.Kind > Arrival:
			return fmt.Errorf("step %d: unknown kind %d", i, s.Kind)
		case s.Kind == Send && (s.Amount < 1 || s.Amount > int64(MaxMessage)):
			return fmt.Errorf("step %d: message of %d bytes, want 1 to %d", i, s.Amount, MaxMessage)
		case s.Amount < 0 && (s.Kind != Transfer || s.Amount != Endless):
			return fmt.Errorf("step %d: time of %v, want 0 or more", i, unit.Time(s.Amount))
		case s.Processor >= MaxProcessors:
			return fmt.Errorf("step %d: processor %d, want 0 to %d", i, s.Processor, MaxProcessors-1)
		}
		if s.Kind == Transfer || s.Kind == Arrival {
			if first, twice := flows[ofFlow{s.Kind, s.Flow}]; twice {
				return fmt.Errorf("step %d: flow %d is that of step %d", i, s.Flow, first)
			}
			flows[ofFlow{s.Kind, s.Flow}] = i
		}
		for _, c := range p.Conditions(i) {
			if c.Step() >= len(p.steps) {
				return fmt.Errorf("step %d: waits for step %d of %d", i, c.Step(), len(p.steps))
			}
		}
	}
	if cycle := p.Cycle(); len(cycle) > 0 {
		return fmt.Errorf("steps %d wait for each other", cycle)
	}
	return nil
}

// ofFlow identifies a step of a flow.
type ofFlow struct {
	Kind
	fabric.FlowID
}

// MaxMessage is the longest message of a step, that of RDMA (IBTA volume 1 §9.3.3).
const MaxMessage unit.Bytes = 1 << 31
