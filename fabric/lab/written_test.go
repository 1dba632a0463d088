package lab_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
)

// COLL-12: Programs written as text run as the programs and collectives that they were made from: every step begins
// and ends at the same instants. Without collectives, whose tags change, the digest is the same.
func TestWrittenProgramsRunAlike(t *testing.T) {
	const rack = `name: alike
duration: 2ms
scheme: pcn
nics: {h0..h4: }
switches: {s0: }
links:
  - {endpoints: [h0..h4, s0], rate: 100Gbps, delay: 1us}
`
	const own = `programs:
  h0: |
    work: calc 20us
    send 64KB to h3 tag 5 after work
    calc 1us once_started work
  h3: |
    receive from h0 tag 5
    calc 2us after sum
`
	const collectives = `collectives:
  - {name: sum, kind: all-reduce, ranks: h0..h3, size: 1MB, chunks: 2, after: [work]}
  - {name: swap, kind: all-to-all, ranks: "h4,h0..h2", size: 1MB, at: 10us, after: [sum]}
`
	for text, same := range map[string]bool{own + collectives: false, strings.Replace(own, "after sum", "", 1): true} {
		s, steps := stepTimes(t, rack+text)
		var b strings.Builder
		if err := scenariofile.WritePrograms(&b, s); err != nil {
			t.Fatal(err)
		}
		_, again := stepTimes(t, rack+b.String())
		if d := cmp.Diff(steps.times, again.times); d != "" || len(steps.times) < 4 {
			t.Errorf("%s\n%s", b.String(), d)
		}
		if (steps.digest == again.digest) != same {
			t.Errorf("digests %s and %s", steps.digest, again.digest)
		}
	}
}

type stepsOfRun struct {
	times  [][]measure.StepTime // by node
	digest string
}

// stepTimes runs a scenario to its end.
func stepTimes(t *testing.T, text string) (*topology.Scenario, stepsOfRun) {
	t.Helper()
	s, err := scenariofile.Parse("alike.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	l, err := lab.New(s)
	if err != nil {
		t.Fatal(err)
	}
	l.Run(s.Duration)
	nodes := l.Results()
	run, err := measure.Merge(s, nodes)
	if err != nil {
		t.Fatal(err)
	}
	if !run.Programs.Finished() {
		t.Errorf("%d of %d steps are done", run.Programs.Done, run.Programs.Steps)
	}
	r := stepsOfRun{digest: run.Digest}
	for _, n := range nodes {
		r.times = append(r.times, n.Steps)
	}
	return s, r
}
