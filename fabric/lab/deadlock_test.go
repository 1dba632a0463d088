package lab_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/switching"
	"github.com/rackfab/rackfab/fabric/topology"
	"github.com/rackfab/rackfab/fabric/unit"
)

// ring returns five switches in a ring with a host each, which sends to the host two switches on.
func ring(t *testing.T, scheme string, set ...topology.Setting) *topology.Scenario {
	t.Helper()
	text, err := os.ReadFile("testdata/ring5.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenariofile.ParseWith("ring5.yaml", text, append(set, topology.Setting{Key: "scheme", Value: scheme}))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// PCN-63: Links whose frames wait for each other in a cycle pause one another permanently, a PFC deadlock. The
// results name the cycle and the instant from which none of its links transmits a frame of the class.
func TestDeadlockOfARing(t *testing.T) {
	s := ring(t, "pfc")
	want := []measure.Deadlock{{Class: 3, Links: []string{"s0->s1", "s1->s2", "s2->s3", "s3->s4", "s4->s0"}}}
	run := measured(t, s)
	if diff := cmp.Diff(want, run.Deadlocks, cmpopts.IgnoreFields(measure.Deadlock{}, "Since")); diff != "" {
		t.Fatal(diff)
	}
	l := newLab(t, s)
	sent := func() (frames [5]unit.Bytes) {
		for i := range frames {
			n := nodeNamed(s, run.Deadlocks[0].Links[i][:2])
			for port, end := range s.PortMap()[n] {
				if s.Nodes[end.Peer].Name == run.Deadlocks[0].Links[i][4:] {
					frames[i] = l.Machine(n).(*switching.Switch).Stats().Ports[port].Classes[3].SentBytes
				}
			}
		}
		return frames
	}
	l.Run(run.Deadlocks[0].Since - unit.Microsecond)
	before := sent()
	l.Run(run.Deadlocks[0].Since + unit.Picosecond)
	stopped := sent()
	l.Run(s.Duration)
	if end := sent(); stopped != end || before == end {
		t.Errorf("the links sent %v before the deadlock, %v at its beginning, %v at the end", before, stopped, end)
	}
}

// Pauses without a cycle, a cycle whose frames move, and a cycle that began less than the longest pause ago are no
// deadlocks.
func TestNoDeadlock(t *testing.T) {
	since := measured(t, ring(t, "pfc")).Deadlocks[0].Since
	short := topology.Setting{Key: "duration", Value: (since + 838*unit.Microsecond).String()} // the longest pause is 838.848 us
	for name, s := range map[string]*topology.Scenario{
		"the congestion tree of a burst": paper(t, "pfc"), "flows below their shares": ring(t, "dcqcn"), "a young cycle": ring(t, "pfc", short),
	} {
		if run := measured(t, s); run.Deadlocks != nil || pauseFrames(run) == 0 {
			t.Errorf("%s: %d PAUSE frames, deadlocks %v", name, pauseFrames(run), run.Deadlocks)
		}
	}
	long := topology.Setting{Key: "duration", Value: (since + 839*unit.Microsecond).String()}
	if run := measured(t, ring(t, "pfc", long)); len(run.Deadlocks) != 1 {
		t.Errorf("deadlocks %v", run.Deadlocks)
	}
}
