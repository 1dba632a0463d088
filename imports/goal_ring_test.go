package imports

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/nic/program"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
)

// ringTrace returns the trace in GOAL of a ring all-reduce: in each of 2(n-1) rounds a rank sends a segment to the
// next one, which it has received in the round before. Its first step is a calculation of no time, as that of a
// collective, because steps number the messages of UET.
func ringTrace(n, segment int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "num_ranks %d\n", n)
	for r := range n {
		before := (r + n - 1) % n
		fmt.Fprintf(&b, "rank %d {\nbegin: calc 0\n", r)
		for round := range 2 * (n - 1) {
			fmt.Fprintf(&b, "s%d: send %db to %d tag %d\n", round, segment, (r+1)%n, round*n+r)
			if round > 0 {
				fmt.Fprintf(&b, "s%d requires r%d\n", round, round-1)
			}
			fmt.Fprintf(&b, "r%d: recv %db from %d tag %d\n", round, segment, before, round*n+before)
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// stepRun is what a run says of messages: when each step began and ended, by host, and the digest.
type stepRun struct {
	steps  [][]string
	digest string
}

func stepsOf(t *testing.T, s *topology.Scenario) stepRun {
	t.Helper()
	l, err := lab.New(s)
	if err != nil {
		t.Fatal(err)
	}
	run := stepRun{steps: make([][]string, len(s.Nodes))}
	l.Hear([]fabric.Kind{fabric.StepDone}, func(node int, notes []fabric.Note) {
		for _, n := range notes {
			if step := s.StepsOf(node).At(int(n.Command())); step.Kind != program.Calc {
				run.steps[node] = append(run.steps[node], fmt.Sprintf("%v message %d from %s to %s", step.Kind, step.Tag%topology.CollectiveTag, n.Start(), n.At))
			}
		}
	})
	l.Run(s.Duration)
	out, err := l.Outcome()
	if err != nil {
		t.Fatal(err)
	}
	if !out.Programs.Finished() {
		t.Fatalf("%d of %d steps are done", out.Programs.Done, out.Programs.Steps)
	}
	run.digest = out.Digest
	return run
}

// IMP-9: A trace in GOAL of a ring all-reduce has the times of a collective with this ring: those of each message, and, with
// the tags of a collective in place of those of the trace, the same digest.
func TestGOALRingEqualsCollective(t *testing.T) {
	for _, n := range []int{2, 3, 4, 8} {
		for _, scheme := range []string{"pcn", "nscc"} {
			const segment = 100_000
			rack := fmt.Sprintf("name: r\nduration: 10ms\nscheme: %s\nnics: {h0..h%d: }\nswitches: {s0: }\nlinks:\n  - {endpoints: [h0..h%[2]d, s0], rate: 100Gbps, delay: 1us}\n", scheme, n-1)
			out, err := traced(ringTrace(n, segment), &File{"rack.yaml", []byte(rack)})
			if err != nil {
				t.Fatal(err)
			}
			trace, err := scenariofile.Parse("trace", out.Scenario)
			if err != nil {
				t.Fatal(err)
			}
			own, err := scenariofile.Parse("own", fmt.Appendf([]byte(rack), "collectives:\n  - {name: sum, kind: all-reduce, algorithm: ring, ranks: h0..h%d, size: %dB}\n", n-1, n*segment))
			if err != nil {
				t.Fatal(err)
			}
			want, got := stepsOf(t, own), stepsOf(t, trace)
			for host := range want.steps {
				if !slices.Equal(got.steps[host], want.steps[host]) {
					t.Errorf("%s, %d hosts, h%d:\n%s\nwant\n%s", scheme, n, host, strings.Join(got.steps[host], "\n"), strings.Join(want.steps[host], "\n"))
				}
			}
			if got.digest == want.digest {
				t.Error("the digest does not depend on the tags")
			}
			for i := range trace.Steps {
				h := &trace.Steps[i]
				for k := range h.Len() {
					h.At(k).Tag += topology.CollectiveTag
				}
			}
			if tagged := stepsOf(t, trace); tagged.digest != want.digest {
				t.Errorf("%s, %d hosts: digest %s, want %s", scheme, n, tagged.digest, want.digest)
			}
		}
	}
}
