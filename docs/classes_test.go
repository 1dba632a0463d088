package docs_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/measure"
	"github.com/rackfab/rackfab/fabric/scenariofile"
	"github.com/rackfab/rackfab/fabric/topology"
)

// The example of guide/classes.md reproduces the guide's table and its claims.
func TestClassesGuideScenarioRuns(t *testing.T) {
	guide := read(t, "guide/classes.md")
	text := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(guide)[1]
	s, err := scenariofile.Parse("classes.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	of := map[string]map[int]classTotals{}
	for _, scheme := range s.Compare {
		of[scheme] = classesOf(t, s, scheme)
		for _, class := range []int{1, 3} {
			k := of[scheme][class]
			rows = append(rows, fmt.Sprintf("| `%s` | %d | %d | %d | %d | %d |", scheme, class, k.sent, k.marked, k.dropped, k.pfc))
		}
	}
	if table := strings.Join(rows, "\n"); !strings.Contains(guide, table+"\n") {
		t.Errorf("the guide's table differs from\n%s", table)
	}
	for scheme, k := range of {
		if k[1].pfc != 0 || k[3].pfc == 0 || k[1].dropped == 0 || k[3].dropped != 0 {
			t.Errorf("%s: class 1 %+v, class 3 %+v", scheme, k[1], k[3])
		}
	}
	if share := float64(of["pfc"][3].sent) / float64(of["pfc"][1].sent); share < 2.95 || share > 3.05 {
		t.Errorf("class 3 sends %.2f times as much as class 1, want 3", share)
	}
	if of["dcqcn"][1].dropped*10 > of["pfc"][1].dropped || of["dcqcn"][3].marked == 0 {
		t.Errorf("under dcqcn %+v, under pfc %+v", of["dcqcn"], of["pfc"])
	}
}

// classTotals are counters of one class of s0: what it sent to r0, and dropped and
// paused at its ingress ports.
type classTotals struct{ sent, marked, dropped, pfc uint64 }

// classesOf runs the scenario under a scheme.
func classesOf(t *testing.T, s *topology.Scenario, scheme string) map[int]classTotals {
	t.Helper()
	s, err := scenariofile.Override(s, scenariofile.Overrides{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	run, err := lab.Measure(s)
	if err != nil {
		t.Fatal(err)
	}
	totals := map[int]classTotals{}
	for _, p := range ports(run, "s0") {
		for _, c := range p.Classes {
			k := totals[c.Class]
			if p.Peer == "r0" {
				k.sent += c.Counters["SAI_QUEUE_STAT_PACKETS"]
				k.marked += c.Counters["SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS"]
			}
			k.dropped += c.Counters["SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS"]
			k.pfc += c.Counters[fmt.Sprintf("SAI_PORT_STAT_PFC_%d_TX_PKTS", c.Class)]
			totals[c.Class] = k
		}
	}
	return totals
}

func ports(run *measure.Run, node string) []measure.Port {
	for _, n := range run.Nodes {
		if n.Name == node {
			return n.Ports
		}
	}
	return nil
}
