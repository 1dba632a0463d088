package measure

import (
	"fmt"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/nic/program"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// StepTime is the time of one step of a program. Done is false, and the instants 0, if it did not finish.
type StepTime struct {
	Begun unit.Time `json:"begun_ps"`
	End   unit.Time `json:"end_ps"`
	Done  bool      `json:"done"`
}

// Programs is the result of the programs of all hosts.
type Programs struct {
	Hosts int       `json:"hosts"`
	Steps int       `json:"steps"`
	Done  int       `json:"done"`
	End   unit.Time `json:"end_ps"` // of the last step that is done
	// Waiting are the steps that had begun and were not done when the run ended, of all hosts in their
	// order, at most MaxWaiting.
	Waiting []WaitingStep `json:"waiting,omitempty"`
}

// MaxWaiting is the maximum number of waiting steps that a result names.
const MaxWaiting = 16

// WaitingStep is a step that had begun and was not done when the run ended.
type WaitingStep struct {
	Host string `json:"host"`
	Step string `json:"step"` // its label, or what it does
	For  string `json:"for"`  // what it waits for
}

// Finished reports whether all steps of all hosts are done.
func (p *Programs) Finished() bool { return p.Done == p.Steps }

// least returns the time of the programs in a run that ended at the given instant, or if they are not finished a
// lower bound of it.
func (p *Programs) least(end unit.Time) unit.Time {
	if p.Finished() {
		return p.End
	}
	return end
}

// Figures of programs.
var (
	ProgramTime = span("programs.time_ms", "programs", "ms", func(r *Run) unit.Time { return r.Programs.least(r.FabricTime) }).
			until(func(r *Run) bool { return !r.Programs.Finished() }).
			means("the end of the last step of all hosts")
	ProgramSteps = count("programs.done", "programs", "steps", func(r *Run) int64 { return int64(r.Programs.Done) }).
			of(func(r *Run) int { return r.Programs.Steps })
)

// step records the time of a step.
func (r *Recorder) step(n *fabric.Note) {
	if r.result.Steps == nil {
		r.result.Steps = make([]StepTime, r.s.StepsOf(r.node).Len())
	}
	r.result.Steps[n.Command()] = StepTime{Begun: n.Start(), End: n.At, Done: true}
}

// programs returns the result of all programs, nil if there are none.
func programs(s *topology.Scenario, nodes []*NodeResult) *Programs {
	if len(s.Steps) == 0 {
		return nil
	}
	p := &Programs{Hosts: len(s.Steps)}
	for i := range s.Steps {
		h := &s.Steps[i]
		times := nodes[h.Node].Steps
		p.Steps += h.Len()
		for _, t := range times {
			if t.Done {
				p.Done++
				p.End = max(p.End, t.End)
			}
		}
		p.wait(s, h, times)
	}
	return p
}

// wait adds the steps of a host that wait for something else than steps of the host.
func (p *Programs) wait(s *topology.Scenario, h *topology.HostSteps, times []StepTime) {
	done := func(i int) bool { return len(times) > 0 && times[i].Done }
	for _, i := range h.Begun(done) {
		if done(i) || len(p.Waiting) == MaxWaiting {
			continue
		}
		p.Waiting = append(p.Waiting, WaitingStep{Host: s.Nodes[h.Node].Name, Step: s.Label(h, i), For: awaits(s, h, i)})
	}
}

// awaits returns what a step that has begun waits for.
func awaits(s *topology.Scenario, h *topology.HostSteps, i int) string {
	switch step := h.At(i); step.Kind {
	case program.Send, program.Transfer:
		return fmt.Sprintf("acknowledgement by %s", s.Nodes[step.Peer].Name)
	case program.Arrival:
		return fmt.Sprintf("flow %s of %s", s.Flows[step.Flow].Name, s.Nodes[step.Peer].Name)
	case program.Receive:
		if step.Peer < 0 {
			return "a message"
		}
		return fmt.Sprintf("a message of %s", s.Nodes[step.Peer].Name)
	default:
		return "its processor"
	}
}
