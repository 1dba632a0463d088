package lab_test

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/unit"
)

// A command that fails is counted under its entry, whether its retries were used up
// behind a cut link or it was refused; the first are listed one by one.
func TestFailedCommandsAreCountedPerEntry(t *testing.T) {
	s, err := scenariofile.Parse("failing.yaml", []byte(`name: failing
duration: 4ms
defaults: {link: {rate: 100Gbps, delay: 1us}, nic: {timeout: 100us, retries: 2}}
nics: {a: , b: , c: }
switches: {s0: }
links:
  - endpoints: ["a, b, c", s0]
commands:
  - {name: cut, verb: put, from: a, to: b, size: 4KB, count: 150, at: 20us}
  - {name: whole, verb: put, from: c, to: a, size: 4KB, count: 10, at: 20us}
changes:
  - {at: 10us, link_down: b--s0}
`))
	if err != nil {
		t.Fatal(err)
	}
	l := newLab(t, s)
	l.Run(s.Duration)
	nodes := l.Results()
	run, err := measure.Merge(s, nodes)
	if err != nil {
		t.Fatal(err)
	}
	cut, whole := run.Commands[0], run.Commands[1]
	if cut.Failed != 150 || cut.Completed != 0 || len(cut.Failures) != measure.MostFailures || cut.Failures[0].Node != "a" || cut.Failures[0].At < 220*unit.Microsecond {
		t.Errorf("%+v", cut)
	}
	if whole.Failed != 0 || whole.Completed != 10 || whole.Failures != nil {
		t.Errorf("%+v", whole)
	}
	r := measure.NewRecorder(s, 2, s.PortMap()[2])
	r.Observe([]fabric.Note{{Event: fabric.EventOf(fabric.CommandRefused, int64(nodes[2].Done[0].ID), 0), At: 7}})
	nodes[2] = r.Result()
	if run, err = measure.Merge(s, nodes); err != nil {
		t.Fatal(err)
	}
	if got := run.Commands[1]; got.Failed != 1 || len(got.Failures) != 1 || !got.Failures[0].Refused || got.Failures[0].Node != "c" {
		t.Errorf("refused: %+v", got)
	}
}
