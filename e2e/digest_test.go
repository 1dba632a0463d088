package e2e

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rackfab/rackfab/e2e/slowtest"
	"github.com/rackfab/rackfab/fabric/measure"
)

// short is enough fabric time for the burst, PAUSE and the first notifications.
const short = "1500us"

func TestProcessesOverNATSMatchMemory(t *testing.T) {
	t.Parallel()
	memory := start(t, "--bus", "memory", "--duration", short).results(t)
	for range slowtest.Count(t, 1, 2, "runs over NATS") {
		nats := start(t, "--bus", "nats", "--duration", short).results(t)
		if diff := cmp.Diff(digests(memory), digests(nats)); diff != "" {
			t.Fatalf("digests differ (-memory +nats):\n%s", diff)
		}
		for i, m := range memory.Runs {
			n := nats.Runs[i]
			if m.FrameHops != n.FrameHops || m.Tree != n.Tree || m.Loss != n.Loss || m.Drops != n.Drops {
				t.Errorf("%s: the figures differ: %+v and %+v", m.Scheme, m, n)
			}
			if diff := cmp.Diff(m.Pauses, n.Pauses); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(m.Flows, n.Flows); diff != "" {
				t.Error(diff)
			}
			for k := range m.Nodes {
				diff := cmp.Diff(m.Nodes[k].Counters, n.Nodes[k].Counters) + cmp.Diff(m.Nodes[k].Ports, n.Nodes[k].Ports)
				if diff != "" || len(m.Nodes[k].Counters) == 0 && m.Nodes[k].Ports[0].Classes == nil {
					t.Errorf("%s: counters of %s:\n%s", m.Scheme, m.Nodes[k].Name, diff)
				}
			}
		}
	}
}

func TestDigestDependsOnTheSeed(t *testing.T) {
	one := digests(start(t, "--bus", "memory", "--duration", short, "--seed", "1").results(t))
	two := digests(start(t, "--bus", "memory", "--duration", short, "--seed", "2").results(t))
	for scheme, d := range one {
		if d == two[scheme] {
			t.Errorf("%s: seeds 1 and 2 both have digest %s", scheme, d)
		}
	}
}

// The folder of a run reproduces the run.
func TestRunFolderReproducesTheRun(t *testing.T) {
	first := start(t, "--bus", "memory", "--duration", short, "--scheme", "pcn", "--seed", "7")
	want := digests(first.results(t))
	again := start(t, first.dir+"/out/scenario.yaml", "--bus", "memory", "--scheme", "pcn")
	if diff := cmp.Diff(want, digests(again.results(t))); diff != "" {
		t.Fatal(diff)
	}
}

// An idle NIC sends its promise once, and only a few envelopes in the whole run.
func TestIdleNICsSendFewEnvelopes(t *testing.T) {
	out := start(t, "testdata/idle.yaml", "--bus", "nats", "--scheme", "pfc").results(t)
	for _, n := range out.Runs[0].Nodes {
		if n.Name != "h0" && n.Name[0] == 'h' && n.Envelopes > 10 {
			t.Errorf("%s is idle but sent %d envelopes", n.Name, n.Envelopes)
		}
	}
}

// PATH-1, GET-12: choices of paths, failures, parallel links and replays of link-layer retry are
// the same on every number of cores, and in every process.
func TestPathsMatchOnCoresAndOverNATS(t *testing.T) {
	t.Parallel()
	run := func(flags ...string) *measure.Results {
		return start(t, append([]string{"testdata/paths.yaml"}, flags...)...).results(t)
	}
	memory := run("--bus", "memory", "--cores", "1")
	for name, other := range map[string]*measure.Results{
		"two cores": run("--bus", "memory", "--cores", "2"),
		"NATS":      run("--bus", "nats", "--processes", "3"),
	} {
		if diff := cmp.Diff(digests(memory), digests(other)); diff != "" {
			t.Fatalf("digests differ (-one core +%s):\n%s", name, diff)
		}
	}
	if r := memory.Runs[0]; r.Drops == 0 || r.Replayed == 0 {
		t.Errorf("%d frames dropped by the link that fails, %d replayed, want some of each", r.Drops, r.Replayed)
	}
}

// COLL-16, PROG-5: A program that waits for messages of other processes, flows that wait for those of others, and
// collectives, run as in memory.
func TestProgramsOverNATSMatchMemory(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"programs", "waits"} {
		t.Run(file, func(t *testing.T) { programsMatch(t, "testdata/"+file+".yaml") })
	}
}

func programsMatch(t *testing.T, file string) {
	run := func(bus ...string) *measure.Results {
		return start(t, append([]string{file, "--scheme", "pcn,nscc"}, bus...)...).results(t)
	}
	memory := run("--bus", "memory")
	for name, other := range map[string]*measure.Results{
		"two cores": run("--bus", "memory", "--cores", "2"),
		"NATS":      run("--bus", "nats", "--processes", "3"),
	} {
		if diff := cmp.Diff(digests(memory), digests(other)); diff != "" {
			t.Fatalf("digests differ (-one core +%s):\n%s", name, diff)
		}
		for i, m := range memory.Runs {
			if diff := cmp.Diff(m.Programs, other.Runs[i].Programs); diff != "" || !m.Programs.Finished() {
				t.Errorf("%s, %s: %+v\n%s", m.Scheme, name, m.Programs, diff)
			}
		}
	}
}

// Randomly drawn flows of a workload are the same in every process, over a fabric with
// four paths from leaf to leaf. So are their completion times.
func TestWorkloadOverNATSMatchesMemory(t *testing.T) {
	t.Parallel()
	run := func(bus ...string) *measure.Results {
		return start(t, append([]string{"leaf-spine", "--duration", "1ms", "--scheme", "pfc,pcn"}, bus...)...).results(t)
	}
	memory, nats := run("--bus", "memory"), run(overNATS()...)
	if diff := cmp.Diff(digests(memory), digests(nats)); diff != "" {
		t.Fatalf("digests differ (-memory +nats):\n%s", diff)
	}
	for i, m := range memory.Runs {
		if diff := cmp.Diff(m.Workloads, nats.Runs[i].Workloads); diff != "" || m.Workloads[0].All.Completed < 10 {
			t.Errorf("%s: %+v\n%s", m.Scheme, m.Workloads[0].All, diff)
		}
	}
}
